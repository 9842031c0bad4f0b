#include "frontend/yaml/edit.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnostics/edits.h"
#include "frontend/yaml/compare.h"
#include "frontend/yaml/lexical.h"
#include "frontend/yaml/write.h"

namespace shardlint::yaml {
namespace {

// Keys that are to be made below one mapping, nested as they will be.
struct Branch {
  std::string key;
  std::optional<Value> value;  // of a leaf
  std::vector<Branch> below;
};

void grow(std::vector<Branch>& branches, std::span<const std::string_view> path,
          const Value& value) {
  auto it = std::find_if(branches.begin(), branches.end(),
                         [&](const Branch& branch) { return branch.key == path[0]; });
  if (it == branches.end()) {
    it = branches.insert(it, Branch{std::string(path[0]), std::nullopt, {}});
  }
  if (path.size() == 1) {
    it->value = value;
  } else {
    grow(it->below, path.subspan(1), value);
  }
}

bool same_value(const Value& a, const Value& b) {
  return a.text() == b.text() && a.is_null() == b.is_null() && !a.if_bool() == !b.if_bool() &&
         !a.if_string() == !b.if_string();
}

// Some node from here down has an anchor that an alias uses, or stands below one that has.
bool is_shared(const Node& tree, const Node& anchored) {
  if (tree.kind == Node::Kind::alias) {
    return tree.definition == &anchored;
  }
  for (const Node* child : tree.children) {
    if (is_shared(*child, anchored)) {
      return true;
    }
  }
  return std::any_of(tree.pairs.begin(), tree.pairs.end(), [&](const Pair& pair) {
    return is_shared(*pair.key, anchored) || is_shared(*pair.value, anchored);
  });
}

class Planner {
 public:
  Planner(const Document& document, const Node& mapping, Mode mode)
      : document_(document),
        top_(mapping),
        mode_(mode),
        source_(*mapping.span.source),
        text_(source_.text()) {}

  EditPlan keys(std::span<const KeyChange> changes) {
    for (const KeyChange& change : changes) {
      if (!change.remove && change.value.is_unknown()) {
        return refuse("the value is not known");
      }
      const std::vector<std::string_view> path = split(change.key, '.');
      if (!descend(top_, path, change)) {
        return refuse(refusal_);
      }
      std::vector<std::string> place = place_of(top_);
      for (const std::string_view part : path) {
        place.push_back(fmt::format("k{}", part));
      }
      touched_.push_back(std::move(place));
    }
    for (const bool at_end : {true, false}) {
      std::vector<Edit> edits = edits_;
      for (const auto& [mapping, branches] : insertions_) {
        for (Edit& edit : insert(*mapping, branches, at_end)) {
          edits.push_back(std::move(edit));
        }
      }
      if ((at_end && is_simple(edits)) || holds(edits, changes)) {
        return {std::move(edits), ""};
      }
    }
    return refuse("the file could not be changed without side effects");
  }

  EditPlan entry(const Node& mapping, const Pair& pair) {
    if (shared(*pair.value) || !remove(mapping, pair)) {
      return refuse(refusal_);
    }
    const Source after("", apply_edits(text_, edits_).text);
    const Document document = read(after);
    const Node* now = document.ok ? node_at(document, place_of(mapping)) : nullptr;
    std::vector<std::string> place = place_of(mapping);
    const std::size_t left = mapping.pairs.size() - 1;
    const bool fewer = left == 0 || (now && now->pairs.size() == left);
    place.push_back(
        fmt::format("k{}", pair.key->is_scalar() ? pair.key->scalar() : pair.key->span.text()));
    if (!document.ok || !fewer || !same_except(document_, document, {place})) {
      return refuse("the entry could not be deleted without side effects");
    }
    return {std::move(edits_), ""};
  }

 private:
  static EditPlan refuse(std::string why) { return {{}, std::move(why)}; }
  bool no(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  bool shared(const Node& node) {
    for (const Node* at = &node; at; at = at->parent) {
      if (!at->anchor.empty()) {
        for (const Node* root : document_.roots) {
          if (is_shared(*root, *at)) {
            refusal_ = fmt::format("&{} is used elsewhere too", at->anchor);
            return true;
          }
        }
      }
    }
    return false;
  }

  bool descend(const Node& mapping, std::span<const std::string_view> path,
               const KeyChange& change) {
    const Pair* pair = nullptr;
    for (const Pair& own : mapping.pairs) {
      pair = own.key->is_scalar() && own.key->scalar() == path[0] ? &own : pair;
    }
    if (!pair) {
      if (change.remove) {
        return no("there is no such key");
      }
      if (shared(mapping)) {
        return false;
      }
      auto it = std::find_if(insertions_.begin(), insertions_.end(),
                             [&](const auto& row) { return row.first == &mapping; });
      if (it == insertions_.end()) {
        it = insertions_.insert(it, {&mapping, {}});
      }
      grow(it->second, path, change.value);
      return true;
    }
    if (path.size() > 1) {
      if (pair->value->kind == Node::Kind::mapping) {
        return descend(*pair->value, path.subspan(1), change);
      }
      if (pair->value->kind != Node::Kind::null || change.remove) {
        return no(fmt::format("'{}' is no section that can be edited", path[0]));
      }
      Branch section{std::string(path[0]), std::nullopt, {}};
      grow(section.below, path.subspan(1), change.value);
      edits_are_plain_ = false;
      return fill(mapping, *pair, section);
    }
    if (shared(*pair->value)) {
      return false;
    }
    if (change.remove) {
      edits_are_plain_ = false;
      return remove(mapping, *pair);
    }
    const Node& old = *pair->value;
    const std::string value = write_value(change.value, mode_, &old);
    edits_are_plain_ = edits_are_plain_ && old.is_scalar() && !old.implicit && old.span.begin > 0 &&
                       text_[old.span.begin - 1] == ' ' &&  // not {"a":"b"}
                       old.properties.begin == old.properties.end &&
                       old.span.text().find('\n') == std::string_view::npos &&
                       value.find_first_of(": \r\n") == std::string::npos;
    set(mapping, *pair, value);
    return true;
  }

  // The colon after a key, as the offset behind it; none in {key} and "? key".
  std::optional<Offset> after_colon(const Pair& pair) const {
    const Offset colon = skip_gap(text_, pair.key->span.end);
    return char_at(text_, colon) == ':' && colon < end_of(pair) ? std::optional(colon + 1)
                                                                : std::nullopt;
  }
  static Offset begin_of(const Node& node) {
    return node.properties.begin < node.properties.end ? node.properties.begin : node.span.begin;
  }
  static Offset end_of(const Node& node) {
    return std::max(node.span.end,
                    node.properties.begin < node.properties.end ? node.properties.end : Offset{0});
  }
  static Offset end_of(const Pair& pair) {
    return std::max(end_of(*pair.value), end_of(*pair.key));
  }

  void edit(Offset begin, Offset end, std::string text) {
    edits_.push_back({locate({&source_, begin, end}), std::move(text)});
  }

  void set(const Node&, const Pair& pair, const std::string& value) {
    const Node& old = *pair.value;
    const auto colon = after_colon(pair);
    if (old.implicit && old.properties.begin == old.properties.end) {
      return edit(old.span.begin, old.span.begin, (colon ? " " : ": ") + value);
    }
    const bool block =
        (old.kind == Node::Kind::mapping || old.kind == Node::Kind::sequence) && !old.flow;
    if (block && colon && trim(text_.substr(*colon, begin_of(old) - *colon)).empty()) {
      return edit(*colon, end_of(old), " " + value);
    }
    edit(begin_of(old), end_of(old), value);
  }

  // A section whose value is null gets its first keys.
  bool fill(const Node& mapping, const Pair& pair, const Branch& section) {
    if (shared(*pair.value)) {
      return false;
    }
    const Node& old = *pair.value;
    if (mapping.flow) {
      set(mapping, pair, flow_text(section.below));
      return true;
    }
    const std::string text =
        fmt::format("{}{}", line_break(end_of(pair)),
                    block_text(section.below, column(mapping) + step(), line_break(end_of(pair))));
    if (!old.implicit) {
      edit(old.span.begin, old.span.end, "");
    }
    const Offset end = line_end(text_, end_of(pair));
    edit(end, end, text);
    return true;
  }

  bool remove(const Node& mapping, const Pair& pair) {
    const auto& pairs = mapping.pairs;
    const auto it = std::find_if(pairs.begin(), pairs.end(),
                                 [&](const Pair& own) { return own.key == pair.key; });
    if (it == pairs.end()) {
      return no("the key comes through a merge");
    }
    const Offset begin = begin_of(*pair.key);
    const bool last = it + 1 == pairs.end();
    if (pairs.size() == 1) {
      mapping.flow ? edit(begin, end_of(pair), "") : empty(mapping);
    } else if (mapping.flow) {
      last ? edit(end_of(*(it - 1)), end_of(pair), "") : edit(begin, begin_of(*(it + 1)->key), "");
    } else if (trim(text_.substr(line_start(text_, begin), begin - line_start(text_, begin)))
                   .empty()) {
      Offset end = next_line(text_, std::max(begin, end_of(pair)));
      Offset from = line_start(text_, begin);
      if (end == text_.size() && !text_.ends_with('\n') && from > 0) {
        from = line_end(text_, from - 1);  // the last line had no break: the one before goes
      }
      edit(from, end, "");
    } else if (!last) {
      edit(begin, begin_of(*(it + 1)->key), "");
    } else {
      return no("the entry shares its line");
    }
    return true;
  }

  // A block mapping that loses its only entry becomes {}.
  void empty(const Node& mapping) {
    for (const Pair& pair : mapping.parent ? mapping.parent->pairs : std::vector<Pair>()) {
      const auto colon = pair.value == &mapping ? after_colon(pair) : std::nullopt;
      if (colon && trim(text_.substr(*colon, begin_of(mapping) - *colon)).empty()) {
        return edit(*colon, end_of(mapping), " {}");
      }
    }
    edit(mapping.span.begin, mapping.span.end, "{}");
  }

  std::vector<Edit> insert(const Node& mapping, const std::vector<Branch>& branches, bool at_end) {
    std::vector<Edit> kept;
    kept.swap(edits_);
    if (mapping.flow && mapping.pairs.empty()) {
      edit(mapping.span.begin + 1, mapping.span.begin + 1, flow_inner(branches));
    } else if (mapping.flow) {
      const Offset end = end_of(mapping.pairs.back());
      edit(end, end, fmt::format(",{}{}", flow_gap(mapping), flow_inner(branches)));
    } else if (at_end) {
      const Offset end = line_end(text_, end_of(mapping.pairs.back()));
      const std::string nl = line_break(end);
      edit(end, end, nl + block_text(branches, column(mapping), nl));
    } else {
      const Offset begin = begin_of(*mapping.pairs.front().key);
      const std::string nl = line_break(begin);
      const std::string lines = block_text(branches, column(mapping), nl);
      edit(begin, begin, lines.substr(column(mapping)) + nl + std::string(column(mapping), ' '));
    }
    kept.swap(edits_);
    return kept;
  }

  // Between a comma and the next key: as between the last two keys, or as after the bracket.
  std::string flow_gap(const Node& mapping) const {
    const Offset key = begin_of(*mapping.pairs.back().key);
    const Offset line = line_start(text_, key);
    return line > mapping.span.begin && trim(text_.substr(line, key - line)).empty()
               ? line_break(key) + std::string(key - line, ' ')
               : " ";
  }

  std::string flow_inner(const std::vector<Branch>& branches) const {
    std::string out;
    for (const Branch& branch : branches) {
      out += (out.empty() ? "" : ", ") + write_value(branch.key, mode_) + ": " +
             (branch.value ? write_value(*branch.value, mode_) : flow_text(branch.below));
    }
    return out;
  }
  std::string flow_text(const std::vector<Branch>& branches) const {
    return "{" + flow_inner(branches) + "}";
  }
  // Lines without the last one's break.
  std::string block_text(const std::vector<Branch>& branches, std::size_t indent,
                         const std::string& nl) const {
    std::string out;
    for (const Branch& branch : branches) {
      out += fmt::format("{}{}{}:", out.empty() ? "" : nl, std::string(indent, ' '),
                         write_value(branch.key, mode_));
      out += branch.value ? " " + write_value(*branch.value, mode_)
                          : nl + block_text(branch.below, indent + step(), nl);
    }
    return out;
  }

  std::size_t column(const Node& mapping) const {
    const Offset start = line_start(text_, mapping.span.begin);
    return mapping.span.begin - (start == 0 && text_.starts_with("\xef\xbb\xbf") ? 3 : start);
  }

  // What the document indents by: the first nested mapping's columns beyond its holder's.
  std::size_t step() const {
    const Node* root = document_.root();
    for (const Pair& pair : root ? root->pairs : std::vector<Pair>()) {
      const Node& value = *pair.value;
      if (value.kind == Node::Kind::mapping && !value.flow && column(value) > column(*root)) {
        return column(value) - column(*root);
      }
    }
    return 2;
  }

  std::string line_break(Offset at) const {
    Offset end = line_end(text_, at);
    if (end >= text_.size() && end > 0) {
      end = line_end(text_, line_start(text_, at) > 0 ? line_start(text_, at) - 1 : 0);
    }
    return char_at(text_, end) == '\r' ? "\r\n" : "\n";
  }

  // Edits that leave no doubt, so that the text need not be read again: a plain word for a scalar
  // of one line, and new lines of plain words below the last entry of a block mapping.
  bool is_simple(const std::vector<Edit>& edits) const {
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const bool ends_plainly =
        std::all_of(insertions_.begin(), insertions_.end(), [&](const auto& insertion) {
          return !insertion.first->flow && !ends_in_block_scalar(*insertion.first);
        });
    return ends_plainly && insertions_.size() <= 1 && edits_are_plain_ &&
           std::all_of(edits.begin(), edits.end(), [&](const Edit& edit) {
             const bool starts = edit.text.find_first_not_of(" \r\n") != std::string::npos;
             return starts && std::all_of(edit.text.begin(), edit.text.end(), [&](char c) {
                      return is_word(c) || c == ' ' || c == ':' || c == '\r' || c == '\n';
                    });
           });
  }
  static bool ends_in_block_scalar(const Node& node) {
    if (node.kind == Node::Kind::mapping) {
      return node.pairs.empty() || ends_in_block_scalar(*node.pairs.back().value);
    }
    if (node.kind == Node::Kind::sequence) {
      return node.children.empty() || ends_in_block_scalar(*node.children.back());
    }
    const std::string_view text = node.span.text();
    return text.starts_with('|') || text.starts_with('>');
  }

  bool holds(const std::vector<Edit>& edits, std::span<const KeyChange> changes) const {
    const Edited edited = apply_edits(text_, edits);
    if (!edited.skipped.empty()) {
      return false;
    }
    const Source after("", edited.text);
    const Document document = read(after);
    if (!document.ok || !same_except(document_, document, touched_)) {
      return false;
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Node* node = node_at(document, touched_[i]);
      if (changes[i].remove ? node != nullptr
                            : !node || !same_value(to_value(*node, mode_), changes[i].value)) {
        return false;
      }
    }
    return comments_kept(document, edits);
  }

  // Comments may go only with the lines that an edit deletes.
  bool comments_kept(const Document& after, const std::vector<Edit>& edits) const {
    std::size_t next = 0;
    for (const Comment& comment : document_.comments) {
      const bool deleted = std::any_of(edits.begin(), edits.end(), [&](const Edit& edit) {
        return edit.where.begin.offset <= comment.span.begin &&
               comment.span.end <= edit.where.end.offset;
      });
      if (deleted) {
        continue;
      }
      if (next >= after.comments.size() ||
          after.comments[next].span.text() != comment.span.text()) {
        return false;
      }
      ++next;
    }
    return next == after.comments.size();
  }

  const Document& document_;
  const Node& top_;
  Mode mode_;
  const Source& source_;
  std::string_view text_;
  std::vector<Edit> edits_;
  std::vector<std::pair<const Node*, std::vector<Branch>>> insertions_;
  std::vector<std::vector<std::string>> touched_;
  std::string refusal_;
  bool edits_are_plain_ = true;  // those in edits_ put words for scalars of one line
};

}  // namespace

EditPlan edit_keys(const Document& document, const Node& mapping,
                   std::span<const KeyChange> changes, Mode mode) {
  if (mapping.kind != Node::Kind::mapping || changes.empty()) {
    return {{}, "nothing to change"};
  }
  return Planner(document, mapping, mode).keys(changes);
}

EditPlan remove_entry(const Document& document, const Node& mapping, const Pair& pair) {
  return Planner(document, mapping, Mode::core12).entry(mapping, pair);
}

}  // namespace shardlint::yaml
