#include "diagnostics/comments.h"

#include <algorithm>
#include <string>

namespace shardlint {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// A line is read with what the lines above left open.
class Lexer {
 public:
  Lexer(std::string_view text, CommentSyntax syntax) : text_(text), syntax_(syntax) {}

  std::vector<LexedLine> run() {
    std::vector<LexedLine> lines;
    for (std::size_t at = 0; at <= text_.size();) {
      std::size_t end = text_.find('\n', at);
      end = end == std::string_view::npos ? text_.size() : end;
      lines.push_back(line(at, end));
      at = end + 1;
    }
    return lines;
  }

 private:
  LexedLine line(std::size_t begin, std::size_t end) {
    LexedLine out;
    out.begin = static_cast<std::uint32_t>(begin);
    out.end = out.comment = static_cast<std::uint32_t>(end);
    std::size_t at = begin;
    while (at < end && is_space(text_[at])) {
      ++at;
    }
    out.indent = static_cast<std::uint32_t>(at - begin);
    if (in_block_scalar(out, at, end)) {
      return out;
    }
    if (heredoc(out, begin, end)) {
      return out;
    }
    out.inside = !quote_.empty() || depth_ > 0 || continued_;
    out.item = at + 1 < end && text_[at] == '-' && is_space(text_[at + 1]);
    continued_ = false;
    char last = 0;  // the last character of content
    for (; at < end; ++at) {
      const char c = text_[at];
      if (!quote_.empty()) {
        out.content = true;
        in_quote(at, end);
        last = '"';
        continue;
      }
      if (c == '#' && starts_comment(at, begin)) {
        out.comment = static_cast<std::uint32_t>(at);
        break;
      }
      if (is_space(c)) {
        continue;
      }
      out.content = true;
      outside_quote(at, end, last);
      last = c;
    }
    out.open_end = !quote_.empty() || continued_;
    out.opens_block = syntax_ == CommentSyntax::python && last == ':' && depth_ == 0;
    if (syntax_ == CommentSyntax::yaml && out.content && quote_.empty()) {
      start_block_scalar(out);
    }
    return out;
  }

  bool starts_comment(std::size_t at, std::size_t begin) const {
    // In YAML and shell a # inside a word is part of it.
    return syntax_ == CommentSyntax::python || at == begin || is_space(text_[at - 1]) ||
           (syntax_ == CommentSyntax::shell &&
            std::string_view(";&|()").find(text_[at - 1]) != std::string_view::npos);
  }

  void in_quote(std::size_t& at, std::size_t end) {
    const char c = text_[at];
    const bool escapes = syntax_ == CommentSyntax::python || quote_ == "\"";
    if (c == '\\' && escapes) {
      ++at;
      return;
    }
    if (syntax_ == CommentSyntax::yaml && quote_ == "'" && text_.substr(at, 2) == "''") {
      ++at;
      return;
    }
    if (text_.substr(at, quote_.size()) == quote_ && at + quote_.size() <= end) {
      at += quote_.size() - 1;
      quote_.clear();
    }
  }

  void outside_quote(std::size_t& at, std::size_t end, char last) {
    const char c = text_[at];
    if (c == '\\' && syntax_ != CommentSyntax::yaml) {
      continued_ = at + 1 == end || (at + 2 == end && text_[at + 1] == '\r');
      ++at;
      return;
    }
    if (c == '"' || c == '\'') {
      // In YAML a quote inside a plain scalar is a character like any other.
      const bool token = syntax_ != CommentSyntax::yaml || last == 0 ||
                         std::string_view(":-[{,?").find(last) != std::string_view::npos;
      if (token) {
        const std::string three(3, c);
        quote_ = syntax_ == CommentSyntax::python && text_.substr(at, 3) == three
                     ? three
                     : std::string(1, c);
        at += quote_.size() - 1;
      }
      return;
    }
    const bool flow = syntax_ != CommentSyntax::yaml || depth_ > 0 || last == 0 ||
                      std::string_view(":-[{,").find(last) != std::string_view::npos;
    if (std::string_view("([{").find(c) != std::string_view::npos && flow) {
      depth_ += syntax_ == CommentSyntax::shell && c != '(' ? 0 : 1;
    } else if (std::string_view(")]}").find(c) != std::string_view::npos && depth_ > 0) {
      depth_ -= syntax_ == CommentSyntax::shell && c != ')' ? 0 : 1;
    } else if (syntax_ == CommentSyntax::shell && text_.substr(at, 3) == "<<<") {
      at += 2;  // a string, not a document
    } else if (syntax_ == CommentSyntax::shell && text_.substr(at, 2) == "<<") {
      read_heredoc_word(at + 2, end);
      ++at;
    }
  }

  // `key: |` and the like: the lines below that are indented deeper are text.
  void start_block_scalar(const LexedLine& line) {
    std::string_view content = text_.substr(line.begin, line.comment - line.begin);
    while (!content.empty() && is_space(content.back())) {
      content.remove_suffix(1);
    }
    while (!content.empty() && (content.back() == '+' || content.back() == '-' ||
                                (content.back() >= '1' && content.back() <= '9'))) {
      content.remove_suffix(1);
    }
    if (content.size() >= 2 && (content.back() == '|' || content.back() == '>') &&
        is_space(content[content.size() - 2])) {
      // `- key: |` is as deep as its key; only deeper lines are text.
      std::uint32_t indent = line.indent;
      std::size_t at = line.begin + line.indent;
      while (at + 1 < line.comment && text_[at] == '-' && is_space(text_[at + 1]) &&
             text_.substr(line.begin, line.comment - line.begin).find(": ") !=
                 std::string_view::npos) {
        const std::size_t next = text_.find_first_not_of(" \t", at + 1);
        indent += static_cast<std::uint32_t>(next - at);
        at = next;
      }
      block_indent_ = static_cast<int>(indent);
    }
  }

  bool in_block_scalar(LexedLine& line, std::size_t at, std::size_t end) {
    if (block_indent_ < 0) {
      return false;
    }
    if (at < end && static_cast<int>(line.indent) <= block_indent_) {
      block_indent_ = -1;
      return false;
    }
    line.inside = line.open_end = true;
    line.content = at < end;
    return true;
  }

  void read_heredoc_word(std::size_t at, std::size_t end) {
    strip_tabs_ = at < end && text_[at] == '-';
    at += strip_tabs_ ? 1 : 0;
    while (at < end && is_space(text_[at])) {
      ++at;
    }
    pending_heredoc_.clear();
    for (; at < end && !is_space(text_[at]) &&
           std::string_view(";&|<>()").find(text_[at]) == std::string_view::npos;
         ++at) {
      if (text_[at] != '"' && text_[at] != '\'' && text_[at] != '\\') {
        pending_heredoc_ += text_[at];
      }
    }
    if (!pending_heredoc_.empty() && pending_heredoc_[0] >= '0' && pending_heredoc_[0] <= '9') {
      pending_heredoc_.clear();  // 1 << 2
    }
  }

  bool heredoc(LexedLine& line, std::size_t begin, std::size_t end) {
    if (heredoc_.empty()) {
      heredoc_ = std::move(pending_heredoc_);
      pending_heredoc_.clear();
      if (heredoc_.empty()) {
        return false;
      }
    }
    std::string_view text = text_.substr(begin, end - begin);
    while (strip_tabs_ && text.starts_with('\t')) {
      text.remove_prefix(1);
    }
    if (text.ends_with('\r')) {
      text.remove_suffix(1);
    }
    if (text == heredoc_) {
      heredoc_.clear();
    }
    line.inside = line.content = line.open_end = true;
    return true;
  }

  std::string_view text_;
  CommentSyntax syntax_;
  std::string quote_;  // what closes the string we are in
  int depth_ = 0;      // brackets
  bool continued_ = false;
  int block_indent_ = -1;
  std::string heredoc_, pending_heredoc_;
  bool strip_tabs_ = false;
};

}  // namespace

std::vector<LexedLine> lex_lines(std::string_view text, CommentSyntax syntax) {
  return Lexer(text, syntax).run();
}

std::size_t node_end(const std::vector<LexedLine>& lines, std::size_t first, CommentSyntax syntax) {
  std::size_t last = first;
  while (last + 1 < lines.size() && lines[last + 1].inside) {
    ++last;
  }
  const bool block =
      syntax == CommentSyntax::yaml || (syntax == CommentSyntax::python && lines[last].opens_block);
  if (!block) {
    return last;
  }
  for (std::size_t i = last + 1; i < lines.size(); ++i) {
    const LexedLine& line = lines[i];
    if (!line.content) {
      continue;
    }
    // In YAML the items of a key's list may stand as far left as the key.
    const bool own_item = syntax == CommentSyntax::yaml && line.item && !lines[first].item &&
                          line.indent == lines[first].indent;
    if (!line.inside && line.indent <= lines[first].indent && !own_item) {
      break;
    }
    last = i;
  }
  return last;
}

}  // namespace shardlint
