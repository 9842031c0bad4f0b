#include "rules/load.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "base/version.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/scalar.h"
#include "rules/fields.h"
#include "rules/load_parts.h"

namespace shardlint::rules {
namespace {

constexpr double last_place = std::numeric_limits<double>::max();

class Loader {
 public:
  Loader(const Disk& disk, Pool& pool, const RuleSet& base) : disk_(disk), pool_(pool) {
    out_.rules = base;
  }

  Loaded run(const std::string& folder) {
    const std::string rewrites = join_path(folder, "rewrites");
    out_.files.push_back(rewrites);
    for (const std::string& name : disk_.list(rewrites)) {
      if (name.ends_with(".yaml")) {
        read(join_path(rewrites, name), [&](const yaml::Node& root) { program(root); });
      }
    }
    walk(folder, true);
    drop_repeated(out_.faults);
    return std::move(out_);
  }

 private:
  // What several cases share is read once for each.
  static void drop_repeated(std::vector<Fault>& faults) {
    std::set<std::pair<Location, std::string>> told;
    std::erase_if(faults, [&](const Fault& fault) {
      return !told.emplace(fault.where, fault.message).second;
    });
  }

  void walk(const std::string& folder, bool top) {
    out_.files.push_back(folder);
    for (const std::string& name : disk_.list(folder)) {
      const std::string path = join_path(folder, name);
      const bool data =
          name == "rewrites" || name == "schema" || name == "text" || name == "models";
      if (disk_.is_directory(path)) {
        if (!(top && data)) {
          walk(path, false);
        }
      } else if (name.ends_with(".yaml")) {
        read(path, [&](const yaml::Node& root) { rule(root, path); });
      }
    }
  }

  template <typename Read>
  void read(const std::string& path, Read read_root) {
    out_.files.push_back(path);
    auto text = disk_.read(path);
    if (!text) {
      out_.faults.push_back({{path, {}, {}}, "cannot be read"});
      return;
    }
    const Source& source = sources_.emplace_back(path, std::move(*text));
    const yaml::Document& document = documents_.emplace_back(yaml::read(source));
    for (const Diagnostic& d : document.diagnostics) {
      out_.faults.push_back({d.where, d.message});
    }
    for (const yaml::Duplicate& again : document.duplicates) {
      out_.faults.push_back({locate(again.again.key->span), "this field is given twice"});
    }
    if (document.root()) {
      read_root(*document.root());
    }
  }

  // rules/rewrites/<framework>.yaml
  void program(const yaml::Node& root) {
    Fields fields(root, "a program", pool_, out_.faults);
    schema_line(fields, "shardlint/program@1");
    const Text framework = fields.required_text("framework");
    Stages stages{framework, fields.texts("stages")};
    auto& all = out_.rules.stages;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Stages& s) { return s.framework == framework; }),
              all.end());
    all.push_back(stages);
    Vocabulary& words = vocabularies_[framework];
    words = {};
    words.lets = fields.child("let");
    if (const yaml::Node* roles = fields.child("roles")) {
      words.roles = Parts{pool_, out_.faults}.scopes(roles);
    }
    const yaml::Node* steps = fields.child("steps");
    for (const yaml::Node* node : steps ? steps->items() : std::vector<const yaml::Node*>()) {
      step(*node, framework);
    }
  }

  void step(const yaml::Node& node, Text framework) {
    Fields fields(node, "a step", pool_, out_.faults);
    Rewrite rewrite;
    rewrite.framework = framework;
    rewrite.id = fields.required_text("id");
    rewrite.versions = versions(fields, fields.child("versions"));
    rewrite.derived = fields.choice("kind", {"rewrite", "derive"}, 0) == 1;
    rewrite.position = position(fields, framework);
    Parts parts{pool_, out_.faults, vocabulary(framework)};
    rewrite.evidence = parts.evidence(fields);
    rewrite.covers = fields.texts("covers");
    fields.child("note");
    const yaml::Node *let = fields.child("let"), *when = fields.child("when"),
                     *set = fields.required("set");
    for (const Scopes& scope : parts.scopes(fields.child("bind"))) {
      Rewrite bound = rewrite;
      bound.scope = scope.name;
      parts.scope(scope);
      bound.lets = parts.lets(nullptr, let, {when, set}, {});
      bound.when = parts.when(when, bound.lets);
      bound.sets = set ? parts.sets(*set, bound.lets) : std::vector<FixEdit>();
      out_.rules.rewrites.push_back(std::move(bound));
    }
  }

  void rule(const yaml::Node& root, const std::string& path) {
    Fields fields(root, "a rule", pool_, out_.faults);
    schema_line(fields, "shardlint/rule@1");
    Rule rule;
    rule.file = pool_.keep(path);
    rule.id = fields.required_text("id");
    rule.name = fields.required_text("name");
    rule.aliases = fields.texts("aliases");
    rule.status = fields.text("status");
    rule.since = fields.text("since");
    rule.category = fields.required_text("category");
    rule.tags = fields.texts("tags");
    rule.severity = severity(fields, Severity::error);
    rule.summary = fields.required_text("summary");
    rule.rationale = fields.required_text("rationale");
    rule.message = fields.required_text("message");
    rule.help = fields.text("help");
    rule.runtime_errors = fields.texts("runtime_errors");
    Parts parts{pool_, out_.faults};
    Label primary;
    labels(fields, primary, rule.related);
    const yaml::Node* let = fields.child("let");
    const yaml::Node* fixes = fields.child("fixes");
    if (fixes && fixes->items().empty()) {
      fields.fault(*fixes, "expected a list of fixes");
    }
    const yaml::Node* cases = fields.required("cases");
    for (const yaml::Node* node : cases ? cases->items() : std::vector<const yaml::Node*>()) {
      add_cases(*node, rule, let, fixes, primary);
    }
    rule.no_fix = no_fix(fields, fixes, rule);
    rule.examples = parts.examples(fields.child("examples"));
    check_identity(rule, root);
    auto& all = out_.rules.rules;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Rule& other) { return other.id == rule.id; }),
              all.end());
    all.push_back(std::move(rule));
  }

  // Of the rule's fixes those that are for the case of this name.
  static std::vector<const yaml::Node*> fixes_of(const yaml::Node* fixes, std::string_view id) {
    std::vector<const yaml::Node*> out;
    for (const yaml::Node* fix : fixes ? fixes->items() : std::vector<const yaml::Node*>()) {
      const yaml::Node* only = fix->is_mapping() ? fix->find("only") : nullptr;
      bool meant = !only || only->scalar() == id;
      for (const yaml::Node* each : only ? only->items() : std::vector<const yaml::Node*>()) {
        meant = meant || each->scalar() == id;
      }
      if (meant) {
        out.push_back(fix);
      }
    }
    return out;
  }

  // What a fix sets, as texts that may speak of a program's names.
  static void add_targets(const yaml::Node& fix, std::vector<std::string_view>& texts) {
    const yaml::Node* edit = fix.is_mapping() ? fix.find("edit") : nullptr;
    const yaml::Node* set = edit && edit->is_mapping() ? edit->find("set") : nullptr;
    for (const yaml::Pair& pair : set ? set->entries() : std::vector<yaml::Pair>()) {
      texts.push_back(pair.key->scalar());
    }
  }

  // Every fix must be for some case; a rule without any may say why.
  Text no_fix(Fields& fields, const yaml::Node* fixes, const Rule& rule) {
    for (const yaml::Node* fix : fixes ? fixes->items() : std::vector<const yaml::Node*>()) {
      Fields row(*fix, "a fix", pool_, out_.faults);
      for (const std::string_view name : {"title", "edit", "safety"}) {
        row.child(name);  // read with each case
      }
      for (const Text id : row.texts("only")) {
        if (std::none_of(rule.cases.begin(), rule.cases.end(),
                         [&](const Case& check) { return check.id == id; })) {
          row.fault(*fix, fmt::format("no case is called `{}`", id));
        }
      }
    }
    const yaml::Node* reason = fields.child("no_fix");
    if (!reason) {
      return {};
    }
    if (fixes) {
      fields.fault(*reason, "a rule has `fixes` or `no_fix`, not both");
    }
    std::string words;
    for (const NoFixReason& each : no_fix_reasons()) {
      if (reason->scalar() == each.word) {
        return each.word;
      }
      words += (words.empty() ? "" : ", ") + std::string(each.word);
    }
    fields.fault(*reason,
                 fmt::format("`no_fix` must be one of {}; got `{}`", words, reason->scalar()));
    return {};
  }

  void add_cases(const yaml::Node& node, Rule& rule, const yaml::Node* rule_let,
                 const yaml::Node* rule_fixes, const Label& primary) {
    Fields fields(node, "a case", pool_, out_.faults);
    Case base;
    base.id = fields.required_text("id");
    if (const yaml::Node* target = fields.required("for")) {
      if (target->entries().size() != 1) {
        fields.fault(*target, "`for` names one framework and its version range");
      }
      for (const yaml::Pair& pair : target->entries()) {
        base.framework = scalar_text(*pair.key, pool_, out_.faults);
        base.versions = versions(fields, pair.value);
      }
    }
    Parts parts{pool_, out_.faults, vocabulary(base.framework)};
    base.position = position(fields, base.framework);
    base.written = fields.text("written");
    base.severity = severity(fields, rule.severity);
    base.message = fields.text("message");
    base.help = fields.text("help");
    base.note = fields.text("note");
    base.primary = {fields.texts("at"), {}};
    base.evidence = parts.evidence(fields);
    base.covers = fields.texts("covers");
    if (base.primary.at.empty()) {
      base.primary = primary;
    }
    const yaml::Node *let = fields.child("let"), *when = fields.child("when"),
                     *require = fields.required("require");
    const std::vector<const yaml::Node*> fixes = fixes_of(rule_fixes, base.id);
    std::vector<const yaml::Node*> speaking = {when, require};
    speaking.insert(speaking.end(), fixes.begin(), fixes.end());
    for (const Scopes& scope : parts.scopes(fields.child("bind"))) {
      Case bound = base;
      bound.scope = scope.name;
      parts.scope(scope);
      std::vector<std::string_view> texts = {rule.message, rule.help, bound.message, bound.help,
                                             bound.note};
      for (const yaml::Node* fix : fixes) {
        add_targets(*fix, texts);
      }
      for (const Label* label : labels_of(bound, rule)) {
        texts.insert(texts.end(), label->at.begin(), label->at.end());
        texts.push_back(label->text);
      }
      bound.lets = parts.lets(rule_let, let, speaking, texts);
      bound.when = parts.when(when, bound.lets);
      bound.require = require ? parts.expr(*require, bound.lets) : Expr{};
      bound.primary = parts.bind(bound.primary);
      bound.written = parts.bind(bound.written);
      bound.fixes = parts.fixes(fixes, bound);
      bind_texts(parts, rule, bound);
      parts.check_template(node, bound.message.empty() ? rule.message : bound.message, bound.lets);
      parts.check_template(node, bound.help.empty() ? rule.help : bound.help, bound.lets);
      rule.cases.push_back(std::move(bound));
    }
  }

  // Templates that speak of a role's letters become the case's own.
  static void bind_texts(Parts& parts, const Rule& rule, Case& bound) {
    const Text message = bound.message.empty() ? rule.message : bound.message;
    const Text help = bound.help.empty() ? rule.help : bound.help;
    if (const Text text = parts.bind_template(message); text != message || !bound.message.empty()) {
      bound.message = text;
    }
    if (const Text text = parts.bind_template(help); text != help || !bound.help.empty()) {
      bound.help = text;
    }
    bound.note = parts.bind_template(bound.note);
  }

  static std::vector<const Label*> labels_of(const Case& check, const Rule& rule) {
    std::vector<const Label*> out = {&check.primary};
    for (const Label& label : rule.related) {
      out.push_back(&label);
    }
    return out;
  }

  const Vocabulary* vocabulary(Text framework) const {
    const auto found = vocabularies_.find(framework);
    return found == vocabularies_.end() ? nullptr : &found->second;
  }

  void labels(Fields& rule, Label& primary, std::vector<Label>& related) {
    const yaml::Node* node = rule.required("labels");
    if (!node) {
      return;
    }
    Fields fields(*node, "labels", pool_, out_.faults);
    primary.at = fields.texts("primary");
    const yaml::Node* list = fields.child("related");
    for (const yaml::Node* item : list ? list->items() : std::vector<const yaml::Node*>()) {
      Fields label(*item, "a related label", pool_, out_.faults);
      related.push_back({label.texts("at"), label.required_text("text")});
    }
  }

  Severity severity(Fields& fields, Severity otherwise) {
    return static_cast<Severity>(fields.choice("severity", {"info", "warning", "error"},
                                               static_cast<std::size_t>(otherwise)));
  }

  Text versions(Fields& fields, const yaml::Node* node) {
    if (!node) {
      return {};
    }
    const Text text = scalar_text(*node, pool_, out_.faults);
    if (!VersionRange::parse(text)) {
      fields.fault(*node, fmt::format("`{}` is not a version range", text));
    }
    return text;
  }

  Position position(Fields& fields, Text framework) {
    Position out;
    const yaml::Node* stage = fields.required("stage");
    const auto stages = std::find_if(out_.rules.stages.begin(), out_.rules.stages.end(),
                                     [&](const Stages& s) { return s.framework == framework; });
    if (stages == out_.rules.stages.end()) {
      fields.fault(fields.node(), fmt::format("no program is known for `{}`", framework));
    } else if (stage) {
      const auto name = std::find(stages->names.begin(), stages->names.end(), stage->scalar());
      if (name == stages->names.end()) {
        fields.fault(*stage, fmt::format("`{}` has no stage `{}`", framework, stage->scalar()));
      }
      out.stage = static_cast<std::uint16_t>(name - stages->names.begin());
    }
    for (const Text number : fields.texts("position")) {
      const auto place = to_double(number);
      if (!place) {
        fields.fault(fields.node(), fmt::format("position `{}` is not a number", number));
      }
      out.place.push_back(place.value_or(0));
    }
    if (out.place.empty()) {
      out.place.push_back(last_place);
    }
    return out;
  }

  void schema_line(Fields& fields, std::string_view expected) {
    if (const Text got = fields.required_text("schema"); !got.empty() && got != expected) {
      fields.fault(fields.node(), fmt::format("this reads `{}`, not `{}`", expected, got));
    }
  }

  void check_identity(const Rule& rule, const yaml::Node& root) {
    for (const Rule& other : out_.rules.rules) {
      if (other.id != rule.id && (other.name == rule.name || other.id == rule.name)) {
        out_.faults.push_back({locate(root.span),
                               fmt::format("`{}` is already the name of {}", rule.name, other.id)});
      }
      if (other.id == rule.id && parent_path(other.file) != "" && !replaced(other)) {
        out_.faults.push_back(
            {locate(root.span), fmt::format("{} is already the code of {}", rule.id, other.file)});
      }
    }
  }

  // A rule that was there before this folder may be replaced; one of this folder may not.
  bool replaced(const Rule& other) const {
    return std::find(out_.files.begin(), out_.files.end(), other.file) == out_.files.end();
  }

  const Disk& disk_;
  Pool& pool_;
  std::deque<Source> sources_;
  std::deque<yaml::Document> documents_;                 // vocabularies point into them
  std::map<std::string_view, Vocabulary> vocabularies_;  // by framework
  Loaded out_;
};

}  // namespace

Loaded load_rules(const Disk& disk, const std::string& folder, Pool& pool, const RuleSet& base) {
  return Loader(disk, pool, base).run(folder);
}

std::string fault_text(const std::vector<Fault>& faults) {
  std::string out;
  for (const Fault& fault : faults) {
    out += fmt::format("{}:{}:{}: {}\n", fault.where.file, fault.where.begin.line,
                       fault.where.begin.column, fault.message);
  }
  return out;
}

}  // namespace shardlint::rules
