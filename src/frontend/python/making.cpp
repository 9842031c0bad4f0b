// New values, and the guards of the evaluation.

#include "frontend/python/eval.h"

namespace shardlint::python {

Span Interpreter::span(const Node& node) const {
  return {&frame_->module->syntax->source(), node.begin, node.end};
}

Val Interpreter::object(Object object, const Span& where) {
  object.made = where;
  Val value;
  value.type = Type::object;
  value.object = keep(std::move(object));
  value.where = where;
  return value;
}

Val Interpreter::text(std::string value, const Span& where) {
  Val made;
  made.type = Type::text;
  made.text = keep(std::move(value));
  made.where = where;
  return made;
}

Val Interpreter::external(std::string name) {
  if (auto found = externals_.find(name); found != externals_.end()) {
    return found->second;
  }
  Val made;
  made.type = Type::external;
  made.text = lasting_.make<std::string>(std::string(name));
  externals_.emplace(std::move(name), made);
  return made;
}

Val Interpreter::mystery(Reason reason, std::string detail, const Span& where, bool not_null,
                         Hint hint) {
  Val made;
  made.type = Type::unknown;
  made.mystery = keep(Mystery{reason, std::move(detail), where, not_null, hint});
  made.where = where;
  return made;
}

Val Interpreter::sequence(Shape shape, std::vector<Val> values, const Span& where) {
  if (values.size() > limits_.items) {
    return mystery(Reason::limit, "a list of more than 4096 elements", where, true, Hint::object);
  }
  Object made;
  made.shape = shape;
  made.items = keep(Items{{}, std::move(values)});
  return object(std::move(made), where);
}

Val Interpreter::dict(std::vector<Val> keys, std::vector<Val> values, const Span& where) {
  Object made;
  made.shape = Shape::dict;
  made.items = keep(Items{std::move(keys), std::move(values)});
  return object(std::move(made), where);
}

Val Interpreter::opaque(std::string label, const Span& where) {
  Object made;
  made.shape = Shape::opaque;
  made.havoc = keep(Mystery{Reason::opaque, label, where, false, Hint::none});
  made.label = std::move(label);
  return object(std::move(made), where);
}

void Interpreter::raise(std::string type, std::string text, const Node* node) {
  throw Raise{std::move(type), std::move(text), node && frame_ ? span(*node) : Span{}};
}

void Interpreter::step() {
  if (++steps_ > limits_.steps || ++all_steps_ > limits_.all_steps) {
    modules_.order_matters = modules_.order_matters || permanent_ > 0 || steps_ <= limits_.steps;
    throw StepLimit{};
  }
}

// Whether calls, or statements of modules, wait for each other too deeply.
bool Interpreter::deep(int limit) {
  const bool stack = outer_depth_ + depth_ >= limits_.depth + 40;
  modules_.order_matters = modules_.order_matters || stack;
  return stack || depth_ >= limit;
}

}  // namespace shardlint::python
