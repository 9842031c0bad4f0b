// Brace expansion, {a,b} and {1..3}, and the whole of one written word.

#include <algorithm>

#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
// {a,b} and {1..3}: the alternatives, each as ranges of the script. One alternative: no braces.
std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> Evaluator::braces(
    std::uint32_t begin, std::uint32_t end, int depth) {
  using Range = std::pair<std::uint32_t, std::uint32_t>;
  const std::string_view text = std::string_view(script_->text).substr(0, end);
  const std::vector<std::vector<Range>> plain = {{Range{begin, end}}};
  if (depth > 6) {
    return plain;
  }
  // Skips whatever is quoted or an expansion: a brace in there is none.
  const auto skip = [&](std::uint32_t i) -> std::uint32_t {
    const char c = text[i];
    if (c == '\\') {
      return i + 2;
    }
    if (c == '\'') {
      return static_cast<std::uint32_t>(std::min<std::size_t>(text.find('\'', i + 1), end)) + 1;
    }
    if (c == '"') {
      return end_of_double_quote(text, i + 1) + 1;
    }
    if (c == '`') {
      return end_of_backtick(text, i + 1) + 1;
    }
    if (c == '$' && i + 1 < end && text[i + 1] == '{') {
      return end_of_parameter(text, i + 2) + 1;
    }
    if (c == '$' && i + 1 < end && text[i + 1] == '(') {
      return end_of_command_substitution(text, i + 2) + 1;
    }
    return i;
  };
  for (std::uint32_t i = begin; i < end; ++i) {
    if (const std::uint32_t after = skip(i); after != i) {
      i = after - 1;
      continue;
    }
    if (text[i] != '{') {
      continue;
    }
    int open = 0;
    std::vector<Range> parts;
    std::uint32_t part = i + 1, close = 0;
    for (std::uint32_t k = i + 1; k < end; ++k) {
      if (const std::uint32_t after = skip(k); after != k) {
        k = after - 1;
      } else if (text[k] == '{') {
        ++open;
      } else if (text[k] == '}' && open-- == 0) {
        parts.emplace_back(part, k);
        close = k;
        break;
      } else if (text[k] == ',' && open == 0) {
        parts.emplace_back(part, k);
        part = k + 1;
      }
    }
    if (close == 0 || parts.size() < 2) {
      continue;  // as it stands; an inner pair may still be one
    }
    std::vector<std::vector<Range>> out;
    const auto tails = braces(close + 1, end, depth + 1);
    for (const Range& each : parts) {
      for (const auto& middle : braces(each.first, each.second, depth + 1)) {
        for (const auto& tail : tails) {
          if (out.size() >= 256) {
            return plain;
          }
          std::vector<Range> all = {Range{begin, i}};
          all.insert(all.end(), middle.begin(), middle.end());
          all.insert(all.end(), tail.begin(), tail.end());
          out.push_back(std::move(all));
        }
      }
    }
    return out;
  }
  return plain;
}

std::vector<Field> Evaluator::expand_word(const Token& token) {
  WordBuilder out;
  out.written = span(token.begin, token.end);
  if (!step() || depth_ > 150) {
    return {};
  }
  ++depth_;
  const std::string_view text = script_->view(token);
  // {1..8} alone or within a word
  const std::size_t dots = text.find("..");
  const std::size_t brace = text.rfind('{', dots);
  if (dots != std::string_view::npos && brace != std::string_view::npos &&
      (brace == 0 || text[brace - 1] != '$')) {
    const std::size_t close = text.find('}', dots);
    const auto integer = [](std::string_view digits) -> std::optional<long> {
      if (digits.empty() || digits.size() > 6 ||
          digits.find_first_not_of("0123456789", digits[0] == '-' ? 1 : 0) !=
              std::string_view::npos ||
          digits == "-") {
        return std::nullopt;
      }
      return std::stol(std::string(digits));
    };
    if (close != std::string_view::npos) {
      const auto from = integer(text.substr(brace + 1, dots - brace - 1));
      const auto to = integer(text.substr(dots + 2, close - dots - 2));
      if (from && to && std::labs(*to - *from) < 1024 &&
          text.find_first_of("'\"\\") == std::string_view::npos) {
        const long way = *to < *from ? -1 : 1;
        for (long n = *from;; n += way) {
          expand_range(out, token.begin, token.begin + static_cast<std::uint32_t>(brace), false);
          put(out, notes_.computed(std::to_string(n), out.written), true);
          expand_range(out, token.begin + static_cast<std::uint32_t>(close) + 1, token.end, false);
          out.finish(notes_);
          if (n == *to) {
            break;
          }
        }
        --depth_;
        return std::move(out.done);
      }
    }
  }
  if (text.find('{') != std::string_view::npos && text.find(',') != std::string_view::npos) {
    for (const auto& alternative : braces(token.begin, token.end, 0)) {
      for (const auto& [begin, end] : alternative) {
        expand_range(out, begin, end, false);
      }
      out.finish(notes_);
    }
  } else {
    // NAME=~/x as an argument: bash expands the tilde where NAME could be a variable.
    const std::size_t name = name_length(text);
    expand_range(out, token.begin, token.end, name > 0 && name < text.size() && text[name] == '=');
    out.finish(notes_);
  }
  if (out.done.size() == 1 && out.done[0].cut_out) {  // $N: one word, written here
    out.done[0].written = out.written;
    out.done[0].cut_out = false;
  }
  --depth_;
  return std::move(out.done);
}

}  // namespace shardlint::shell
