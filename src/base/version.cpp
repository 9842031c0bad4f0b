#include "base/version.h"

#include <cctype>

#include "base/strings.h"

namespace shardlint {
namespace {

// A key is: epoch, 8 release numbers, pre kind, pre number, post, dev; missing parts take the
// value that puts them where PEP 440 wants them (1.0.dev1 < 1.0a1 < 1.0 < 1.0.post1).
constexpr std::size_t release_parts = 8;
constexpr std::int64_t no_pre = 9, dev_only = -1, no_post = -1, no_dev = INT64_MAX;

struct Cursor {
  std::string_view rest;
  bool eat(std::string_view word) {
    if (!rest.starts_with(word)) {
      return false;
    }
    rest.remove_prefix(word.size());
    return true;
  }
  std::optional<std::int64_t> number() {
    std::size_t n = 0;
    while (n < rest.size() && n < 15 && std::isdigit(static_cast<unsigned char>(rest[n]))) {
      ++n;
    }
    if (n == 0) {
      return {};
    }
    const auto value = to_integer(rest.substr(0, n));
    rest.remove_prefix(n);
    return value;
  }
  void separator() {
    if (!rest.empty() && (rest[0] == '.' || rest[0] == '-' || rest[0] == '_')) {
      rest.remove_prefix(1);
    }
  }
};

}  // namespace

std::optional<Version> Version::parse(std::string_view text) {
  const std::string lowered = lower(trim(text));
  Cursor at{lowered};
  at.eat("v");
  auto first = at.number();
  if (!first) {
    return {};
  }
  std::int64_t epoch = 0;
  if (at.eat("!")) {
    epoch = *first;
    first = at.number();
    if (!first) {
      return {};
    }
  }
  std::vector<std::int64_t> key{epoch, *first};
  while (at.rest.size() > 1 && at.rest[0] == '.' &&
         std::isdigit(static_cast<unsigned char>(at.rest[1]))) {
    at.eat(".");
    key.push_back(*at.number());
  }
  if (key.size() > release_parts + 1) {
    return {};
  }
  key.resize(release_parts + 1, 0);
  std::int64_t pre = no_pre, pre_number = 0, post = no_post, dev = no_dev;
  while (!at.rest.empty() && at.rest[0] != '+') {
    at.separator();
    const auto suffix = [&](std::initializer_list<std::string_view> words) {
      for (const auto word : words) {
        if (at.eat(word)) {
          at.separator();
          return true;
        }
      }
      return false;
    };
    if (suffix({"alpha", "a"})) {
      pre = 0, pre_number = at.number().value_or(0);
    } else if (suffix({"beta", "b"})) {
      pre = 1, pre_number = at.number().value_or(0);
    } else if (suffix({"preview", "pre", "rc", "c"})) {
      pre = 2, pre_number = at.number().value_or(0);
    } else if (suffix({"post", "rev", "r"})) {
      post = at.number().value_or(0);
    } else if (suffix({"dev"})) {
      dev = at.number().value_or(0);
    } else {
      return {};
    }
  }
  if (pre == no_pre && post == no_post && dev != no_dev) {
    pre = dev_only;
  }
  key.insert(key.end(), {pre, pre_number, post, dev});
  return Version{std::string(trim(text)), std::move(key)};
}

std::optional<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  range.text = std::string(trim(text));
  if (range.text.empty() || range.text == "*") {
    return range;
  }
  using Op = Bound::Op;
  constexpr std::pair<std::string_view, Op> ops[] = {{">=", Op::ge}, {"<=", Op::le}, {"==", Op::eq},
                                                     {"!=", Op::ne}, {">", Op::gt},  {"<", Op::lt}};
  for (std::string_view part : split(range.text, ',')) {
    part = trim(part);
    bool found = false;
    for (const auto& [sign, op] : ops) {
      if (part.starts_with(sign)) {
        auto version = Version::parse(part.substr(sign.size()));
        if (!version) {
          return {};
        }
        range.bounds.push_back({op, std::move(*version)});
        found = true;
        break;
      }
    }
    if (!found) {
      return {};
    }
  }
  return range;
}

bool VersionRange::contains(const Version& version) const {
  for (const Bound& bound : bounds) {
    const auto order = version <=> bound.version;
    using Op = Bound::Op;
    const bool ok = bound.op == Op::ge   ? order >= 0
                    : bound.op == Op::gt ? order > 0
                    : bound.op == Op::le ? order <= 0
                    : bound.op == Op::lt ? order < 0
                    : bound.op == Op::eq ? order == 0
                                         : order != 0;
    if (!ok) {
      return false;
    }
  }
  return true;
}

std::string package_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

}  // namespace shardlint
