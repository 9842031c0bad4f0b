#include "frontend/yaml/compose.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include <fmt/format.h>

#include "frontend/yaml/scalar.h"

namespace shardlint::yaml {
namespace {

// What expanding a node costs. Known as soon as the node is complete. Long text counts as several
// nodes: a megabyte under an anchor with a thousand aliases is a bomb too.
struct Cost {
  std::size_t nodes = 1, levels = 1;
};
constexpr std::size_t text_per_node = 64;

struct Stored {
  Node node;
  Cost cost;
  bool open = false;  // a collection that is not complete yet
};

bool merge_key(const Node& key) {
  return key.kind == Node::Kind::scalar && key.style == Node::Style::plain && key.tag.empty() &&
         key.text == "<<";
}

// Keys are the same when every reader takes them for the same value.
std::string identity(const Node& key) {
  const Value value = to_value(key, Mode::pyyaml11);
  return value.if_string() ? fmt::format("s{}", *value.if_string())
                           : fmt::format("v{}", value.text());
}

class Composer {
 public:
  Composer(const Source& source, std::vector<Event>& events, const Limits& limits, Document& out)
      : source_(source),
        events_(events),
        limits_(limits),
        out_(out),
        nodes_(std::make_shared<std::deque<Stored>>()) {
    out_.nodes = nodes_;
  }

  std::optional<Fault> run() {
    for (std::size_t i = 0; i < events_.size() && !fault_; ++i) {
      take(events_[i]);
    }
    return fault_;
  }

 private:
  void take(Event& event) {
    switch (event.kind) {
      case Event::Kind::document:
      case Event::Kind::document_end:
        return;
      case Event::Kind::null:
      case Event::Kind::scalar:
        attach(make(event));
        return;
      case Event::Kind::alias:
        return alias(event);
      case Event::Kind::sequence:
      case Event::Kind::mapping:
        open_.push_back(&make(event));
        open_.back()->open = true;
        keys_.push_back(nullptr);
        return;
      case Event::Kind::sequence_end:
      case Event::Kind::mapping_end:
        return close();
    }
  }

  Stored& make(Event& event) {
    Stored& stored = nodes_->emplace_back();
    Node& node = stored.node;
    switch (event.kind) {
      case Event::Kind::scalar:
        node.kind = Node::Kind::scalar;
        break;
      case Event::Kind::alias:
        node.kind = Node::Kind::alias;
        break;
      case Event::Kind::sequence:
        node.kind = Node::Kind::sequence;
        break;
      case Event::Kind::mapping:
        node.kind = Node::Kind::mapping;
        break;
      default:
        node.kind = Node::Kind::null;
    }
    node.style = event.style;
    node.flow = event.flow;
    node.implicit = event.implicit;
    node.text = std::move(event.text);
    stored.cost.nodes += node.text.size() / text_per_node;
    node.tag = std::move(event.tag);
    node.anchor = std::move(event.name);
    node.span = {&source_, event.begin, event.end};
    node.properties = {&source_, event.properties_begin, event.properties_end};
    node.parent = open_.empty() ? nullptr : &open_.back()->node;
    if (event.anchor && event.kind != Event::Kind::alias) {
      anchors_[event.anchor] = &stored;
    }
    return stored;
  }

  void alias(Event& event) {
    const Stored* target = anchors_[event.anchor];
    Stored& stored = make(event);
    stored.node.text = std::string(stored.node.span.text().substr(1));
    if (!target) {
      return fail("YML111", "yaml-undefined-alias", "no anchor before this alias", stored.node);
    }
    if (target->open) {
      return fail("YML108", "yaml-recursive-alias",
                  fmt::format("*{0} stands inside of &{0}", stored.node.text), stored.node);
    }
    stored.node.definition = &target->node;
    stored.cost = target->cost;
    attach(stored);
  }

  void attach(Stored& child) {
    Cost& cost = open_.empty() ? total_ : open_.back()->cost;
    cost.nodes += child.cost.nodes;
    cost.levels = std::max(cost.levels, child.cost.levels + 1);
    if (cost.nodes > limits_.expanded || cost.levels > 2 * limits_.depth) {
      return too_much(fmt::format("aliases expand to more than {} values or {} levels",
                                  limits_.expanded, 2 * limits_.depth),
                      child.node);
    }
    if (open_.empty()) {
      out_.roots.push_back(&child.node);
      return;
    }
    Stored& holder = *open_.back();
    if (holder.node.kind == Node::Kind::sequence) {
      holder.node.children.push_back(&child.node);
    } else if (!keys_.back()) {
      keys_.back() = &child.node;
    } else {
      holder.node.pairs.push_back({keys_.back(), &child.node});
      keys_.back() = nullptr;
    }
  }

  void close() {
    Stored& stored = *open_.back();
    if (stored.node.kind == Node::Kind::mapping) {
      settle(stored);
    }
    stored.open = false;
    open_.pop_back();
    keys_.pop_back();
    if (!fault_) {
      attach(stored);
    }
  }

  // Merges come first, so that what is written in the mapping itself wins.
  void settle(Stored& stored) {
    Node& node = stored.node;
    std::vector<Pair> all;
    bool merges = false;
    for (const Pair& pair : node.pairs) {
      if (merge_key(*pair.key)) {
        merges = true;
        merge(*pair.value, all);
      }
    }
    if (fault_) {
      return;
    }
    const std::size_t inherited = all.size();
    for (const Pair& pair : node.pairs) {
      if (!merge_key(*pair.key)) {
        all.push_back(pair);
      }
    }
    std::unordered_map<std::string, std::size_t> places;
    std::vector<Pair> unique;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [place, fresh] = places.emplace(identity(*all[i].key), unique.size());
      if (fresh) {
        unique.push_back(all[i]);
        own_.push_back(i >= inherited);
        continue;
      }
      if (i >= inherited && own_[place->second]) {
        out_.duplicates.push_back({&node, unique[place->second], all[i]});
      }
      unique[place->second] = all[i];
      own_[place->second] = i >= inherited;
    }
    own_.clear();
    if (merges || unique.size() < all.size()) {
      node.merged = true;
      node.effective = std::move(unique);
    }
  }

  void merge(const Node& value, std::vector<Pair>& into) {
    if (value.is_mapping()) {
      into.insert(into.end(), value.entries().begin(), value.entries().end());
    } else if (value.is_sequence()) {
      const auto& items = value.items();
      for (auto item = items.rbegin(); item != items.rend() && !fault_; ++item) {
        if (!(*item)->is_mapping()) {
          return fail("YML114", "yaml-bad-merge", "<< takes a mapping or a list of mappings",
                      **item);
        }
        merge(**item, into);
      }
    } else {
      fail("YML114", "yaml-bad-merge", "<< takes a mapping or a list of mappings", value);
    }
    inherited_ += into.size();
    if (inherited_ > limits_.expanded && !fault_) {
      too_much(fmt::format("merges bring more than {} entries", limits_.expanded), value);
    }
  }

  void too_much(const std::string& what, const Node& node) {
    fault_ = Fault{"YML109", "yaml-alias-expansion", what + "; not read",
                   "",       node.span.begin,        node.span.end,
                   true};
  }
  void fail(std::string code, std::string name, std::string message, const Node& node) {
    fault_ = Fault{std::move(code),
                   std::move(name),
                   std::move(message),
                   "",
                   node.span.begin,
                   node.span.end,
                   false};
  }

  const Source& source_;
  std::vector<Event>& events_;
  const Limits& limits_;
  Document& out_;
  std::shared_ptr<std::deque<Stored>> nodes_;
  std::unordered_map<std::size_t, Stored*> anchors_;
  std::vector<Stored*> open_;
  std::vector<const Node*> keys_;
  std::vector<bool> own_;
  std::size_t inherited_ = 0;  // entries copied by merges, in the whole file
  Cost total_;
  std::optional<Fault> fault_;
};

}  // namespace

std::optional<Fault> compose(const Source& source, std::vector<Event>& events, const Limits& limits,
                             Document& out) {
  return Composer(source, events, limits, out).run();
}

}  // namespace shardlint::yaml
