// The Python front end: small modules and the facts that they must give. Classes are written out in
// a module of their own, so that nothing outside this file is needed.

#include "frontend/python/python.h"

#include <doctest/doctest.h>

#include "base/strings.h"
#include "diagnostics/edits.h"
#include "frontend/python/edits.h"
#include "frontend/python/readers.h"
#include "frontend/python/tree.h"

using namespace shardlint;

namespace {

constexpr const char* config_module = R"(
import enum
from dataclasses import dataclass, field
from typing import Optional
import torch

class AttnBackend(enum.Enum):
    flash = 1
    auto = 5

@dataclass
class MCoreDdp:
    use_megatron_fsdp: bool = False
    data_parallel_sharding_strategy: str = "no_shard"
    bucket_size: Optional[int] = None
    double_buffer: bool = False
    max_pool: bool = False

    def __post_init__(self):
        if self.bucket_size is not None:
            assert self.bucket_size > 0
        if self.max_pool:
            self.double_buffer = True

@dataclass
class Ddp(MCoreDdp):
    patterns: tuple = ()

    def __post_init__(self):
        pass

@dataclass(kw_only=True)
class Checkpoint:
    save: Optional[str] = None
    load: Optional[str] = None
    ckpt_format: str = "torch_dist"
    interval: int = field(default=100)

@dataclass
class Model:
    tensor_model_parallel_size: int = 1
    pipeline_model_parallel_size: int = 1
    layers: list = field(default_factory=lambda: [1, 2])
    dtype: torch.dtype = torch.float32
    backend: AttnBackend = AttnBackend.auto

@dataclass
class Precision:
    fp8_param: Optional[bool] = None
    fp8_param_gather: bool = False

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "fp8_param_gather" and hasattr(self, "fp8_param"):
            if self.fp8_param != value:
                object.__setattr__(self, "fp8_param", value)

@dataclass(kw_only=True)
class ConfigContainer:
    model: Model
    ddp: Ddp = field(default_factory=Ddp)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    mixed_precision: Optional[Precision] = None
    env_vars: dict = field(default_factory=dict)
)";

constexpr const char* base_module = R"(
import os
from .config import Checkpoint, ConfigContainer, Ddp, Model

def _common() -> ConfigContainer:
    folder = os.path.join(os.getcwd(), "runs")
    return ConfigContainer(
        model=Model(),
        ddp=Ddp(data_parallel_sharding_strategy="optim_grads_params"),
        checkpoint=Checkpoint(save=folder, load=folder),
    )

def big_config(tp: int = 2) -> ConfigContainer:
    cfg = _common()
    cfg.model.tensor_model_parallel_size = tp
    return cfg
)";

constexpr const char* head = R"(
import copy, os
from dataclasses import replace
from functools import partial
from typing import cast
import torch
from pkg.base import *
from pkg.base import _common
from pkg import config as conf, big_config as big
from .config import *
def recipe() -> ConfigContainer:
    cfg = _common()
)";

struct Row {
  const char* body;  // of recipe(), after `cfg = _common()`
  const char* key;
  const char* value;  // Value::text(), or "absent"
};

std::vector<Facts> read(const std::string& text, std::vector<Diagnostic>& diagnostics,
                        Sources& sources, const std::string& name = "/w/pkg/recipe.py") {
  MemoryDisk disk;
  disk.write("/w/pkg/__init__.py", "from .base import big_config as big_config, _common\n");
  disk.write("/w/pkg/config.py", config_module);
  disk.write("/w/pkg/base.py", base_module);
  PythonOptions options;
  options.disk = &disk;
  options.sources = &sources;
  options.source_roots = {"/w"};
  return read_python(sources.add(name, text), options, diagnostics);
}

const Fact* last(const Facts& facts, std::string_view key) {
  const Fact* found = nullptr;
  for (const Fact& fact : facts.facts) {
    found = fact.key == key ? &fact : found;
  }
  return found;
}

std::string indent(const char* body) {
  std::string out;
  for (std::string_view line : split(body, '\n')) {
    out += "    " + std::string(line) + "\n";
  }
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("python");

TEST_CASE("values of a recipe") {
  const Row rows[] = {
      {"pass", "checkpoint.ckpt_format", "torch_dist"},
      {"pass", "ddp._type", "pkg.config.Ddp"},
      {"pass", "ddp.data_parallel_sharding_strategy", "optim_grads_params"},
      {"pass", "ddp.use_megatron_fsdp", "false"},
      {"pass", "model.layers", "[1, 2]"},
      {"pass", "model.dtype", "float32"},
      {"pass", "model.backend", "auto"},
      {"pass", "mixed_precision", "null"},
      {"cfg.ddp.use_megatron_fsdp = True", "ddp.use_megatron_fsdp", "true"},
      {"cfg.model = Model(4, pipeline_model_parallel_size=2)", "model.tensor_model_parallel_size",
       "4"},
      {"cfg.checkpoint = Checkpoint()", "checkpoint.save", "null"},
      {"cfg.ddp = MCoreDdp(max_pool=True)", "ddp.double_buffer", "true"},
      {"cfg.ddp = Ddp(max_pool=True)", "ddp.double_buffer", "false"},
      {"a = b = 8\ncfg.model.tensor_model_parallel_size = a * b // 16",
       "model.tensor_model_parallel_size", "4"},
      {"cfg.model.layers += [3] * 2", "model.layers", "[1, 2, 3, 3]"},
      {"cfg.checkpoint.save = f'/d/{8:d}/{\"x\" !r}'", "checkpoint.save", "/d/8/'x'"},
      {"cfg.model.layers = [i * i for i in range(4) if i % 2]", "model.layers", "[1, 9]"},
      {"cfg.env_vars = {**{'A': 1, 'B': 2}, 'B': 3}", "env_vars.B", "3"},
      {"cfg.env_vars.update(C='x')", "env_vars.C", "x"},
      {"setattr(cfg.model, 'tensor_model_parallel_size', 16)", "model.tensor_model_parallel_size",
       "16"},
      {"n = getattr(cfg.model, 'nothing', 5)\ncfg.model.pipeline_model_parallel_size = n",
       "model.pipeline_model_parallel_size", "5"},
      {"if hasattr(cfg.model, 'layers') and isinstance(cfg.model, Model):\n    cfg.model.layers = "
       "1",
       "model.layers", "1"},
      {"other = copy.deepcopy(cfg)\nother.model.layers.append(9)", "model.layers", "[1, 2]"},
      {"other = copy.copy(cfg)\nother.model.layers.append(9)", "model.layers", "[1, 2, 9]"},
      {"cfg = cast('ConfigContainer', cfg)\ncfg.checkpoint.interval = 7", "checkpoint.interval",
       "7"},
      {"cfg.checkpoint = replace(cfg.checkpoint, save='/x')", "checkpoint.save", "/x"},
      {"cfg.checkpoint.interval = 5 if cfg.ddp.use_megatron_fsdp else 6", "checkpoint.interval",
       "6"},
      {"for key, value in [('save', 'a'), ('load', 'b')]:\n    setattr(cfg.checkpoint, key, value)",
       "checkpoint.load", "b"},
      {"cfg.mixed_precision = Precision()\ncfg.mixed_precision.fp8_param_gather = True",
       "mixed_precision.fp8_param", "true"},
      {"def helper(c, n=3):\n    c.model.pipeline_model_parallel_size = n\nhelper(cfg, n=6)",
       "model.pipeline_model_parallel_size", "6"},
      {"f = partial(Model, pipeline_model_parallel_size=3)\ncfg.model = f(2)",
       "model.pipeline_model_parallel_size", "3"},
      {"cfg = big(tp=8)", "model.tensor_model_parallel_size", "8"},
      {"cfg = conf.ConfigContainer(model=conf.Model())", "checkpoint.save", "null"},
      {"i = 0\nwhile i < 5:\n    i += 1\n    if i == 3:\n        break\ncfg.checkpoint.interval = "
       "i",
       "checkpoint.interval", "3"},
      {"try:\n    import pkg.base\nexcept ImportError:\n    cfg.checkpoint.interval = 1",
       "checkpoint.interval", "100"},
      {"cfg.model.dtype = torch.bfloat16\nif cfg.model.dtype == torch.float32:\n"
       "    cfg.checkpoint.interval = 1",
       "checkpoint.interval", "100"},
      {"cfg.model.backend = AttnBackend.flash", "model.backend", "flash"},
      // An undecided condition: both sides, a side that raises is dropped.
      {"if os.environ.get('X'):\n    raise ValueError('no')\ncfg.checkpoint.interval = 3",
       "checkpoint.interval", "3"},
      {"if os.path.exists('/x'):\n    cfg.checkpoint.interval = 100", "checkpoint.interval", "100"},
      {"if os.path.exists('/x'):\n    cfg.checkpoint.interval = 1", "checkpoint.interval",
       "<unknown: branch"},
      {"if os.path.exists('/x'):\n    return cfg\ncfg.checkpoint.interval = 1",
       "checkpoint.interval", "<unknown: branch"},
      {"if os.path.exists('/x'):\n    return big(4)\ncfg.checkpoint.interval = 1",
       "model.tensor_model_parallel_size", "<unknown: branch"},
      {"x = None if os.path.exists('/x') else Precision()\ncfg.mixed_precision = x\n"
       "if cfg.mixed_precision is not None:\n    cfg.mixed_precision.fp8_param = True",
       "mixed_precision.fp8_param", "<unknown: branch"},
      // What is not understood is not kept.
      {"mystery(cfg.model)", "model.tensor_model_parallel_size", "<unknown: dynamic-python"},
      {"mystery(cfg.model)\ncfg.model.tensor_model_parallel_size = 2",
       "model.tensor_model_parallel_size", "2"},
      {"mystery(cfg.model)", "checkpoint.interval", "100"},
      {"for x in os.listdir('.'):\n    cfg.checkpoint.interval += 1", "checkpoint.interval",
       "<unknown: branch"},
      {"cfg.checkpoint.__dict__.update(save='x')", "checkpoint.save", "<unknown: dynamic-python"},
      {"match cfg.model.layers:\n    case _:\n        cfg.checkpoint.interval = 4",
       "checkpoint.interval", "<unknown: dynamic-python"},
      {"setattr(cfg.checkpoint, os.environ['K'], 1)", "checkpoint.interval",
       "<unknown: dynamic-python"},
      {"cfg.checkpoint.interval = int(os.environ['N'])", "checkpoint.interval", "<unknown: env"},
      {"cfg.checkpoint.interval = 2 ** 200", "checkpoint.interval", "<unknown: limit"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.body));
    Sources sources;
    std::vector<Diagnostic> diagnostics;
    std::string text = std::string(head) + indent(row.body) + "    return cfg\n";
    text = replace_all(text, "from pkg.base import *",
                       "from pkg.base import *\nfrom unknown import mystery");
    const auto all = read(text, diagnostics, sources);
    for (const Diagnostic& diagnostic : diagnostics) {
      MESSAGE(diagnostic.code << " " << diagnostic.message);
    }
    REQUIRE(all.size() == 1);
    const Fact* fact = last(all[0], row.key);
    REQUIRE(fact != nullptr);
    CHECK(fact->value.text().substr(0, std::string_view(row.value).size()) == row.value);
    if (!std::string_view(row.value).starts_with("<")) {
      CHECK(fact->value.text() == row.value);
    }
  }
}

TEST_CASE("places and chain of an assignment") {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const std::string text = std::string(head) +
                           "    cfg.checkpoint.ckpt_format = 'a'\n"
                           "    cfg.checkpoint.ckpt_format = 'fsdp_dtensor'\n"
                           "    return cfg\n";
  const auto all = read(text, diagnostics, sources);
  REQUIRE(all.size() == 1);
  CHECK(all[0].framework == "megatron-bridge");
  CHECK(all[0].instance == "recipe");
  CHECK(all[0].closed);
  CHECK(all[0].anchor.text() == "recipe");
  std::vector<std::string> chain;
  for (const Fact& fact : all[0].facts) {
    if (fact.key == "checkpoint.ckpt_format") {
      chain.push_back(std::string(fact.key_span.text()) + "=" +
                      std::string(fact.value_span.text()));
    }
  }
  CHECK(chain == std::vector<std::string>{"cfg.checkpoint.ckpt_format='a'",
                                          "cfg.checkpoint.ckpt_format='fsdp_dtensor'"});
  // Set in another file: the place is there, the note says how it got here.
  const Fact* save = last(all[0], "checkpoint.save");
  REQUIRE(save != nullptr);
  CHECK(save->key_span.source->name() == "/w/pkg/base.py");
  CHECK(save->key_span.text() == "save");
  CHECK(save->value_span.text() == "folder");
  CHECK(save->note.find("through _common(), called at /w/pkg/recipe.py:12") != std::string::npos);
  REQUIRE(save->value.if_unknown() != nullptr);
  CHECK(save->value.if_unknown()->not_null);
  // Nobody set it: no place.
  const Fact* interval = last(all[0], "checkpoint.interval");
  REQUIRE(interval != nullptr);
  CHECK(interval->origin == Origin::default_value);
  CHECK(!interval->key_span);
}

TEST_CASE("which functions are configurations") {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const auto all = read(
      "# megatron.bridge\n"
      "from pkg.base import _common\n"
      "def _private() -> 'ConfigContainer':\n    return _common()\n"
      "def plain():\n    return _common()\n"
      "def number():\n    return 3\n"
      "def broken() -> ConfigContainer:\n    raise NotImplementedError('later')\n"
      "def endless() -> ConfigContainer:\n    while True:\n        endless()\n",
      diagnostics, sources);
  REQUIRE(all.size() == 1);
  CHECK(all[0].instance == "plain");
  std::vector<std::string> codes;
  for (const Diagnostic& diagnostic : diagnostics) {
    codes.push_back(diagnostic.code + ":" + std::to_string(diagnostic.where.begin.line));
  }
  CHECK(codes[0] == "PYT104:9");
  CHECK(codes.size() == 2);
}

TEST_CASE("a script that trains") {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const auto all = read(
      "from megatron.bridge.training.pretrain import pretrain\n"
      "from pkg.base import _common\n"
      "def main():\n    cfg = _common()\n    cfg.checkpoint.save = '/s'\n"
      "    pretrain(cfg, None)\n    cfg.checkpoint.save = 'after'\n"
      "if __name__ == '__main__':\n    main()\n",
      diagnostics, sources);
  REQUIRE(all.size() == 1);
  CHECK(all[0].instance == "script, line 6");
  CHECK(last(all[0], "checkpoint.save")->value.text() == "/s");
}

TEST_CASE("a recipe whose base is not at hand") {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const auto all = read(
      "from megatron.bridge.recipes.llama import llama32_1b_pretrain_config\n"
      "def config():\n    cfg = llama32_1b_pretrain_config()\n"
      "    cfg.ddp.average_in_collective = True\n    return cfg\n",
      diagnostics, sources);
  REQUIRE(all.size() == 1);
  CHECK(all[0].base == "llama32_1b_pretrain_config");
  CHECK(!all[0].closed);
  const Fact* fact = last(all[0], "ddp.average_in_collective");
  REQUIRE(fact != nullptr);
  CHECK(fact->value.text() == "true");
  CHECK(fact->key_span.source->line_of(fact->key_span.begin) == 4);
}

namespace {

struct Opened {
  explicit Opened(const Source& source) : parsed(python::read_syntax(source, names)) {}
  python::Names names;
  python::Parsed parsed;
};

}  // namespace

TEST_CASE("edits") {
  struct Change {
    const char* body;
    const char* key;
    Value value;
    const char* expect;  // the body afterwards, or empty: no edit
  };
  const Change rows[] = {
      {"cfg.checkpoint.ckpt_format = 'a'  # why", "checkpoint.ckpt_format", "fsdp_dtensor",
       "cfg.checkpoint.ckpt_format = \"fsdp_dtensor\"  # why"},
      {"cfg.checkpoint.interval = 5\nx = 1", "checkpoint.save", Value(),
       "cfg.checkpoint.interval = 5\ncfg.checkpoint.save = None\nx = 1"},
      {"cfg.checkpoint.interval = 5", "mixed_precision.fp8_param", true, ""},  // no such object
      {"cfg.checkpoint.interval = (5 +\n    6)\ncfg.ddp.bucket_size = 1", "checkpoint.load", "x",
       "cfg.checkpoint.interval = (5 +\n    6)\ncfg.ddp.bucket_size = 1\n"
       "cfg.checkpoint.load = \"x\""},
      {"n = 3\ncfg.checkpoint.interval = n", "checkpoint.interval", 7,
       "n = 3\ncfg.checkpoint.interval = n\ncfg.checkpoint.interval = 7"},
      {"cfg.ddp = Ddp(use_megatron_fsdp=True)", "ddp.use_megatron_fsdp", false,
       "cfg.ddp = Ddp(use_megatron_fsdp=False)"},
      {"if os.path.exists('x'):\n    cfg.checkpoint.interval = n", "checkpoint.interval", 7, ""},
  };
  for (const Change& row : rows) {
    CAPTURE(std::string(row.body));
    Sources sources;
    std::vector<Diagnostic> diagnostics;
    const std::string text = std::string(head) + indent(row.body) + "    return cfg\n";
    const auto all = read(text, diagnostics, sources);
    REQUIRE(all.size() == 1);
    const Config config = merge(all);
    const Opened opened(*sources.find("/w/pkg/recipe.py"));
    python::Editable file(*opened.parsed.syntax, opened.names);
    const auto edits = file.set_value(config, row.key, row.value);
    if (!*row.expect) {
      CHECK(edits.empty());
      continue;
    }
    CHECK(edits.size() == 1);
    const std::string wanted = std::string(head) + indent(row.expect) + "    return cfg\n";
    CHECK(apply_edits(text, edits).text == wanted);
  }
}

TEST_CASE("edits of a script") {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const std::string before = std::string(head) + "    return cfg\n" +
                             "from megatron.bridge.training.pretrain import pretrain\n"
                             "def main():\n"
                             "    cfg = recipe()\n"
                             "    cfg.checkpoint.interval = 5\n"
                             "    print(1)\n";
  const std::string after = "    pretrain(config=cfg)\nmain()\n";
  const auto all = read(before + after, diagnostics, sources);
  REQUIRE(all.size() == 2);
  const Opened opened(*sources.find("/w/pkg/recipe.py"));
  python::Editable file(*opened.parsed.syntax, opened.names);
  const auto edits = file.set_value(merge({all[1]}), "checkpoint.save", "x");
  REQUIRE(edits.size() == 1);
  CHECK(apply_edits(before + after, edits).text ==
        before + "    cfg.checkpoint.save = \"x\"\n" + after);
}

TEST_CASE("what a file gives does not depend on the files read before it") {
  MemoryDisk disk;
  const std::pair<std::string, std::string> files[] = {
      {"/w/pkg/__init__.py", "from .base import big_config as big_config, _common\n"},
      {"/w/pkg/config.py", config_module},
      {"/w/pkg/base.py", base_module},
      {"/w/pkg/one.py", std::string(head) + "    cfg.ddp.bucket_size = 3\n    return cfg\n"},
      {"/w/pkg/two.py", "from .one import *\nfrom .circle import SIZE\n" + std::string(head) +
                            "    cfg.ddp.bucket_size = SIZE\n    return cfg\n"},
      {"/w/pkg/circle.py", "from .config import *\nfrom .other import OTHER\nSIZE = OTHER\n" +
                               std::string(head) +
                               "    cfg.ddp.bucket_size = SIZE\n    return cfg\n"},
      {"/w/pkg/other.py", "from .circle import SIZE\nOTHER = SIZE if SIZE else 2\n"},
      {"/w/pkg/broken.py", std::string(head) + "    return cfg\ndef (:\n"},
      {"/w/pkg/train.py", "import megatron.bridge\n" + std::string(head) +
                              "    cfg.ddp.bucket_size = 9\n    return cfg\npretrain(recipe())\n"},
  };
  for (const auto& [path, text] : files) {
    disk.write(path, text);
  }
  PythonOptions options;
  options.disk = &disk;
  options.source_roots = {"/w"};
  const auto told = [&](PythonReaders& readers, const std::string& path, const std::string& text) {
    std::vector<Diagnostic> diagnostics;
    const PythonReaders::Reading reading = readers.read(path, text, diagnostics);
    CHECK(reading.source->name() == path);
    std::string out;
    for (const Facts& facts : reading.configurations) {
      out += facts.instance + "\n";
      for (const Fact& fact : facts.facts) {
        out += fact.key + "=" + fact.value.text() + " " + fact.note + "\n";
      }
    }
    for (const Diagnostic& each : diagnostics) {
      out += each.code + each.message + "\n";
    }
    return out;
  };
  std::map<std::string, std::string> alone;
  for (const auto& [path, text] : files) {
    PythonReaders readers(options);
    alone[path] = told(readers, path, text);
  }
  CHECK(alone["/w/pkg/one.py"].find("ddp.bucket_size=3") != std::string::npos);
  for (std::size_t first = 0; first < std::size(files); ++first) {
    PythonReaders readers(options);
    for (std::size_t i = 0; i < std::size(files); ++i) {
      const auto& [path, text] = files[(first + i) % std::size(files)];
      CAPTURE(path);
      CHECK(told(readers, path, text) == alone[path]);
    }
  }
}

TEST_CASE("bad input") {
  struct Bad {
    std::string text;
    const char* code;
  };
  std::string deep = "def f() -> ConfigContainer:\n    return ", deep_if;
  deep += std::string(5000, '(') + "1" + std::string(5000, ')') + "\n";
  for (int i = 0; i < 95; ++i) {
    deep_if += std::string(static_cast<std::size_t>(i), ' ') + "if x:\n";
  }
  deep_if += std::string(95, ' ') + "pass\n";
  const Bad rows[] = {{std::string("a = 1\0", 6), "PYT100"},
                      {"a = '\xff'\n", "PYT100"},
                      {"def f(:\n", "PYT101"},
                      {deep, "PYT102"},
                      {deep_if, "PYT102"},
                      {std::string(5u << 20, '#'), "PYT100"}};
  for (const Bad& row : rows) {
    Sources sources;
    std::vector<Diagnostic> diagnostics;
    read(row.text, diagnostics, sources);
    CAPTURE(row.text.substr(0, 40));
    REQUIRE(!diagnostics.empty());
    CHECK(diagnostics[0].code == row.code);
  }
}

TEST_SUITE_END();
