#include "rules/load_parts.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/yaml/scalar.h"
#include "rules/literal.h"
#include "rules/render.h"
#include "schema/schema.h"

namespace shardlint::rules {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The first identifiers of the dotted names in a text.
void add_words(std::string_view text, std::set<std::string_view>& out) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) {
      ++end;
    }
    if (end > i && (i == 0 || text[i - 1] != '.')) {
      out.insert(text.substr(i, end - i));
    }
    i = end + 1;
  }
}

void add_words(const yaml::Node* node, std::set<std::string_view>& out) {
  if (!node) {
    return;
  }
  add_words(node->scalar(), out);
  for (const yaml::Node* item : node->items()) {
    add_words(item, out);
  }
  for (const yaml::Pair& pair : node->entries()) {
    add_words(pair.value, out);
  }
}

}  // namespace

std::vector<Scopes> Parts::scopes(const yaml::Node* node) {
  if (!node) {
    return {Scopes{}};
  }
  std::vector<Scopes> out;
  for (const yaml::Node* name : node->items()) {
    const Text wanted = scalar_text(*name, pool_, faults_);
    const auto none = [&](const Scopes& role) { return role.name != wanted; };
    const std::size_t before = out.size();
    if (vocabulary_) {
      std::remove_copy_if(vocabulary_->roles.begin(), vocabulary_->roles.end(),
                          std::back_inserter(out), none);
    }
    if (out.size() == before) {
      faults_.push_back({locate(name->span), fmt::format("no role is called `{}`", wanted)});
    }
  }
  for (const yaml::Pair& role : node->entries()) {
    Scopes scope{scalar_text(*role.key, pool_, faults_), {}};
    for (const yaml::Pair& letter : role.value->entries()) {
      if (letter.key->scalar() == "let") {
        scope.lets = letter.value;
        continue;
      }
      scope.bindings.push_back(
          {scalar_text(*letter.key, pool_, faults_), scalar_text(*letter.value, pool_, faults_)});
    }
    out.push_back(std::move(scope));
  }
  if (out.empty()) {
    faults_.push_back({locate(node->span), "`bind` names roles and what their letters stand for"});
  }
  return out;
}

Expr Parts::parse(const yaml::Node& at, std::string_view text, const std::vector<Let>& lets) {
  std::vector<std::string_view> names;
  for (const Let& let : lets) {
    names.push_back(let.name);
  }
  const Parsed parsed = parse_expr(text, names, scope_.bindings, pool_);
  for (const ExprError& error : parsed.errors) {
    Location where = locate(at.span);
    if (at.is_scalar() && at.real().style == yaml::Node::Style::plain) {
      const auto offset = static_cast<std::uint32_t>(error.offset);
      where.begin.offset += offset;
      where.begin.column += offset;
    }
    faults_.push_back({where, fmt::format("in `{}`: {}", text, error.message)});
  }
  return parsed.expr;
}

Expr Parts::expr(const yaml::Node& node, const std::vector<Let>& lets) {
  if (node.is_sequence() || node.is_mapping()) {  // a YAML literal stands for itself
    return parse(node, literal(yaml::to_value(node, yaml::Mode::core12)), lets);
  }
  return parse(node, scalar_text(node, pool_, faults_), lets);
}

void Parts::add_lets(const yaml::Node* node, const std::set<std::string_view>* wanted,
                     std::vector<Let>& out) {
  if (!node) {
    return;
  }
  for (const yaml::Pair& pair : node->entries()) {
    const Text name = scalar_text(*pair.key, pool_, faults_);
    if (wanted && !wanted->contains(name)) {
      continue;
    }
    // A name may use those before it; a later one of the same name replaces the earlier.
    Let let{name, expr(*pair.value, out)};
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const Let& other) { return other.name == name; });
    if (same == out.end()) {
      out.push_back(std::move(let));
    } else {
      *same = std::move(let);
    }
  }
}

std::vector<Let> Parts::lets(const yaml::Node* rule, const yaml::Node* local,
                             const std::vector<const yaml::Node*>& nodes,
                             const std::vector<std::string_view>& texts) {
  std::vector<Let> out;
  if (vocabulary_) {
    std::set<std::string_view> wanted = {"built"};
    for (const std::string_view text : texts) {
      add_words(text, wanted);
    }
    for (const yaml::Node* node : {rule, local}) {
      add_words(node, wanted);
    }
    for (const yaml::Node* node : nodes) {
      add_words(node, wanted);
    }
    // A definition uses only those before it.
    for (const yaml::Node* definitions : {scope_.lets, vocabulary_->lets}) {
      if (definitions) {
        const auto& pairs = definitions->entries();
        for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
          if (wanted.contains(pair->key->scalar())) {
            add_words(pair->value, wanted);
          }
        }
      }
    }
    add_lets(vocabulary_->lets, &wanted, out);
    add_lets(scope_.lets, &wanted, out);
  }
  add_lets(rule, nullptr, out);
  add_lets(local, nullptr, out);
  return out;
}

Expr Parts::when(const yaml::Node* node, const std::vector<Let>& lets) {
  const bool guarded =
      std::any_of(lets.begin(), lets.end(), [](const Let& let) { return let.name == "built"; });
  const Expr own = node ? expr(*node, lets) : Expr{};
  if (!guarded) {
    return own;
  }
  std::vector<std::string_view> names;
  for (const Let& let : lets) {
    names.push_back(let.name);
  }
  const std::string text =
      own.empty() ? "built" : fmt::format("built and ({})", std::string(own.source));
  return parse_expr(pool_.keep(text), names, scope_.bindings, pool_).expr;
}

std::vector<FixEdit> Parts::sets(const yaml::Node& node, const std::vector<Let>& lets) {
  std::vector<FixEdit> out;
  for (const yaml::Pair& pair : node.entries()) {
    out.push_back({bind(scalar_text(*pair.key, pool_, faults_)), expr(*pair.value, lets)});
  }
  if (out.empty()) {
    faults_.push_back({locate(node.span), "expected keys and the values they get"});
  }
  return out;
}

std::vector<EvidenceRow> Parts::evidence(Fields& fields) {
  std::vector<EvidenceRow> out;
  const yaml::Node* list = fields.required("evidence");
  for (const yaml::Node* node : list ? list->items() : std::vector<const yaml::Node*>()) {
    Fields row(*node, "evidence", pool_, faults_);
    out.push_back({row.required_text("repo"), row.required_text("commit"),
                   row.required_text("path"), row.required_text("lines"), row.text("kind")});
  }
  if (list && out.empty()) {
    fields.fault(*list, "at least one upstream statement must make this true");
  }
  return out;
}

namespace {

// A key that some version of the framework has, or an environment variable.
bool is_key(std::string_view framework, std::string_view key) {
  const auto versions = Schema::versions(framework);
  return key.starts_with("env.") ||
         std::any_of(versions.begin(), versions.end(), [&](std::string_view version) {
           return Schema::get(framework, version)->find(key);
         });
}

}  // namespace

FixEdit Parts::edit(const yaml::Node& at, Text key, Expr value, const Case& check) {
  const auto let = std::find_if(check.lets.begin(), check.lets.end(),
                                [&](const Let& each) { return each.name == key; });
  const Text bound = bind(key);
  if (let != check.lets.end() && let->value.root().op != Op::key) {
    faults_.push_back(
        {locate(at.span), fmt::format("`{}` names an expression, which nothing can set", key)});
  } else if (let == check.lets.end() && !reads(check, bound) && !is_key(check.framework, bound)) {
    const std::string meant = bound == key ? "" : fmt::format(" (`{}`)", bound);
    faults_.push_back({locate(at.span), fmt::format("`{}`{} is no key of {} and no name of case {}",
                                                    key, meant, check.framework, check.id)});
  }
  return {bound, value};
}

FixRow Parts::fix(Fields& fields, const Case& check) {
  FixRow row;
  const Text title = fields.required_text("title");
  row.title = bind_template(title);
  check_template(fields.node(), row.title, check.lets);
  if (const yaml::Node* edit_node = fields.required("edit")) {
    Fields edits(*edit_node, "an edit", pool_, faults_);
    if (const yaml::Node* set = edits.child("set")) {
      for (const yaml::Pair& pair : set->entries()) {
        const Text key = scalar_text(*pair.key, pool_, faults_);
        row.edits.push_back(edit(*pair.key, key, expr(*pair.value, check.lets), check));
      }
    }
    for (const Text key : edits.texts("remove")) {
      row.edits.push_back(edit(*edit_node, key, {}, check));
    }
    if (row.edits.empty()) {
      edits.fault(*edit_node, "expected `set` with keys and their values, or `remove` with keys");
    }
  }
  if (const yaml::Node* safety = fields.child("safety"); safety && safety->is_mapping()) {
    Fields rows(*safety, "safety", pool_, faults_);
    if (const yaml::Node* safe = rows.required("safe")) {
      row.safe = expr(*safe, check.lets);
    }
    row.otherwise = static_cast<Safety>(rows.choice("else", {"safe", "unsafe", "display"}, 1));
  } else {
    row.otherwise = static_cast<Safety>(fields.choice("safety", {"safe", "unsafe", "display"}, 1));
  }
  return row;
}

std::vector<FixRow> Parts::fixes(const std::vector<const yaml::Node*>& nodes, const Case& check) {
  std::vector<FixRow> out;
  for (const yaml::Node* node : nodes) {
    Fields fields(*node, "a fix", pool_, faults_);
    fields.child("only");
    out.push_back(fix(fields, check));
  }
  return out;
}

std::vector<Example> Parts::examples(const yaml::Node* node) {
  std::vector<Example> out;
  if (node) {
    for (const yaml::Node* item : node->items()) {
      out.push_back(example(*item));
    }
  }
  return out;
}

Example Parts::example(const yaml::Node& node) {
  Fields fields(node, "an example", pool_, faults_);
  Example out;
  out.id = fields.required_text("id");
  out.framework = fields.required_text("framework");
  out.version = fields.text("version");
  out.closed = fields.choice("world", {"open", "closed"}, 1) == 1;
  fields.choice("expect", {"fail", "pass", "unknown", "not-applicable"}, 0);
  out.expect = fields.required_text("expect");
  out.case_id = fields.text("case");
  out.why = fields.text("why");
  out.argv = fields.texts("argv");
  out.gpu = fields.text("gpu");
  out.fix_safety = fields.text("fix_safety");
  if (const Text size = fields.text("world_size"); !size.empty()) {
    out.world_size = to_integer(size).value_or(0);
  }
  if (const yaml::Node* values = fields.child("yaml")) {
    flatten(*values, "", out.values);
  }
  if (const yaml::Node* env = fields.child("env")) {
    flatten(*env, "", out.env);
  }
  if (const yaml::Node* fixed = fields.child("fixed")) {
    flatten(*fixed, "", out.fixed);
  }
  return out;
}

void Parts::flatten(const yaml::Node& node, const std::string& prefix, std::vector<Pair>& out) {
  for (const yaml::Pair& pair : node.entries()) {
    const std::string key = prefix + std::string(pair.key->scalar());
    if (pair.value->is_mapping() && !pair.value->entries().empty()) {
      flatten(*pair.value, key + ".", out);
    } else {
      out.push_back({pool_.keep(key),
                     pool_.keep(literal(yaml::to_value(*pair.value, yaml::Mode::omegaconf)))});
    }
  }
}

Text Parts::bind(Text key) {
  const std::string_view head = key.substr(0, key.find('.'));
  for (const Binding& binding : scope_.bindings) {
    if (binding.name == head) {
      const std::string_view rest = key.substr(head.size());
      return pool_.keep(binding.prefix.empty() && rest.starts_with('.')
                            ? std::string(rest.substr(1))
                            : std::string(binding.prefix) + std::string(rest));
    }
  }
  return key;
}

Label Parts::bind(Label label) {
  for (Text& at : label.at) {
    at = bind(at);
  }
  return label;
}

Text Parts::bind_template(Text text) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (inside && end < text.size() && (is_word(text[end]) || text[end] == '.')) {
      ++end;
    }
    if (end > i) {
      out += bind(text.substr(i, end - i));
      i = end;
      continue;
    }
    inside = text[i] == '{' || (inside && text[i] != '}');
    out += text[i++];
  }
  return out == text ? text : pool_.keep(std::move(out));
}

void Parts::check_template(const yaml::Node& at, Text text, const std::vector<Let>& lets) {
  if (const std::string fault = template_fault(text, lets); !fault.empty()) {
    faults_.push_back({locate(at.span), fmt::format("in `{}`: {}", text, fault)});
  }
}

}  // namespace shardlint::rules
