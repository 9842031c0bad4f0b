// A Pratt-free recursive descent: one function a level of Python's precedence.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "rules/expr.h"
#include "rules/expr_builtins.h"
#include "rules/expr_lexer.h"

namespace shardlint::rules {
namespace {

constexpr int depth_limit = 64;

class Parser {
 public:
  Parser(std::string_view source, std::span<const std::string_view> locals,
         std::span<const Binding> bindings)
      : locals_(locals.begin(), locals.end()), bindings_(bindings) {
    tokens_ = lex(source, errors);
  }

  void run() {
    if (!errors.empty()) {
      return;
    }
    ternary();
    if (errors.empty() && peek().kind != TokenKind::end) {
      fail(fmt::format("expected an operator or the end, got `{}`", peek().text));
    }
  }

  std::vector<ExprError> errors;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> kids;
  std::string strings;

 private:
  using Index = std::uint32_t;

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return (token.kind == TokenKind::sign || token.kind == TokenKind::name) && token.text == text;
  }
  bool eat(std::string_view text) {
    if (!is(text)) {
      return false;
    }
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!eat(text)) {
      fail(peek().kind == TokenKind::end
               ? fmt::format("expected `{}`, got the end", text)
               : fmt::format("expected `{}`, got `{}`", text, peek().text));
    }
  }
  void fail(std::string message) {
    if (errors.empty()) {
      errors.push_back({peek().offset, std::move(message)});
    }
    at_ = tokens_.size() - 1;  // nothing more is consumed
  }

  Index add(Op op, std::initializer_list<Index> children, std::string_view text = {}) {
    return add(op, std::vector<Index>(children), text);
  }
  Index add(Op op, const std::vector<Index>& children, std::string_view text = {}) {
    Node node{};
    node.op = op;
    node.kid_count = static_cast<std::uint16_t>(children.size());
    node.first_kid = static_cast<std::uint32_t>(kids.size());
    kids.insert(kids.end(), children.begin(), children.end());
    if (const auto found = strings.find(text); !text.empty() && found != std::string::npos) {
      node.text = static_cast<std::uint32_t>(found);
    } else {
      node.text = static_cast<std::uint32_t>(strings.size());
      strings += text;
    }
    node.text_size = static_cast<std::uint32_t>(text.size());
    nodes.push_back(node);
    return static_cast<Index>(nodes.size() - 1);
  }

  Index ternary() {
    if (++depth_ > depth_limit) {
      fail("this expression is nested too deeply");
    }
    Index value = or_expr();
    if (eat("if")) {
      const Index condition = or_expr();
      expect("else");
      const Index otherwise = ternary();
      value = add(Op::ternary, {condition, value, otherwise});
    }
    --depth_;
    return value;
  }

  Index or_expr() {
    Index left = and_expr();
    while (eat("or")) {
      const Index right = and_expr();
      left = add(Op::or_, {left, right});
    }
    return left;
  }

  Index and_expr() {
    Index left = not_expr();
    while (eat("and")) {
      const Index right = not_expr();
      left = add(Op::and_, {left, right});
    }
    return left;
  }

  Index not_expr() {
    int count = 0;
    while (eat("not")) {
      ++count;
    }
    Index value = comparison();
    for (; count > 0; --count) {
      value = add(Op::not_, {value});
    }
    return value;
  }

  // a < b < c means (a < b) and (b < c), as in Python.
  Index comparison() {
    Index left = bit_or();
    Index result = left;
    for (bool first = true;; first = false) {
      Op op{};
      if (eat("==")) {
        op = Op::eq;
      } else if (eat("!=")) {
        op = Op::ne;
      } else if (eat("<=")) {
        op = Op::le;
      } else if (eat(">=")) {
        op = Op::ge;
      } else if (eat("<")) {
        op = Op::lt;
      } else if (eat(">")) {
        op = Op::gt;
      } else if (eat("in")) {
        op = Op::in;
      } else if (is("not") && is("in", 1)) {
        at_ += 2;
        op = Op::not_in;
      } else if (eat("is")) {  // identity only matters for None and booleans here
        op = eat("not") ? Op::ne : Op::eq;
      } else {
        return result;
      }
      const Index right = bit_or();
      const Index compared = add(op, {left, right});
      result = first ? compared : add(Op::and_, {result, compared});
      left = right;
    }
  }

  Index bit_or() {
    Index left = bit_and();
    while (eat("|")) {
      const Index right = bit_and();
      left = add(Op::bit_or, {left, right});
    }
    return left;
  }

  Index bit_and() {
    Index left = sum();
    while (eat("&")) {
      const Index right = sum();
      left = add(Op::bit_and, {left, right});
    }
    return left;
  }

  Index sum() {
    Index left = product();
    for (;;) {
      const Op op = is("+") ? Op::add : Op::sub;
      if (!eat("+") && !eat("-")) {
        return left;
      }
      const Index right = product();
      left = add(op, {left, right});
    }
  }

  Index product() {
    Index left = unary();
    for (;;) {
      const Op op = is("*") ? Op::mul : is("/") ? Op::div : is("//") ? Op::floordiv : Op::mod;
      if (!eat("*") && !eat("/") && !eat("//") && !eat("%")) {
        return left;
      }
      const Index right = unary();
      left = add(op, {left, right});
    }
  }

  Index unary() {
    if (eat("-")) {
      if (++depth_ > depth_limit) {
        fail("this expression is nested too deeply");
      }
      const Index value = unary();
      --depth_;
      return add(Op::neg, {value});
    }
    return postfix(primary());
  }

  Index postfix(Index value) {
    for (;;) {
      if (eat("[")) {
        value = subscript(value);
      } else if (is(".")) {
        ++at_;
        const Token name = peek();
        if (name.kind != TokenKind::name) {
          fail("expected a name after `.`");
          return value;
        }
        ++at_;
        if (eat("(")) {
          value = method(value, name);
        } else {
          value = add(Op::attribute, {value}, name.text);
        }
      } else {
        return value;
      }
    }
  }

  Index subscript(Index value) {
    const Index begin = is(":") ? add(Op::null_, {}) : ternary();
    if (eat(":")) {
      const Index end = is("]") ? add(Op::null_, {}) : ternary();
      expect("]");
      return add(Op::slice, {value, begin, end});
    }
    expect("]");
    return add(Op::index, {value, begin});
  }

  Index method(Index object, const Token& name) {
    if (!is_method(name.text)) {
      at_ -= 2;
      fail(fmt::format("there is no method `{}`", name.text));
      return object;
    }
    std::vector<Index> children{object};
    arguments(children);
    return add(Op::method, children, name.text);
  }

  void arguments(std::vector<Index>& children) {
    while (!is(")") && errors.empty()) {
      children.push_back(element());
      if (!eat(",")) {
        break;
      }
    }
    expect(")");
  }

  // An item that may be a generator: `f(x) for x in xs if c`. The element is parsed after its
  // variables are known, so the parser looks ahead for the matching `for`.
  Index element() {
    const std::size_t loop = find_for();
    if (loop == 0) {
      return ternary();
    }
    std::vector<std::string> variables;
    std::size_t at = loop + 1;
    while (tokens_[at].kind == TokenKind::name && tokens_[at].text != "in") {
      variables.emplace_back(tokens_[at++].text);
      at += tokens_[at].text == ",";
    }
    std::string names;
    for (const std::string& name : variables) {
      names += (names.empty() ? "" : ",") + name;
    }
    const std::size_t mark = locals_.size();
    locals_.insert(locals_.end(), variables.begin(), variables.end());
    const Index item = ternary();
    if (at_ != loop) {
      fail("expected `for`");
    }
    at_ = std::min(at, tokens_.size() - 1);
    expect("in");
    // The iterable does not see the loop's variables, but names never collide with keys in use.
    const Index iterable = or_expr();
    const Index condition = eat("if") ? or_expr() : add(Op::true_, {});
    locals_.resize(mark);
    return add(Op::generator, {item, iterable, condition}, names);
  }

  std::size_t find_for() const {
    int nesting = 0;
    for (std::size_t i = at_; i < tokens_.size(); ++i) {
      const std::string_view text = tokens_[i].kind == TokenKind::string ? "" : tokens_[i].text;
      if (text == "(" || text == "[" || text == "{") {
        ++nesting;
      } else if (text == ")" || text == "]" || text == "}") {
        if (--nesting < 0) {
          return 0;
        }
      } else if (nesting == 0 && text == ",") {
        return 0;
      } else if (nesting == 0 && text == "for") {
        return i;
      }
    }
    return 0;
  }

  Index primary() {
    const Token token = peek();
    switch (token.kind) {
      case TokenKind::integer: {
        ++at_;
        const Index index = add(Op::integer, {});
        nodes.back().integer = token.integer;
        return index;
      }
      case TokenKind::real: {
        ++at_;
        const Index index = add(Op::real, {});
        nodes.back().real = token.real;
        return index;
      }
      case TokenKind::string:
        ++at_;
        return add(Op::string, {}, token.string);
      case TokenKind::name:
        return name();
      case TokenKind::sign:
        return bracket();
      case TokenKind::end:
        break;
    }
    fail("expected a value, got the end");
    return add(Op::null_, {});
  }

  Index bracket() {
    if (eat("(")) {
      if (eat(")")) {
        return add(Op::list, {});
      }
      const Index first = element();
      if (eat(")")) {
        return nodes[first].op == Op::generator ? add(Op::list, {first}) : first;
      }
      return items(Op::list, first, ")");
    }
    if (eat("[")) {
      return eat("]") ? add(Op::list, {}) : items(Op::list, element(), "]");
    }
    if (eat("{")) {
      if (eat("}")) {
        return add(Op::dict, {});
      }
      const Index first = element();
      return is(":") ? dict(first) : items(Op::set, first, "}");
    }
    fail(fmt::format("expected a value, got `{}`", peek().text));
    return add(Op::null_, {});
  }

  Index items(Op op, Index first, std::string_view close) {
    std::vector<Index> children{first};
    while (eat(",") && !is(close)) {
      children.push_back(element());
    }
    expect(close);
    return add(op, children);
  }

  Index dict(Index first) {
    std::vector<Index> children{first};
    expect(":");
    children.push_back(ternary());
    while (eat(",") && !is("}")) {
      children.push_back(ternary());
      expect(":");
      children.push_back(ternary());
    }
    expect("}");
    return add(Op::dict, children);
  }

  Index name() {
    const Token first = peek();
    static constexpr std::array keywords = {"and", "or", "not", "in", "is", "if", "else", "for"};
    if (std::find(keywords.begin(), keywords.end(), first.text) != keywords.end()) {
      fail(fmt::format("expected a value, got `{}`", first.text));
      return add(Op::null_, {});
    }
    ++at_;
    if (first.text == "null" || first.text == "None") {
      return add(Op::null_, {});
    }
    if (first.text == "true" || first.text == "True") {
      return add(Op::true_, {});
    }
    if (first.text == "false" || first.text == "False") {
      return add(Op::false_, {});
    }
    if (is("(")) {
      return call(first);
    }
    if (std::find(locals_.begin(), locals_.end(), first.text) != locals_.end()) {
      return add(Op::local, {}, first.text);
    }
    return key(first);
  }

  Index call(const Token& function) {
    if (!is_function(function.text)) {
      --at_;
      fail(fmt::format("there is no function `{}`", function.text));
      return add(Op::null_, {});
    }
    ++at_;
    std::vector<Index> children;
    arguments(children);
    return add(Op::call, children, function.text);
  }

  // A dotted path; a last segment followed by `(` is a method of it.
  Index key(const Token& first) {
    std::string path(first.text);
    for (const Binding& binding : bindings_) {
      if (path == binding.name) {
        path = binding.prefix;
        break;
      }
    }
    while (is(".") && peek(1).kind == TokenKind::name && !is("(", 2)) {
      path += (path.empty() ? "" : ".") + std::string(peek(1).text);
      at_ += 2;
    }
    return add(Op::key, {}, path);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> locals_;
  std::span<const Binding> bindings_;
};

}  // namespace

std::string_view Pool::keep(std::string text) {
  return texts_.emplace_back(std::move(text));
}
std::span<const Node> Pool::keep(std::vector<Node> nodes) {
  return nodes_.emplace_back(std::move(nodes));
}
std::span<const std::uint32_t> Pool::keep(std::vector<std::uint32_t> kids) {
  return kids_.emplace_back(std::move(kids));
}

Parsed parse_expr(std::string_view source, std::span<const std::string_view> locals,
                  std::span<const Binding> bindings, Pool& pool) {
  Parser parser(source, locals, bindings);
  parser.run();
  Parsed out;
  out.errors = std::move(parser.errors);
  if (out.errors.empty()) {
    out.expr = {pool.keep(std::move(parser.nodes)), pool.keep(std::move(parser.kids)),
                pool.keep(std::move(parser.strings)), pool.keep(std::string(source))};
  }
  return out;
}

std::vector<std::string_view> keys_of(const Expr& expr) {
  std::set<std::string_view> keys;
  for (const Node& node : expr.nodes) {
    if (node.op == Op::key) {
      keys.insert(expr.text(node));
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace shardlint::rules
