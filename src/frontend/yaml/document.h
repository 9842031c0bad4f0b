#pragma once
// One YAML file as a tree in which everything knows where it stands: every key, value, collection,
// anchor and comment has its exact bytes [begin, end). Nothing is interpreted here; scalars are
// text and a style (scalar.h turns them into values, as the reader of the file would).
//
// A file that cannot be read gives no roots and a diagnostic that says why, with a place:
//   YML100 yaml-syntax           not YAML
//   YML101 yaml-too-large        above Limits::bytes (not read)
//   YML102 yaml-encoding         UTF-16 or UTF-32
//   YML103 yaml-invalid-utf8     a byte that is not UTF-8
//   YML104 yaml-control-character  NUL and other characters that YAML forbids
//   YML105 yaml-byte-order-mark  a byte order mark inside the file
//   YML106 yaml-tab-indentation  a tab where YAML wants blanks
//   YML107 yaml-too-deep         nested above Limits::depth (not read)
//   YML108 yaml-recursive-alias  an anchor that contains itself
//   YML109 yaml-alias-expansion  aliases that expand to more than Limits::expanded (not read)
//   YML110 yaml-unterminated-quote
//   YML111 yaml-undefined-alias
//   YML112 yaml-stray-comma      an item or key is missing before a comma
//   YML113 yaml-too-many-nodes   above Limits::nodes (not read)
//   YML114 yaml-bad-merge        `<<` of something that is no mapping
//   YML115 yaml-unclosed-bracket
//   YML116 yaml-line-separator   NEL, LS or PS: a line break for some readers only (not read)
//   YML117 yaml-unplaced         read, but not found again in the file (a fault of ours; not read)
//   YML118 yaml-anchor-name      a name that the frameworks' reader would cut short
// Duplicate keys are no fault of the document: it keeps them, the dialect judges them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"
#include "source/source.h"

namespace shardlint::yaml {

struct Node;

struct Pair {
  const Node* key = nullptr;
  const Node* value = nullptr;
};

// What a node is as written. An alias stands for its definition; the member functions below see
// through it.
struct Node {
  enum class Kind { null, scalar, sequence, mapping, alias };
  enum class Style { plain, single_quoted, double_quoted, literal, folded };

  Kind kind = Kind::null;
  Style style = Style::plain;    // of scalars
  bool flow = false;             // a collection in brackets, or inside one
  bool implicit = false;         // a null that is not written
  std::string text;              // scalar: decoded; null: as written; alias: its name
  std::string tag;               // resolved ("tag:yaml.org,2002:str"); empty for none
  std::string anchor;            // without &
  Span span;                     // the content: quotes and brackets included, tag and anchor not;
                                 // a block scalar ends before the last line's break
  Span properties;               // tag and anchor; empty for none
  const Node* parent = nullptr;  // the collection that holds it
  const Node* definition = nullptr;   // of an alias; never null there, never an ancestor
  std::vector<const Node*> children;  // sequence items
  std::vector<Pair> pairs;            // mapping entries as written: duplicates, `<<` and all
  std::vector<Pair> effective;        // what entries() answers where it differs from pairs
  bool merged = false;                // a mapping with `<<` or duplicates: see effective

  const Node& real() const { return kind == Kind::alias ? *definition : *this; }
  bool is_null() const { return real().kind == Kind::null; }
  bool is_scalar() const { return real().kind == Kind::scalar; }
  bool is_sequence() const { return real().kind == Kind::sequence; }
  bool is_mapping() const { return real().kind == Kind::mapping; }

  // The decoded text of a scalar, else empty.
  std::string_view scalar() const;
  // Items of a sequence, else none.
  const std::vector<const Node*>& items() const { return real().children; }
  // The entries in force: merges done (explicit keys win), of duplicates the last.
  const std::vector<Pair>& entries() const {
    return real().merged ? real().effective : real().pairs;
  }
  // The value, or the whole entry, of a key that is a scalar with this text; null when absent.
  const Node* find(std::string_view key) const;
  const Pair* entry(std::string_view key) const;
};

struct Comment {
  Span span;           // from the # to the end of the line, without the line break
  bool alone = false;  // nothing but blanks before it on its line
};

// A key that its mapping already had.
struct Duplicate {
  const Node* mapping = nullptr;
  Pair first, again;
};

struct Limits {
  std::size_t bytes = 4u << 20;
  std::size_t depth = 90;            // nested collections
  std::size_t nodes = 250'000;       // in the file
  std::size_t expanded = 1'000'000;  // with every alias replaced by a copy
};

// Owns its nodes; they stay where they are when the document is moved.
struct Document {
  std::vector<const Node*> roots;  // one a document of the stream; a null node for an empty one
  std::vector<Comment> comments;   // in order
  std::vector<Duplicate> duplicates;
  Span tab;  // the first tab outside of quotes, comments and blocks; PyYAML refuses any (YML106)
  std::vector<Diagnostic> diagnostics;
  bool ok = true;  // false: roots is empty, a diagnostic says why
  std::shared_ptr<const void> nodes;

  // The only or the first document; null when there is none.
  const Node* root() const { return roots.empty() ? nullptr : roots.front(); }
};

// `source` must outlive the document. Never throws on what it reads.
Document read(const Source& source, const Limits& limits = {});

}  // namespace shardlint::yaml
