// Any bytes as a Python file: read, every configuration merged, a key edited. What must hold: every
// place lies in its text, facts name their keys, edits stay inside the text, and it ends.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "diagnostics/edits.h"
#include "frontend/python/edits.h"
#include "frontend/python/python.h"
#include "frontend/python/tree.h"
#include "schema/schema.h"

using namespace shardlint;

namespace {

constexpr const char* library = R"(
from dataclasses import dataclass, field
@dataclass
class Part:
    a: int = 1
    b: list = field(default_factory=list)
    def __post_init__(self):
        self.c = self.a
@dataclass
class Proxy:
    inner: Part = field(default_factory=Part)
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "inner"), name)
@dataclass(kw_only=True)
class ConfigContainer:
    model: Part = field(default_factory=Part)
    ddp: Proxy = field(default_factory=Proxy)
    env_vars: dict = field(default_factory=dict)
def base(x=1, *rest, **named):
    cfg = ConfigContainer()
    cfg.model.a = x
    return cfg
)";

void check_span(const Span& span) {
  if (span) {
    ensure(span.begin <= span.end, "a span ends before it begins");
    ensure(span.end <= span.source->text().size(), "a span leaves its source");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) {
    return 0;
  }
  MemoryDisk disk;
  disk.write("/w/lib.py", library);
  Sources sources;
  PythonOptions options;
  options.disk = &disk;
  options.sources = &sources;
  options.source_roots = {"/w"};
  options.schema = Schema::get("megatron-bridge");
  options.private_functions = true;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Source& source = sources.add("/w/recipe.py", text);
  std::vector<Diagnostic> diagnostics;
  for (const Facts& facts : read_python(source, options, diagnostics)) {
    check_span(facts.anchor);
    for (const Fact& fact : facts.facts) {
      ensure(!fact.key.empty(), "a fact without a key");
      check_span(fact.key_span);
      check_span(fact.value_span);
      fact.value.text();
    }
    const Config config = merge({facts});
    python::Names names;
    const python::Parsed parsed = python::read_syntax(source, names);
    for (const char* key : {"model.a", "ddp.a", "checkpoint.save"}) {
      const auto edits = python::Editable(*parsed.syntax, names).set_value(config, key, "x");
      ensure(edits.empty() || apply_edits(text, edits).skipped.empty(), "an edit does not apply");
    }
  }
  for (const Diagnostic& diagnostic : diagnostics) {
    ensure(diagnostic.code.starts_with("PYT1"), "a finding of another room");
  }
  return 0;
}
