#include "frontend/python/lower.h"

namespace shardlint::python {
namespace {

constexpr int max_block_depth = 90;

Op augmented_operator(std::string_view text) {
  static constexpr std::pair<std::string_view, Op> table[] = {
      {"+=", Op::add},         {"-=", Op::subtract},      {"*=", Op::multiply},
      {"/=", Op::divide},      {"//=", Op::floor_divide}, {"%=", Op::modulo},
      {"**=", Op::power},      {"@=", Op::matrix},        {"&=", Op::bit_and},
      {"|=", Op::bit_or},      {"^=", Op::bit_xor},       {"<<=", Op::shift_left},
      {">>=", Op::shift_right}};
  for (const auto& [spelling, op] : table) {
    if (spelling == text) {
      return op;
    }
  }
  return Op::none;
}

}  // namespace

const Node* Lowering::file(TSNode root) {
  return block(root);
}

const Node* Lowering::block(TSNode node) {
  Node* made = make(Tag::block, node);
  if (depth_ >= max_block_depth || too_many) {
    too_deep = too_deep || depth_ >= max_block_depth;
    made->kids.push_back(give_up(node, Tag::unread));
    return made;
  }
  ++depth_;
  for (const Child& child : children(node)) {
    if (child.named) {
      statement(child.node, made);
    }
  }
  --depth_;
  return made;
}

// Whether what does not parse belongs to the statement itself rather than to a block inside it.
bool Lowering::broken(TSNode node, std::string_view type) {
  if (!type.ends_with("_statement") && !type.ends_with("_definition") &&
      !type.ends_with("_clause")) {
    return true;
  }
  for (const Child& child : children(node)) {
    if (!ts_node_has_error(child.node) && !ts_node_is_missing(child.node)) {
      continue;
    }
    const bool inside = child.type == "block" || child.type.ends_with("_clause") ||
                        child.type.ends_with("_definition");
    if (!inside || ts_node_is_missing(child.node)) {
      return true;
    }
  }
  return false;
}

void Lowering::statement(TSNode node, Node* into) {
  const std::string_view type = ts_node_type(node);
  const Node* made = nullptr;
  if (ts_node_has_error(node) && broken(node, type)) {
    into->kids.push_back(give_up(node, Tag::unread));
    return;
  }
  if (type == "if_statement") {
    made = if_statement(node);
  } else if (type == "for_statement" || type == "while_statement") {
    made = for_statement(node);
  } else if (type == "try_statement") {
    made = try_statement(node);
  } else if (type == "with_statement") {
    made = with_statement(node);
  } else if (type == "function_definition") {
    made = function(node);
  } else if (type == "class_definition") {
    made = class_definition(node);
  } else if (type == "decorated_definition") {
    made = decorated(node);
  } else if (type == "import_statement") {
    made = import_statement(node);
  } else if (type == "import_from_statement") {
    made = import_from(node);
  } else {
    simple(node, into);
    return;
  }
  into->kids.push_back(made);
}

void Lowering::simple(TSNode node, Node* into) {
  const std::string_view type = ts_node_type(node);
  static constexpr std::pair<std::string_view, Tag> plain[] = {
      {"return_statement", Tag::return_},     {"raise_statement", Tag::raise_},
      {"assert_statement", Tag::assert_},     {"delete_statement", Tag::delete_},
      {"global_statement", Tag::global},      {"nonlocal_statement", Tag::global},
      {"pass_statement", Tag::pass},          {"break_statement", Tag::break_},
      {"continue_statement", Tag::continue_}, {"future_import_statement", Tag::pass},
      {"type_alias_statement", Tag::pass}};
  if (type == "expression_statement") {
    std::vector<Child> parts = children(node);
    std::size_t named = 0;
    for (const Child& child : parts) {
      named += child.named;
    }
    if (named > 1) {  // a, b
      Node* made = make(Tag::expression, node);
      made->kids.push_back(items(Tag::tuple, node));
      into->kids.push_back(made);
      return;
    }
    for (const Child& child : parts) {
      if (child.type == "assignment" || child.type == "augmented_assignment") {
        into->kids.push_back(assignment(child.node));
      } else if (child.named) {
        Node* made = make(Tag::expression, node);
        made->kids.push_back(expression(child.node));
        into->kids.push_back(made);
      }
    }
    return;
  }
  for (const auto& [spelling, tag] : plain) {
    if (type != spelling) {
      continue;
    }
    Node* made = make(tag, node);
    for (const Child& child : children(node)) {
      if (child.named && tag != Tag::pass) {
        const Node* inner = expression(child.node);
        if (tag == Tag::delete_ && inner->tag == Tag::tuple) {
          made->kids.insert(made->kids.end(), inner->kids.begin(), inner->kids.end());
        } else {
          made->kids.push_back(inner);
        }
      }
    }
    into->kids.push_back(made);
    return;
  }
  into->kids.push_back(type == "ERROR" ? give_up(node, Tag::unread) : make(Tag::unread, node));
}

const Node* Lowering::assignment(TSNode node) {
  if (std::string_view(ts_node_type(node)) == "augmented_assignment") {
    Node* made = make(Tag::augmented, node);
    for (const Child& child : children(node)) {
      if (child.field == "operator") {
        made->op = augmented_operator(child.type);
      } else if (child.named) {
        made->kids.push_back(expression(child.node));
      }
    }
    return made->kids.size() == 2 ? made : give_up(node, Tag::unread);
  }
  std::vector<const Node*> targets;
  const Node* value = nullptr;
  std::string_view annotation;
  TSNode at = node;
  for (int chain = 0; chain < 64; ++chain) {
    bool again = false;
    TSNode next{};
    for (const Child& child : children(at)) {
      if (child.field == "left") {
        targets.push_back(expression(child.node));
      } else if (child.field == "type") {
        annotation = text(child.node);
      } else if (child.field == "right") {
        if (child.type == "assignment") {
          next = child.node;
          again = true;
        } else {
          value = expression(child.node);
        }
      }
    }
    if (!again) {
      break;
    }
    at = next;
  }
  for (const Node* target : targets) {
    if (!target) {
      return give_up(node, Tag::unread);
    }
  }
  if (targets.empty() || (!value && annotation.empty())) {
    return give_up(node, Tag::unread);
  }
  Node* made = make(annotation.empty() ? Tag::assign : Tag::annotated, node);
  made->text = annotation;
  made->kids.push_back(value);
  made->kids.insert(made->kids.end(), targets.begin(), targets.end());
  return made;
}

const Node* Lowering::if_statement(TSNode node) {
  Node* made = make(Tag::if_, node);
  made->kids.assign(3, nullptr);
  Node* tail = made;
  for (const Child& child : children(node)) {
    if (child.field == "condition") {
      made->kids[0] = expression(child.node);
    } else if (child.field == "consequence") {
      made->kids[1] = block(child.node);
    } else if (child.type == "elif_clause") {
      Node* inner = make(Tag::if_, child.node);
      inner->kids.assign(3, nullptr);
      for (const Child& part : children(child.node)) {
        if (part.field == "condition") {
          inner->kids[0] = expression(part.node);
        } else if (part.field == "consequence") {
          inner->kids[1] = block(part.node);
        }
      }
      if (!inner->kids[0] || !inner->kids[1]) {
        return give_up(node, Tag::unread);
      }
      Node* holder = make(Tag::block, child.node);
      holder->kids.push_back(inner);
      tail->kids[2] = holder;
      tail = inner;
    } else if (child.type == "else_clause") {
      for (const Child& part : children(child.node)) {
        if (part.field == "body") {
          tail->kids[2] = block(part.node);
        }
      }
    }
  }
  return made->kids[0] && made->kids[1] ? made : give_up(node, Tag::unread);
}

const Node* Lowering::for_statement(TSNode node) {
  const bool loop = std::string_view(ts_node_type(node)) == "for_statement";
  Node* made = make(loop ? Tag::for_ : Tag::while_, node);
  const Node *target = nullptr, *iterable = nullptr, *body = nullptr, *otherwise = nullptr;
  for (const Child& child : children(node)) {
    if (child.field == "left") {
      target = expression(child.node);
    } else if (child.field == "right" || child.field == "condition") {
      iterable = expression(child.node);
    } else if (child.field == "body") {
      body = block(child.node);
    } else if (child.field == "alternative") {
      for (const Child& part : children(child.node)) {
        if (part.field == "body") {
          otherwise = block(part.node);
        }
      }
    }
  }
  if (!iterable || !body || (loop && !target)) {
    return give_up(node, Tag::unread);
  }
  if (loop) {
    made->kids.push_back(target);
  }
  made->kids.push_back(iterable);
  made->kids.push_back(body);
  made->kids.push_back(otherwise);
  return made;
}

const Node* Lowering::try_statement(TSNode node) {
  Node* made = make(Tag::try_, node);
  made->kids.assign(3, nullptr);
  for (const Child& child : children(node)) {
    if (child.field == "body") {
      made->kids[0] = block(child.node);
    } else if (child.type == "except_clause" || child.type == "except_group_clause") {
      Node* handler = make(Tag::handler, child.node);
      const Node *caught = nullptr, *body = nullptr;
      for (const Child& part : children(child.node)) {
        if (part.type == "block") {
          body = block(part.node);
        } else if (part.type == "as_pattern") {
          for (const Child& piece : children(part.node)) {
            if (piece.field == "alias") {
              handler->name = names_.intern(text(piece.node));
            } else if (piece.named && !caught) {
              caught = expression(piece.node);
            }
          }
        } else if (part.named && !caught) {
          caught = expression(part.node);
        } else if (part.named) {  // except X as e in newer grammars: value and alias
          handler->name = names_.intern(text(part.node));
        }
      }
      if (!body) {
        return give_up(node, Tag::unread);
      }
      handler->kids = {caught, body};
      made->kids.push_back(handler);
    } else if (child.type == "else_clause") {
      for (const Child& part : children(child.node)) {
        if (part.field == "body") {
          made->kids[1] = block(part.node);
        }
      }
    } else if (child.type == "finally_clause") {
      for (const Child& part : children(child.node)) {
        if (part.type == "block") {
          made->kids[2] = block(part.node);
        }
      }
    }
  }
  return made->kids[0] ? made : give_up(node, Tag::unread);
}

const Node* Lowering::with_statement(TSNode node) {
  Node* made = make(Tag::with_, node);
  made->kids.push_back(nullptr);
  for (const Child& child : children(node)) {
    if (child.field == "body") {
      made->kids[0] = block(child.node);
    } else if (child.type == "with_clause") {
      for (const Child& item : children(child.node)) {
        if (item.type != "with_item") {
          continue;
        }
        Node* made_item = make(Tag::with_item, item.node);
        made_item->kids.assign(2, nullptr);
        const TSNode value = ts_node_named_child(item.node, 0);
        if (!ts_node_is_null(value) && std::string_view(ts_node_type(value)) == "as_pattern") {
          for (const Child& piece : children(value)) {
            if (piece.field == "alias") {
              made_item->kids[1] = expression(ts_node_named_child(piece.node, 0));
            } else if (piece.named && !made_item->kids[0]) {
              made_item->kids[0] = expression(piece.node);
            }
          }
        } else {
          made_item->kids[0] = expression(value);
        }
        made->kids.push_back(made_item);
      }
    }
  }
  for (std::size_t i = 1; i < made->kids.size(); ++i) {
    if (!made->kids[i]->kids[0]) {
      return give_up(node, Tag::unread);
    }
  }
  return made->kids[0] ? made : give_up(node, Tag::unread);
}

const Node* Lowering::function(TSNode node) {
  Node* made = make(Tag::function, node);
  const Node *parameter_list = nullptr, *body = nullptr;
  const bool outer = yields_;
  yields_ = false;
  bool async = false;
  for (const Child& child : children(node)) {
    if (child.type == "async") {
      async = true;
    } else if (child.field == "name") {
      made->name = names_.intern(text(child.node));
    } else if (child.field == "parameters") {
      parameter_list = parameters(child.node);
    } else if (child.field == "return_type") {
      made->text = text(child.node);
    } else if (child.field == "body") {
      body = block(child.node);
    }
  }
  made->level = yields_ || async ? 1 : 0;
  yields_ = outer;
  if (!parameter_list || !body || made->name == 0) {
    return give_up(node, Tag::unread);
  }
  made->kids.push_back(parameter_list);
  made->kids.push_back(body);
  return made;
}

const Node* Lowering::parameters(TSNode node) {
  Node* made = make(Tag::parameters, node);
  for (const Child& child : children(node)) {
    if (!child.named) {
      continue;
    }
    Node* parameter = make(Tag::parameter, child.node);
    parameter->op = Op::plain;
    parameter->kids.push_back(nullptr);
    std::string_view type = child.type;
    TSNode named = child.node;
    if (type == "typed_parameter") {
      named = ts_node_named_child(child.node, 0);
      type = ts_node_is_null(named) ? "" : ts_node_type(named);
    }
    for (const Child& part : children(child.node)) {
      if (part.field == "type") {
        parameter->text = text(part.node);
      } else if (part.field == "value") {
        parameter->kids[0] = expression(part.node);
      } else if (part.field == "name") {
        named = part.node;
      }
    }
    if (type == "keyword_separator") {
      parameter->op = Op::marker_keyword;
    } else if (type == "positional_separator") {
      parameter->op = Op::marker_positional;
    } else if (type == "list_splat_pattern" || type == "dictionary_splat_pattern") {
      parameter->op = type == "list_splat_pattern" ? Op::star : Op::double_star;
      named = ts_node_named_child(named, 0);
    }
    if (!ts_node_is_null(named)) {
      parameter->name = names_.intern(text(named));
    }
    made->kids.push_back(parameter);
  }
  return made;
}

const Node* Lowering::class_definition(TSNode node) {
  Node* made = make(Tag::class_, node);
  const Node *body = nullptr, *arguments = nullptr;
  for (const Child& child : children(node)) {
    if (child.field == "name") {
      made->name = names_.intern(text(child.node));
    } else if (child.field == "superclasses") {
      arguments = items(Tag::tuple, child.node);
    } else if (child.field == "body") {
      body = block(child.node);
    }
  }
  if (!body || made->name == 0) {
    return give_up(node, Tag::unread);
  }
  made->kids = {body, arguments ? arguments : make(Tag::tuple, node)};
  return made;
}

const Node* Lowering::decorated(TSNode node) {
  std::vector<const Node*> decorators;
  const Node* definition = nullptr;
  for (const Child& child : children(node)) {
    if (child.type == "decorator") {
      for (const Child& part : children(child.node)) {
        if (part.named) {
          decorators.push_back(expression(part.node));
        }
      }
    } else if (child.type == "function_definition") {
      definition = function(child.node);
    } else if (child.type == "class_definition") {
      definition = class_definition(child.node);
    }
  }
  if (!definition || definition->tag == Tag::unread) {
    return give_up(node, Tag::unread);
  }
  Node* mutable_definition = const_cast<Node*>(definition);  // ours, just made
  mutable_definition->kids.insert(mutable_definition->kids.end(), decorators.begin(),
                                  decorators.end());
  return definition;
}

const Node* Lowering::import_statement(TSNode node) {
  Node* made = make(Tag::import, node);
  for (const Child& child : children(node)) {
    if (!child.named) {
      continue;
    }
    Node* alias = make(Tag::alias, child.node);
    if (child.type == "aliased_import") {
      for (const Child& part : children(child.node)) {
        if (part.field == "name") {
          alias->text = text(part.node);
        } else if (part.field == "alias") {
          alias->name = names_.intern(text(part.node));
        }
      }
    } else {
      alias->text = text(child.node);
    }
    made->kids.push_back(alias);
  }
  return made;
}

const Node* Lowering::import_from(TSNode node) {
  Node* made = make(Tag::import_from, node);
  for (const Child& child : children(node)) {
    if (child.field == "module_name") {
      std::string_view module = text(child.node);
      while (!module.empty() && (module.front() == '.' || module.front() == ' ')) {
        made->level += module.front() == '.' ? 1 : 0;
        module.remove_prefix(1);
      }
      made->text = module;
    } else if (child.type == "wildcard_import") {
      Node* alias = make(Tag::alias, child.node);
      alias->text = "*";
      made->kids.push_back(alias);
    } else if (child.field == "name") {
      Node* alias = make(Tag::alias, child.node);
      if (child.type == "aliased_import") {
        for (const Child& part : children(child.node)) {
          if (part.field == "name") {
            alias->text = text(part.node);
          } else if (part.field == "alias") {
            alias->name = names_.intern(text(part.node));
          }
        }
      } else {
        alias->text = text(child.node);
        alias->name = names_.intern(alias->text);
      }
      made->kids.push_back(alias);
    }
  }
  return made;
}

}  // namespace shardlint::python
