#include "lint/units.h"

#include <memory>

#include "frontend/overrides/argparse.h"
#include "frontend/overrides/bridge_sync.h"
#include "frontend/python/edits.h"
#include "frontend/yaml/dialect.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/edit.h"
#include "frontend/yaml/edit_flags.h"
#include "lint/make_unit.h"
#include "lint/overlay.h"
#include "schema/schema.h"

namespace shardlint {
namespace {

// Replaces values where they are written; what a front end without an editor of its own can do.
std::vector<Edit> replace_written(const Config& config, std::span<const rules::Change> changes) {
  std::vector<Edit> edits;
  for (const rules::Change& change : changes) {
    const Entry* entry = config.find(change.key);
    const Step* step = entry ? entry->written() : nullptr;
    if (change.remove || !step || !step->value_span ||
        step->value_span.begin == step->value_span.end) {
      return {};
    }
    edits.push_back({locate(step->value_span), change.value.text()});
  }
  return edits;
}

// The document of the stream that a configuration was read from.
const yaml::Node* root_of(const yaml::Document& document, const Config& config) {
  const yaml::Node* found = document.root();
  for (const yaml::Node* root : document.roots) {
    if (root->span.begin <= config.anchor.begin && config.anchor.begin <= root->span.end) {
      found = root;
    }
  }
  return found;
}

std::vector<yaml::KeyChange> key_changes(std::span<const rules::Change> changes) {
  std::vector<yaml::KeyChange> keys;
  for (const rules::Change& change : changes) {
    keys.push_back({change.key, change.value, change.remove});
  }
  return keys;
}

std::vector<Edit> edit_document(const yaml::Document& document, const Config& config,
                                std::span<const rules::Change> changes) {
  const yaml::Node* root = root_of(document, config);
  if (!root || !root->is_mapping()) {
    return {};
  }
  return yaml::edit_keys(document, *root, key_changes(changes), yaml::Mode::omegaconf).edits;
}

}  // namespace

void add_unit(ReadFile& out, Facts facts, const Options& options, const OwnTarget& target) {
  const std::string framework = facts.framework;
  Unit unit;
  unit.version = target.version;
  unit.doubt = target.doubt();
  Facts last = overlay(options, framework);
  const bool partial = !facts.closed;
  std::vector<Facts> layers;
  layers.push_back(std::move(facts));
  layers.push_back(std::move(last));
  unit.config = merge(std::move(layers));
  unit.config.partial = partial && unit.config.closed;
  if (options.world == Options::World::open) {
    unit.config.closed = false;
  }
  unit.config.freeze();
  out.units.push_back(std::move(unit));
}

void add_argument_list(ReadFile& out, std::span<const Word> words, Facts context,
                       const std::string& script, const Options& options, const OwnTarget& target) {
  std::function<bool(std::string_view)> declared;
  if (target.copy) {
    declared = [copy = target.copy](std::string_view name) { return copy->declares(name); };
  }
  ArgumentList list = read_argument_list(words, {target.version, script, declared});
  for (Diagnostic& d : list.diagnostics) {
    d.instance = context.instance;
    doubt(d, target.doubt());
    out.diagnostics.push_back(std::move(d));
  }
  Facts facts = std::move(list.facts);
  facts.framework = "megatron-lm";
  facts.instance = context.instance;
  facts.anchor = context.anchor ? context.anchor : facts.anchor;
  facts.facts.insert(facts.facts.begin(), context.facts.begin(), context.facts.end());
  add_unit(out, std::move(facts), options, target);
  out.units.back().edit = replace_written;
}

namespace {

ReadFile read_yaml(const FoundFile& file, const Source& source, Bench& bench) {
  const Options& options = bench.options;
  ReadFile out;
  auto document = std::make_shared<yaml::Document>(yaml::read(source));
  if (!document->ok) {
    // A template in some folder that only looks like YAML is nobody's configuration.
    if (file.named || yaml::mentions_frameworks(source.text())) {
      out.framework = "yaml";
      out.diagnostics = document->diagnostics;
    }
    return out;
  }
  yaml::Reading reading = yaml::read_dialect(*document, file.path, options.framework);
  out.framework = reading.framework;
  if (out.framework.empty()) {
    return out;
  }
  out.diagnostics = document->diagnostics;
  out.diagnostics.insert(out.diagnostics.end(), reading.diagnostics.begin(),
                         reading.diagnostics.end());
  for (Facts& facts : reading.configurations) {
    const OwnTarget target = own_target(options, bench.copies, facts.framework, file.path);
    add_unit(out, std::move(facts), options, target);
    out.units.back().edit = [document](const Config& config,
                                       std::span<const rules::Change> changes) {
      return edit_document(*document, config, changes);
    };
  }
  for (yaml::ArgumentList& list : reading.arguments) {
    // Which script the test starts is not in the file, and some scripts add flags of their own.
    const Span run = list.facts.anchor;
    list.facts.facts.push_back({"derived.run_mode", list.mode, {}, {}, Origin::default_value, ""});
    add_argument_list(out, list.words, std::move(list.facts), "unknown.py", options,
                      own_target(options, bench.copies, "megatron-lm", file.path));
    const Schema* schema = Schema::get("megatron-lm", out.units.back().version);
    out.units.back().edit = [document, run, schema](const Config&,
                                                    std::span<const rules::Change> changes) {
      return yaml::edit_flags(*document, run, key_changes(changes), *schema).edits;
    };
  }
  return out;
}

// All of the changes, or none.
std::vector<Edit> edit_python(python::Editable& file, const Config& config,
                              std::span<const rules::Change> changes) {
  std::vector<Edit> edits;
  for (const rules::Change& change : changes) {
    const std::vector<Edit> made =
        change.remove ? std::vector<Edit>() : file.set_value(config, change.key, change.value);
    if (made.empty()) {
      return {};
    }
    edits.insert(edits.end(), made.begin(), made.end());
  }
  return edits;
}

ReadFile read_python_file(const FoundFile& file, std::string text, Bench& bench) {
  ReadFile out;
  if (!may_hold_configuration(text)) {
    return out;
  }
  PythonReaders::Reading reading = bench.python.read(file.path, std::move(text), out.diagnostics);
  out.source = reading.source;
  out.owners.push_back(std::move(reading.owner));
  if (reading.configurations.empty()) {
    out.diagnostics.clear();  // some other Python file is nobody's configuration
    return out;
  }
  const auto editable = reading.editable;
  for (Facts& facts : reading.configurations) {
    out.framework = facts.framework;
    const bool launched = facts.instance.starts_with("script, line ");
    if (!launched && bench.options.world != Options::World::closed) {
      leave_to_launch(facts);
    }
    const OwnTarget target = own_target(bench.options, bench.copies, facts.framework, file.path);
    add_unit(out, std::move(facts), bench.options, target);
    out.units.back().edit = [editable](const Config& config,
                                       std::span<const rules::Change> changes) {
      return edit_python(*editable, config, changes);
    };
  }
  return out;
}

PythonOptions python_options(const Disk& disk, const Options& options, python::ParsedFiles* files) {
  PythonOptions python;
  python.source_roots = options.source_roots;
  python.disk = &disk;
  python.files = files;
  python.schema = Schema::get("megatron-bridge", target_version(options, "megatron-bridge"));
  return python;
}

ReadFile read_text(const FoundFile& file, const Source& source, Sources& sources, Bench& bench) {
  ReadFile out = file.kind == FileKind::yaml ? read_yaml(file, source, bench)
                                             : read_shell(source, sources, bench);
  out.source = &source;
  return out;
}

}  // namespace

MemoryDisk disk_with_unsaved(const Options& options, const Disk& below) {
  MemoryDisk disk(&below);
  for (const auto& [path, text] : options.unsaved) {
    disk.write(path, text);
  }
  return disk;
}

Bench::Bench(const Disk& d, const Options& o, python::ParsedFiles* files)
    : disk(d), options(o), python(python_options(d, o, files)), copies(d) {}

ReadFile read_file(const FoundFile& file, std::string text, Sources& sources, Bench& bench) {
  switch (file.kind) {
    case FileKind::yaml:
    case FileKind::shell:
      return read_text(file, sources.add(file.path, std::move(text)), sources, bench);
    case FileKind::python:
      return read_python_file(file, std::move(text), bench);
  }
  return {};
}

ReadFile read_arguments(std::span<const std::string> arguments, Sources& sources,
                        const Options& options) {
  // One line of text that the words point into, so that findings have a caret.
  std::string line;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const std::string& argument : arguments) {
    line += line.empty() ? "" : " ";
    places.emplace_back(line.size(), line.size() + argument.size());
    line += argument;
  }
  const Source& source = sources.add("<arguments>", line);
  std::vector<Word> words;
  for (const auto& [begin, end] : places) {
    words.push_back(literal_word(
        {&source, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}));
  }
  ReadFile out;
  out.framework = "megatron-lm";
  Facts context;
  context.anchor = {&source, 0, static_cast<std::uint32_t>(line.size())};
  add_argument_list(out, words, std::move(context), "", options,
                    {target_version(options, "megatron-lm"), nullptr});
  return out;
}

}  // namespace shardlint
