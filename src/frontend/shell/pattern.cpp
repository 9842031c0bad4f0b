// Patterns of case, [[ == ]] and ${NAME#...}.

#include <algorithm>

#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

bool is_special(const Char& c) {
  return !c.has(Char::quoted);
}

// The end of the bracket expression that begins at `i`, or `i` when it is none.
std::size_t bracket_end(const Text& pattern, std::size_t i) {
  for (std::size_t k = i + 2; k < pattern.size(); ++k) {
    if (pattern.chars[k].c == ']' && is_special(pattern.chars[k])) {
      return k;
    }
  }
  return i;
}

bool bracket_matches(const Text& pattern, std::size_t begin, std::size_t end, char c) {
  std::size_t i = begin + 1;
  const bool not_in = pattern.chars[i].c == '!' || pattern.chars[i].c == '^';
  i += not_in ? 1 : 0;
  const std::string set = pattern.slice(i, end).plain();
  bool in = false;
  for (std::size_t k = 0; k < set.size(); ++k) {
    if (set.compare(k, 2, "[:") == 0) {
      const std::size_t close = set.find(":]", k);
      if (close != std::string::npos) {
        const std::string name = set.substr(k + 2, close - k - 2);
        const unsigned char u = static_cast<unsigned char>(c);
        in = in || (name == "digit" && std::isdigit(u)) || (name == "alpha" && std::isalpha(u)) ||
             (name == "alnum" && std::isalnum(u)) || (name == "space" && std::isspace(u)) ||
             (name == "upper" && std::isupper(u)) || (name == "lower" && std::islower(u));
        k = close + 1;
        continue;
      }
    }
    if (k + 2 < set.size() && set[k + 1] == '-') {
      in = in || (set[k] <= c && c <= set[k + 2]);
      k += 2;
    } else {
      in = in || set[k] == c;
    }
  }
  return in != not_in;
}

}  // namespace

Truth matches(const Text& pattern, const Text& text) {
  if (!pattern.known()) {
    return Truth::unknown;
  }
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (is_special(pattern.chars[i]) && pattern.chars[i + 1].c == '(' &&
        is_special(pattern.chars[i + 1]) &&
        std::string_view("?*+@!").find(pattern.chars[i].c) != std::string_view::npos) {
      return Truth::unknown;  // an extended pattern
    }
  }
  if (!text.known()) {
    const bool all =
        !pattern.empty() && std::all_of(pattern.chars.begin(), pattern.chars.end(),
                                        [](const Char& c) { return c.c == '*' && is_special(c); });
    if (all) {
      return Truth::yes;
    }
    // What is known at the front may already differ.
    for (std::size_t i = 0; i < std::min(pattern.size(), text.size()); ++i) {
      const Char &p = pattern.chars[i], &t = text.chars[i];
      if ((is_special(p) && (p.c == '*' || p.c == '?' || p.c == '[')) ||
          t.has(Char::unknown | Char::conditional)) {
        break;
      }
      if (p.c != t.c) {
        return Truth::no;
      }
    }
    return Truth::unknown;
  }
  std::size_t p = 0, t = 0, star = std::string::npos, mark = 0;
  while (t < text.size()) {
    const char c = text.chars[t].c;
    bool hit = false;
    if (p < pattern.size()) {
      const Char& at = pattern.chars[p];
      if (is_special(at) && at.c == '*') {
        star = p++;
        mark = t;
        continue;
      }
      if (is_special(at) && at.c == '[') {
        const std::size_t end = bracket_end(pattern, p);
        if (end > p) {
          hit = bracket_matches(pattern, p, end, c);
          p = hit ? end : p;
        } else {
          hit = c == '[';
        }
      } else {
        hit = (is_special(at) && at.c == '?') || at.c == c;
      }
    }
    if (hit) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return Truth::no;
    }
  }
  while (p < pattern.size() && is_special(pattern.chars[p]) && pattern.chars[p].c == '*') {
    ++p;
  }
  return truth(p == pattern.size());
}

}  // namespace shardlint::shell
