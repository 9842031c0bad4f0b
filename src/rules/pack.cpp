#include "rules/pack.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <libdeflate.h>

#include "base/error.h"

namespace shardlint::rules {
namespace {

constexpr std::string_view magic = "shardlint-rules-3";
constexpr int compression_level = 12;

// Writer and Reader share one description of every structure (`fields` below), so that the two
// cannot drift apart.
class Writer {
 public:
  void raw(const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  }
  void align() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  void operator()(Text& text) {
    const auto [it, fresh] = places_.try_emplace(text, static_cast<std::uint32_t>(strings.size()));
    if (fresh) {
      strings += text;
    }
    const std::uint32_t pair[2] = {it->second, static_cast<std::uint32_t>(text.size())};
    raw(pair, sizeof pair);
  }
  template <typename T>
  void plain(T& value) {
    raw(&value, sizeof value);
  }
  template <typename T>
  void array(std::span<const T>& items) {
    const std::uint64_t count = items.size();
    raw(&count, sizeof count);
    align();
    raw(items.data(), items.size_bytes());
    align();
  }
  std::size_t count(std::size_t size) {
    const auto n = static_cast<std::uint32_t>(size);
    raw(&n, sizeof n);
    return size;
  }

  std::string bytes, strings;

 private:
  std::unordered_map<std::string_view, std::uint32_t> places_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view strings) : bytes_(bytes), strings_(strings) {}
  void raw(void* data, std::size_t size) {
    ensure(size <= bytes_.size() - at_, "the compiled rules end too early");
    std::memcpy(data, bytes_.data() + at_, size);
    at_ += size;
  }
  void align() { at_ = (at_ + 7) / 8 * 8; }
  void operator()(Text& text) {
    std::uint32_t pair[2];
    raw(pair, sizeof pair);
    text = strings_.substr(pair[0], pair[1]);
  }
  template <typename T>
  void plain(T& value) {
    raw(&value, sizeof value);
  }
  template <typename T>
  void array(std::span<const T>& items) {
    std::uint64_t count = 0;
    raw(&count, sizeof count);
    align();
    ensure(at_ <= bytes_.size() && count <= (bytes_.size() - at_) / sizeof(T),
           "the compiled rules end too early");
    items = {reinterpret_cast<const T*>(bytes_.data() + at_), static_cast<std::size_t>(count)};
    at_ += items.size_bytes();
    align();
  }
  std::size_t count(std::size_t) {
    std::uint32_t n = 0;
    raw(&n, sizeof n);
    return n;
  }

 private:
  std::string_view bytes_, strings_;
  std::size_t at_ = 0;
};

template <typename A>
void fields(A& a, Text& x) {
  a(x);
}
template <typename A>
void fields(A& a, bool& x) {
  a.plain(x);
}
template <typename A>
void fields(A& a, double& x) {
  a.plain(x);
}
template <typename A>
void fields(A& a, std::int64_t& x) {
  a.plain(x);
}
template <typename A>
void fields(A& a, std::uint16_t& x) {
  a.plain(x);
}
template <typename A>
void fields(A& a, Severity& x) {
  a.plain(x);
}
template <typename A>
void fields(A& a, Safety& x) {
  a.plain(x);
}

template <typename A, typename... T>
void all(A& a, T&... xs);
template <typename A, typename T>
void fields(A& a, std::vector<T>& items) {
  items.resize(a.count(items.size()));
  for (T& item : items) {
    fields(a, item);
  }
}
template <typename A>
void fields(A& a, Expr& x) {
  a.array(x.nodes);
  a.array(x.kids);
  a(x.strings);
  a(x.source);
}
template <typename A>
void fields(A& a, EvidenceRow& x) {
  all(a, x.repo, x.commit, x.path, x.lines, x.kind);
}
template <typename A>
void fields(A& a, Let& x) {
  all(a, x.name, x.value);
}
template <typename A>
void fields(A& a, Label& x) {
  all(a, x.at, x.text);
}
template <typename A>
void fields(A& a, Position& x) {
  all(a, x.stage, x.place);
}
template <typename A>
void fields(A& a, FixEdit& x) {
  all(a, x.target, x.value);
}
template <typename A>
void fields(A& a, FixRow& x) {
  all(a, x.title, x.edits, x.safe, x.otherwise);
}
template <typename A>
void fields(A& a, Case& x) {
  all(a, x.id, x.framework, x.versions, x.scope, x.position, x.lets, x.when, x.require, x.written,
      x.severity, x.message, x.help, x.note, x.primary, x.fixes, x.evidence, x.covers);
}
template <typename A>
void fields(A& a, Pair& x) {
  all(a, x.key, x.value);
}
template <typename A>
void fields(A& a, Example& x) {
  all(a, x.id, x.framework, x.version, x.expect, x.why, x.text, x.case_id, x.closed, x.argv,
      x.values, x.env, x.fixed, x.world_size, x.gpu, x.fix_safety);
}
template <typename A>
void fields(A& a, Rule& x) {
  all(a, x.id, x.name, x.status, x.since, x.category, x.summary, x.rationale, x.message, x.help,
      x.file, x.severity, x.no_fix, x.tags, x.aliases, x.runtime_errors, x.cases, x.related);
}
template <typename A>
void fields(A& a, Rewrite& x) {
  all(a, x.id, x.framework, x.versions, x.scope, x.position, x.lets, x.when, x.sets, x.derived,
      x.evidence, x.covers);
}
template <typename A>
void fields(A& a, Stages& x) {
  all(a, x.framework, x.names);
}
template <typename A>
void fields(A& a, RuleSet& x) {
  all(a, x.stages, x.rewrites, x.rules);
}

template <typename A, typename... T>
void all(A& a, T&... xs) {
  (fields(a, xs), ...);
}

struct Header {
  char magic[24] = {};
  // Sizes of the parts, in their order: structures, strings, compressed examples; and of the
  // examples' structures and strings.
  std::uint64_t bytes = 0, strings = 0, compressed = 0, example_bytes = 0, example_strings = 0;
};
static_assert(sizeof(Header) % 8 == 0);

using Examples = std::vector<std::vector<Example>>;  // of each rule

std::string compress(const std::string& text) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(compression_level);
  ensure(compressor, "no memory to compress with");
  std::string out(libdeflate_deflate_compress_bound(compressor, text.size()), '\0');
  out.resize(
      libdeflate_deflate_compress(compressor, text.data(), text.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

std::string decompress(std::string_view bytes, std::size_t size) {
  libdeflate_decompressor* decompressor = libdeflate_alloc_decompressor();
  ensure(decompressor, "no memory to decompress with");
  std::string out(size, '\0');
  const auto result = libdeflate_deflate_decompress(decompressor, bytes.data(), bytes.size(),
                                                    out.data(), size, nullptr);
  libdeflate_free_decompressor(decompressor);
  ensure(result == LIBDEFLATE_SUCCESS, "the compiled examples do not decompress");
  return out;
}

Header header_of(std::string_view block) {
  Header header;
  if (block.size() < sizeof header) {
    throw Error("the compiled rules are missing");
  }
  std::memcpy(&header, block.data(), sizeof header);
  if (std::string_view(header.magic) != magic ||
      header.bytes + header.strings + header.compressed != block.size() - sizeof header) {
    throw Error("the compiled rules belong to another build");
  }
  return header;
}

}  // namespace

const Rule* RuleSet::find(std::string_view code_or_name) const {
  for (const Rule& rule : rules) {
    if (rule.id == code_or_name || rule.name == code_or_name ||
        std::find(rule.aliases.begin(), rule.aliases.end(), code_or_name) != rule.aliases.end()) {
      return &rule;
    }
  }
  return nullptr;
}

std::string pack(const RuleSet& rules) {
  RuleSet copy = rules;  // `fields` takes what it could also fill
  Examples examples;
  for (Rule& rule : copy.rules) {
    examples.push_back(std::move(rule.examples));
  }
  Writer writer, example_writer;
  fields(writer, copy);
  writer.align();
  fields(example_writer, examples);
  const std::string compressed = compress(example_writer.bytes + example_writer.strings);
  Header header;
  std::memcpy(header.magic, magic.data(), magic.size());
  header.bytes = writer.bytes.size();
  header.strings = writer.strings.size();
  header.compressed = compressed.size();
  header.example_bytes = example_writer.bytes.size();
  header.example_strings = example_writer.strings.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + writer.bytes +
         writer.strings + compressed;
}

RuleSet unpack(std::string_view block) {
  const Header header = header_of(block);
  Reader reader(block.substr(sizeof header, header.bytes),
                block.substr(sizeof header + header.bytes, header.strings));
  RuleSet rules;
  fields(reader, rules);
  return rules;
}

std::string unpack_examples(std::string_view block, RuleSet& rules) {
  const Header header = header_of(block);
  std::string storage =
      decompress(block.substr(sizeof header + header.bytes + header.strings, header.compressed),
                 header.example_bytes + header.example_strings);
  const std::string_view view = storage;
  Reader reader(view.substr(0, header.example_bytes), view.substr(header.example_bytes));
  Examples examples;
  fields(reader, examples);
  ensure(examples.size() == rules.rules.size(), "the compiled examples are of other rules");
  for (std::size_t i = 0; i < examples.size(); ++i) {
    rules.rules[i].examples = std::move(examples[i]);
  }
  return storage;
}

}  // namespace shardlint::rules
