#include "rules/load_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/yaml/scalar.h"
#include "rules/literal.h"
#include "rules/render.h"

namespace shardlint::rules {

std::vector<Scopes> Parts::scopes(const yaml::Node* node) {
  if (!node) {
    return {Scopes{}};
  }
  std::vector<Scopes> out;
  for (const yaml::Pair& role : node->entries()) {
    Scopes scope{scalar_text(*role.key, pool_, faults_), {}};
    for (const yaml::Pair& letter : role.value->entries()) {
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

std::vector<Let> Parts::lets(const yaml::Node* rule, const yaml::Node* local) {
  std::vector<Let> out;
  for (const yaml::Node* node : {rule, local}) {
    if (!node) {
      continue;
    }
    for (const yaml::Pair& pair : node->entries()) {
      const Text name = scalar_text(*pair.key, pool_, faults_);
      // A name may use those before it; the case's own replaces the rule's.
      Let let{name, expr(*pair.value, out)};
      const auto same = std::find_if(out.begin(), out.end(),
                                     [&](const Let& other) { return other.name == name; });
      if (same == out.end()) {
        out.push_back(std::move(let));
      } else {
        *same = std::move(let);
      }
    }
  }
  return out;
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

std::vector<FixRow> Parts::fixes(const yaml::Node* node, const Rule& rule) {
  std::vector<FixRow> out;
  if (!node) {
    return out;
  }
  const std::vector<Let> none;
  const std::vector<Let>& lets = rule.cases.empty() ? none : rule.cases.front().lets;
  for (const yaml::Node* item : node->items()) {
    Fields fields(*item, "a fix", pool_, faults_);
    FixRow row;
    row.title = fields.required_text("title");
    row.only = fields.text("only");
    if (const yaml::Node* edit = fields.required("edit")) {
      Fields edits(*edit, "an edit", pool_, faults_);
      if (const yaml::Node* set = edits.child("set")) {
        row.edits = sets(*set, lets);
      }
      for (const Text key : edits.texts("remove")) {
        row.edits.push_back({key, {}});
      }
    }
    if (const yaml::Node* safety = fields.child("safety"); safety && safety->is_mapping()) {
      Fields rows(*safety, "safety", pool_, faults_);
      row.safe = expr(*rows.required("safe"), lets);
      row.otherwise = static_cast<Safety>(rows.choice("else", {"safe", "unsafe", "display"}, 1));
    } else {
      row.otherwise =
          static_cast<Safety>(fields.choice("safety", {"safe", "unsafe", "display"}, 1));
    }
    out.push_back(std::move(row));
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

void Parts::check_template(const yaml::Node& at, Text text, const std::vector<Let>& lets) {
  if (const std::string fault = template_fault(text, lets); !fault.empty()) {
    faults_.push_back({locate(at.span), fmt::format("in `{}`: {}", text, fault)});
  }
}

}  // namespace shardlint::rules
