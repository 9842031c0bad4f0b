#include "frontend/shell/statements.h"

#include <algorithm>
#include <cstring>

#include "frontend/grammars/grammars.h"

namespace shardlint::shell {
namespace {

constexpr int max_depth = 120;

// A closed for-loop header that the grammar takes in place of ((a; b; c)), of the same length.
std::string loop_header(std::size_t length) {
  return "x in " + std::string(length - 5, 'x');
}

struct Cursor {
  explicit Cursor(TSNode node) : cursor(ts_tree_cursor_new(node)) {}
  ~Cursor() { ts_tree_cursor_delete(&cursor); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  TSTreeCursor cursor;
};

std::vector<TSNode> children(TSNode node) {
  std::vector<TSNode> out;
  Cursor at(node);
  if (ts_tree_cursor_goto_first_child(&at.cursor)) {
    do {
      out.push_back(ts_tree_cursor_current_node(&at.cursor));
    } while (ts_tree_cursor_goto_next_sibling(&at.cursor));
  }
  return out;
}

bool is(TSNode node, const char* type) {
  return std::strcmp(ts_node_type(node), type) == 0;
}

class Builder {
 public:
  explicit Builder(Script& script) : script_(script) {}
  Statement build(TSNode node, int depth);

 private:
  Statement start(TSNode node, Statement::Kind kind);
  Statement command(TSNode node);
  Statement list(TSNode node, int depth);
  Statement conditional(TSNode node, int depth);
  Statement loop(TSNode node, int depth);
  Statement for_loop(TSNode node, int depth);
  Statement case_clause(TSNode node, int depth);
  Statement case_item(TSNode node, int depth);
  Statement function(TSNode node, int depth);
  Statement block(const std::vector<TSNode>& nodes, Statement::Kind kind, int depth);
  std::uint32_t token_at(std::uint32_t offset) const;
  void take_redirects(Statement& statement);
  bool control(std::uint32_t token, std::string_view text) const {
    return token < script_.tokens.tokens.size() &&
           script_.tokens.tokens[token].kind == Token::Kind::control &&
           (text.empty() || script_.view(script_.tokens.tokens[token]) == text);
  }

  Script& script_;
};

// Index of the first token that begins at or after `offset`.
std::uint32_t Builder::token_at(std::uint32_t offset) const {
  const std::vector<Token>& tokens = script_.tokens.tokens;
  return static_cast<std::uint32_t>(
      std::lower_bound(tokens.begin(), tokens.end(), offset,
                       [](const Token& token, std::uint32_t at) { return token.begin < at; }) -
      tokens.begin());
}

Statement Builder::start(TSNode node, Statement::Kind kind) {
  Statement out;
  out.kind = kind;
  out.begin = ts_node_start_byte(node);
  out.end = ts_node_end_byte(node);
  return out;
}

// Redirections of a compound statement stand between its end and the next operator; the grammar
// does not see them.
void Builder::take_redirects(Statement& statement) {
  const std::vector<Token>& tokens = script_.tokens.tokens;
  for (std::uint32_t i = token_at(statement.end);
       i < tokens.size() && tokens[i].kind == Token::Kind::redirect; ++i) {
    statement.redirects.push_back(i);
  }
}

Statement Builder::command(TSNode node) {
  Statement out = start(node, Statement::Kind::command);
  const std::vector<Token>& tokens = script_.tokens.tokens;
  out.first = out.last = token_at(out.begin);
  while (out.last < tokens.size() && tokens[out.last].kind != Token::Kind::control &&
         tokens[out.last].kind != Token::Kind::reserved) {
    ++out.last;
  }
  if (out.last > out.first) {
    out.end = std::max(out.end, tokens[out.last - 1].end);
  }
  return out;
}

// The statements among `nodes`, and whether each is sent to the background.
Statement Builder::block(const std::vector<TSNode>& nodes, Statement::Kind kind, int depth) {
  Statement out;
  out.kind = kind;
  for (const TSNode& node : nodes) {
    if (!ts_node_is_named(node)) {
      if (is(node, "&") && !out.children.empty()) {
        out.children.back().background = true;
      }
      continue;
    }
    if (is(node, "comment")) {
      continue;
    }
    out.children.push_back(build(node, depth));
  }
  if (!nodes.empty()) {
    out.begin = ts_node_start_byte(nodes.front());
    out.end = ts_node_end_byte(nodes.back());
  }
  return out;
}

Statement Builder::list(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::both);
  for (const TSNode& child : children(node)) {
    if (ts_node_is_named(child)) {
      out.children.push_back(build(child, depth));
    } else if (is(child, "||")) {
      out.kind = Statement::Kind::either;
    }
  }
  if (out.children.size() != 2) {
    out.kind = Statement::Kind::sequence;
  }
  return out;
}

Statement Builder::conditional(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::if_clause);
  std::vector<TSNode> part;
  const auto flush = [&] {
    out.children.push_back(block(part, Statement::Kind::sequence, depth));
    part.clear();
  };
  for (const TSNode& child : children(node)) {
    if (is(child, "if") || is(child, "elif") || is(child, "else")) {
      continue;
    }
    if (is(child, "then")) {
      flush();
    } else if (is(child, "elif_clause") || is(child, "else_clause")) {
      if (out.children.size() == 1) {
        flush();
      }
      Statement rest = conditional(child, depth);
      for (Statement& each : rest.children) {
        out.children.push_back(std::move(each));
      }
    } else if (!is(child, "fi")) {
      part.push_back(child);
    }
  }
  if (is(node, "else_clause") || out.children.size() % 2 == 1) {
    flush();
  }
  return out;
}

Statement Builder::loop(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::while_loop);
  std::vector<TSNode> condition, body;
  for (const TSNode& child : children(node)) {
    if (is(child, "until")) {
      out.kind = Statement::Kind::until_loop;
    } else if (is(child, "do_group")) {
      body = children(child);
    } else if (!is(child, "while")) {
      condition.push_back(child);
    }
  }
  out.children.push_back(block(condition, Statement::Kind::sequence, depth));
  out.children.push_back(block(body, Statement::Kind::sequence, depth));
  return out;
}

Statement Builder::for_loop(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::for_loop);
  const std::vector<Token>& tokens = script_.tokens.tokens;
  out.first = token_at(out.begin) + 1;  // the name, or ((a; b; c))
  out.last = std::min<std::uint32_t>(out.first + 1, static_cast<std::uint32_t>(tokens.size()));
  if (out.last < tokens.size() && tokens[out.last].kind == Token::Kind::reserved &&
      script_.view(tokens[out.last]) == "in") {
    out.has_words = true;
    ++out.last;
    while (out.last < tokens.size() && tokens[out.last].kind == Token::Kind::word) {
      ++out.last;
    }
  }
  for (const TSNode& child : children(node)) {
    if (is(child, "do_group") || is(child, "compound_statement")) {
      out.children.push_back(block(children(child), Statement::Kind::sequence, depth));
    }
  }
  out.first = std::min<std::uint32_t>(out.first, static_cast<std::uint32_t>(tokens.size()));
  if (out.children.size() != 1) {
    out.kind = Statement::Kind::not_understood;
  }
  return out;
}

Statement Builder::case_item(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::case_item);
  const std::vector<Token>& tokens = script_.tokens.tokens;
  out.first = token_at(out.begin);
  if (control(out.first, "(")) {
    ++out.first;
  }
  out.last = out.first;
  while (out.last < tokens.size() && !control(out.last, ")")) {
    ++out.last;
  }
  const std::uint32_t body_from = out.last < tokens.size() ? tokens[out.last].end : out.end;
  std::vector<TSNode> body;
  for (const TSNode& child : children(node)) {
    if (ts_node_start_byte(child) >= body_from) {
      body.push_back(child);
    }
  }
  out.children.push_back(block(body, Statement::Kind::sequence, depth));
  return out;
}

Statement Builder::case_clause(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::case_clause);
  out.first = token_at(out.begin) + 1;
  out.first =
      std::min<std::uint32_t>(out.first, static_cast<std::uint32_t>(script_.tokens.tokens.size()));
  out.last = std::min<std::uint32_t>(out.first + 1,
                                     static_cast<std::uint32_t>(script_.tokens.tokens.size()));
  for (const TSNode& child : children(node)) {
    if (is(child, "case_item")) {
      out.children.push_back(case_item(child, depth));
    }
  }
  return out;
}

Statement Builder::function(TSNode node, int depth) {
  Statement out = start(node, Statement::Kind::function);
  out.first = token_at(out.begin);
  if (out.first < script_.tokens.tokens.size() &&
      script_.view(script_.tokens.tokens[out.first]) == "function") {
    ++out.first;
  }
  out.last = out.first + 1;
  for (const TSNode& child : children(node)) {
    if (ts_node_is_named(child) && !is(child, "word") && !is(child, "comment")) {
      out.children.push_back(build(child, depth));
    }
  }
  if (out.children.size() != 1 || out.last > script_.tokens.tokens.size()) {
    out.kind = Statement::Kind::not_understood;
  }
  return out;
}

Statement Builder::build(TSNode node, int depth) {
  if (++depth > max_depth) {
    script_.too_deep = true;
    return start(node, Statement::Kind::not_understood);
  }
  using Kind = Statement::Kind;
  const std::string_view type = ts_node_type(node);
  Statement out;
  if (type == "command") {
    return command(node);
  }
  if (type == "list") {
    return list(node, depth);
  }
  if (type == "pipeline" || type == "program" || type == "subshell" ||
      type == "compound_statement" || type == "do_group" || type == "negated_command") {
    const Kind kind = type == "pipeline"             ? Kind::pipeline
                      : type == "subshell"           ? Kind::subshell
                      : type == "negated_command"    ? Kind::negation
                      : type == "compound_statement" ? Kind::group
                                                     : Kind::sequence;
    out = block(children(node), kind, depth);
    out.begin = ts_node_start_byte(node);
    out.end = ts_node_end_byte(node);
  } else if (type == "if_statement") {
    out = conditional(node, depth);
  } else if (type == "while_statement") {
    out = loop(node, depth);
  } else if (type == "for_statement") {
    out = for_loop(node, depth);
  } else if (type == "case_statement") {
    out = case_clause(node, depth);
  } else if (type == "function_definition") {
    return function(node, depth);
  } else {
    // An ERROR node, or structure that we did not expect: what can be read inside is.
    out = block(children(node), Kind::not_understood, depth);
    out.begin = ts_node_start_byte(node);
    out.end = ts_node_end_byte(node);
    return out;
  }
  take_redirects(out);
  return out;
}

}  // namespace

std::string masked_text(std::string_view text, const Tokens& tokens) {
  std::string out(text.size(), ' ');
  bool loop_name = false, bare = true;
  for (const Token& token : tokens.tokens) {
    const std::string_view written = text.substr(token.begin, token.end - token.begin);
    const auto put = [&](std::string_view with) {
      std::copy(with.begin(), with.end(), out.begin() + token.begin);
    };
    switch (token.kind) {
      case Token::Kind::reserved:
      case Token::Kind::control:
        put(written);
        break;
      case Token::Kind::redirect:
        if (bare) {  // a command may be nothing but redirections
          put(std::string(written.size(), 'x'));
        }
        break;
      case Token::Kind::arithmetic:
        put(loop_name && written.size() >= 6 ? loop_header(written.size())
                                             : std::string(written.size(), 'x'));
        break;
      default:
        put(std::string(written.size(), 'x'));
    }
    loop_name = token.kind == Token::Kind::reserved && (written == "for" || written == "select");
    bare = token.kind == Token::Kind::control
               ? written != ")"
               : token.kind == Token::Kind::reserved && written != "fi" && written != "done" &&
                     written != "esac" && written != "}" && written != "in";
  }
  return out;
}

void parse_statements(Script& script) {
  script.tokens = tokenize(script.text);
  const std::string masked = masked_text(script.text, script.tokens);
  const Tree tree = parse_tree(Grammar::bash, masked);
  if (tree) {
    script.program = Builder(script).build(ts_tree_root_node(tree.get()), 0);
  }
}

Char Script::at(std::uint32_t i) const {
  if (!origin.empty()) {
    return origin.chars[i];
  }
  Char c;
  c.c = text[i];
  c.flags = 0;
  c.source = source_id;
  c.offset = i;
  return c;
}

Text Script::cut(std::uint32_t begin, std::uint32_t end, std::uint8_t flags) const {
  Text out;
  out.chars.reserve(end - begin);
  for (std::uint32_t i = begin; i < end; ++i) {
    out.chars.push_back(at(i));
    out.chars.back().flags |= flags;
  }
  return out;
}

}  // namespace shardlint::shell
