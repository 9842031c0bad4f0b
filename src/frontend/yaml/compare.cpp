#include "frontend/yaml/compare.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardlint::yaml {
namespace {

using Path = std::vector<std::string>;

// A component is "k" and a key as it means, or "i" and an index.
std::string component(const Node& key) {
  return key.kind == Node::Kind::alias
             ? fmt::format("k*{}", key.text)
             : fmt::format("k{}", key.is_scalar() ? key.scalar() : key.span.text());
}

struct Line {
  Path path;
  std::string what;
};

class Lines {
 public:
  explicit Lines(const std::vector<Path>& except) : except_(except) {}
  std::vector<Line> out;

  void document(const Document& document) {
    for (std::size_t i = 0; i < document.roots.size(); ++i) {
      path_.push_back(fmt::format("i{}", i));
      node(*document.roots[i]);
      path_.pop_back();
    }
  }

 private:
  void node(const Node& node) {
    if (excepted()) {
      return;
    }
    const bool above = above_excepted();
    std::string what = fmt::format("{} {} ", node.tag, node.anchor);
    if (!above) {
      what += fmt::format("{} {} {} {}", static_cast<int>(node.kind), static_cast<int>(node.style),
                          node.flow, node.text);
    }
    out.push_back({path_, std::move(what)});
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      path_.push_back(fmt::format("i{}", i));
      this->node(*node.children[i]);
      path_.pop_back();
    }
    for (const Pair& pair : node.pairs) {
      path_.push_back(component(*pair.key));
      if (!excepted()) {
        key(*pair.key);
        this->node(*pair.value);
      }
      path_.pop_back();
    }
  }

  void key(const Node& key) {
    out.push_back({path_, fmt::format("key {} {} {} {}", key.tag, key.anchor,
                                      static_cast<int>(key.style), key.span.text())});
  }
  bool excepted() const {
    return std::any_of(except_.begin(), except_.end(), [&](const Path& path) {
      return path.size() <= path_.size() && std::equal(path.begin(), path.end(), path_.begin());
    });
  }
  bool above_excepted() const {
    return std::any_of(except_.begin(), except_.end(), [&](const Path& path) {
      return path.size() > path_.size() && std::equal(path_.begin(), path_.end(), path.begin());
    });
  }

  const std::vector<Path>& except_;
  Path path_;
};

// Sections that an edit makes or empties are on one side only.
void drop_sections(std::vector<Line>& lines, const std::vector<Path>& except,
                   const Document& other) {
  std::erase_if(lines, [&](const Line& line) {
    const bool above = std::any_of(except.begin(), except.end(), [&](const Path& path) {
      return path.size() > line.path.size() &&
             std::equal(line.path.begin(), line.path.end(), path.begin());
    });
    return above && !node_at(other, line.path);
  });
}

}  // namespace

std::vector<std::string> place_of(const Node& node) {
  Path path;
  const Node* child = &node;
  for (const Node* at = node.parent; at; child = at, at = at->parent) {
    if (at->kind == Node::Kind::sequence) {
      const auto it = std::find(at->children.begin(), at->children.end(), child);
      path.push_back(fmt::format("i{}", it - at->children.begin()));
    } else {
      for (const Pair& pair : at->pairs) {
        if (pair.value == child) {
          path.push_back(component(*pair.key));
        }
      }
    }
  }
  path.push_back("i0");
  std::reverse(path.begin(), path.end());
  return path;
}

const Node* node_at(const Document& document, const std::vector<std::string>& path) {
  const Node* at = nullptr;
  for (std::size_t depth = 0; depth < path.size(); ++depth) {
    const std::string& part = path[depth];
    if (depth > 0 && at->kind == Node::Kind::mapping) {
      const Node* next = nullptr;
      for (const Pair& pair : at->pairs) {
        next = component(*pair.key) == part ? pair.value : next;
      }
      at = next;
    } else {
      const auto& items = depth == 0 ? document.roots : at->children;
      const std::size_t index = part[0] == 'i' ? std::stoul(part.substr(1)) : items.size();
      at = index < items.size() ? items[index] : nullptr;
    }
    if (!at) {
      return nullptr;
    }
  }
  return at;
}

bool same_except(const Document& before, const Document& after,
                 const std::vector<std::vector<std::string>>& except) {
  Lines a(except), b(except);
  a.document(before);
  b.document(after);
  drop_sections(a.out, except, after);
  drop_sections(b.out, except, before);
  return std::equal(
      a.out.begin(), a.out.end(), b.out.begin(), b.out.end(),
      [](const Line& x, const Line& y) { return x.path == y.path && x.what == y.what; });
}

}  // namespace shardlint::yaml
