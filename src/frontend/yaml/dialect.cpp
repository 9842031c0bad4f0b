#include "frontend/yaml/dialect.h"

#include <array>

#include <fmt/format.h>

#include "frontend/yaml/dialects.h"
#include "frontend/yaml/edit.h"

namespace shardlint::yaml {
namespace {

const std::array<const Dialect*, 3> dialects = {&megatron_lm_dialect, &verl_dialect,
                                                &megatron_bridge_dialect};

const Dialect* choose(const Node& root, std::string_view path, std::string_view framework) {
  const Dialect* best = nullptr;
  Certainty certainty = Certainty::none;
  for (const Dialect* dialect : dialects) {
    if (!framework.empty() && dialect->framework == framework) {
      return dialect;
    }
    const Certainty found = dialect->recognise(root, path);
    if (framework.empty() && found > certainty) {
      best = dialect;
      certainty = found;
    }
  }
  return best;
}

bool below(const Node* node, const Node* root) {
  while (node && node != root) {
    node = node->parent;
  }
  return node == root;
}

Note note_at(const Node& node, std::string text) {
  return {locate(node.span), std::move(text)};
}

}  // namespace

bool has_mapping(const Node& node, std::string_view key) {
  const Node* value = node.find(key);
  return value && value->is_mapping();
}

namespace {

void report_duplicates(const Document& document, const Node& root, Repeats repeats,
                       std::string_view framework, Reading& into) {
  for (const Duplicate& duplicate : document.duplicates) {
    if (!below(duplicate.mapping, &root)) {
      continue;
    }
    const Node& key = *duplicate.again.key;
    const bool text = to_value(key, Mode::pyyaml11).if_string() != nullptr;
    Diagnostic finding;
    finding.code = "YML120";
    finding.name = "yaml-duplicate-key";
    finding.framework = std::string(framework);
    finding.where = locate(key.span);
    finding.key.path = key_text(key);
    const std::string first = line_of(*duplicate.first.key);
    const bool same = duplicate.first.value->span.text() == duplicate.again.value->span.text();
    if (repeats == Repeats::refused && text) {
      finding.severity = Severity::error;
      finding.message = fmt::format("key '{}' is already set at {}; OmegaConf refuses the file",
                                    key_text(key), first);
    } else if (repeats == Repeats::both) {
      finding.severity = same ? Severity::info : Severity::warning;
      finding.message =
          fmt::format("'{}' is already set at {}; both reach the command line and this one wins",
                      key_text(key), first);
    } else {
      finding.severity = same ? Severity::info : Severity::warning;
      finding.message = fmt::format("key '{}' is already set at {}; this one wins without a word",
                                    key_text(key), first);
    }
    finding.help = same ? "delete one of them" : "delete the one that is not meant";
    finding.related.push_back(note_at(*duplicate.first.key, "set here first"));
    if (EditPlan plan = remove_entry(document, *duplicate.mapping, duplicate.first)) {
      // Where the last one wins, the first can go without changing anything.
      const bool safe = same || finding.severity != Severity::error;
      finding.fixes.push_back({fmt::format("delete the entry at {}", first),
                               safe ? Safety::safe : Safety::unsafe, std::move(plan.edits)});
    }
    into.diagnostics.push_back(std::move(finding));
  }
}

// PyYAML takes tabs for no separation at all. The reader of the functional tests only minds those
// that indent.
void report_tab(const Document& document, Repeats repeats, Reading& into) {
  const Span& tab = document.tab;
  if (!tab) {
    return;
  }
  const std::string_view before =
      tab.source->text(tab.source->line_begin(tab.source->line_of(tab.begin)), tab.begin);
  const bool indents = before.find_first_not_of(' ') == std::string_view::npos;
  if (repeats == Repeats::both && !indents) {
    return;
  }
  Diagnostic finding;
  finding.code = "YML106";
  finding.name = "yaml-tab-indentation";
  finding.framework = into.framework;
  finding.severity = Severity::error;
  finding.where = locate(tab);
  finding.message =
      indents ? "a tab in the indentation" : "a tab between the values; PyYAML refuses it";
  finding.help = indents ? "indent with blanks" : "write a blank, or quote the text";
  into.diagnostics.push_back(std::move(finding));
}

}  // namespace

Reading read_dialect(const Document& document, std::string_view path, std::string_view framework) {
  Reading out;
  const Node* root = document.root();
  if (!root || !root->is_mapping()) {
    return out;
  }
  const Dialect* dialect = choose(*root, path, framework);
  if (!dialect) {
    return out;
  }
  out.framework = std::string(dialect->framework);
  dialect->read(*root, path, out);
  report_duplicates(document, *root, dialect->repeats(*root), dialect->framework, out);
  report_tab(document, dialect->repeats(*root), out);
  if (document.roots.size() > 1) {
    Diagnostic finding;
    finding.code = "YML121";
    finding.name = "yaml-several-documents";
    finding.framework = out.framework;
    finding.severity = Severity::error;
    finding.where = locate(document.roots[1]->span);
    finding.message = "a second document in this file; the framework reads files of one";
    out.diagnostics.push_back(std::move(finding));
  }
  return out;
}

bool mentions_frameworks(std::string_view text) {
  static constexpr std::string_view words[] = {
      "MODEL_ARGS:",      "actor_rollout_ref",        "megatron",    "tensor_model_parallel_size",
      "use_torch_fsdp2",  "data_parallel_sharding",   "ckpt_format", "global_batch_size",
      "micro_batch_size", "use_distributed_optimizer"};
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace shardlint::yaml
