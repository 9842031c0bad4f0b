// An independent judge of places: libyaml reads the same files, and every scalar, alias and
// collection must begin and end at the same byte and decode to the same text. Prints TAP.
// Files: the folders given, and those under $SHARDLINT_CORPUS.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <yaml.h>

#include "diagnostics/edits.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/edit.h"

namespace fs = std::filesystem;
using shardlint::Source;
namespace yaml = shardlint::yaml;

namespace {

struct Item {
  char kind;  // s scalar, n null that is not written, * alias, [ { collections
  std::size_t begin, end;
  std::string text;
  bool block;  // a block collection: readers differ on where it ends
};

// libyaml counts code points; a byte order mark counts none.
std::vector<std::size_t> byte_offsets(const std::string& text) {
  std::vector<std::size_t> out;
  std::size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  for (; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      out.push_back(i);
    }
  }
  out.push_back(text.size());
  return out;
}

std::size_t without_trailing_space(const std::string& text, std::size_t begin, std::size_t end) {
  while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1]))) {
    --end;
  }
  return end;
}

std::optional<std::vector<Item>> theirs(const std::string& text) {
  const std::vector<std::size_t> bytes = byte_offsets(text);
  const auto at = [&](const yaml_mark_t& mark) {
    return bytes[std::min(mark.index, bytes.size() - 1)];
  };
  yaml_parser_t parser;
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  std::vector<Item> items;
  std::vector<std::size_t> open;
  bool ok = true;
  for (bool more = true; more;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) {
      ok = false;
      break;
    }
    const std::size_t begin = at(event.start_mark), end = at(event.end_mark);
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        const bool block =
            scalar.style == YAML_LITERAL_SCALAR_STYLE || scalar.style == YAML_FOLDED_SCALAR_STYLE;
        const bool empty = begin == end && scalar.style == YAML_PLAIN_SCALAR_STYLE;
        items.push_back({empty ? 'n' : 's', begin,
                         block ? without_trailing_space(text, begin, end) : end,
                         std::string(reinterpret_cast<char*>(scalar.value), scalar.length), false});
        break;
      }
      case YAML_ALIAS_EVENT:
        items.push_back({'*', begin, end, "", false});
        break;
      case YAML_SEQUENCE_START_EVENT:
      case YAML_MAPPING_START_EVENT: {
        const bool list = event.type == YAML_SEQUENCE_START_EVENT;
        const bool block = list ? event.data.sequence_start.style != YAML_FLOW_SEQUENCE_STYLE
                                : event.data.mapping_start.style != YAML_FLOW_MAPPING_STYLE;
        open.push_back(items.size());
        items.push_back({list ? '[' : '{', begin, end, "", block});
        break;
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        items[open.back()].end = end;
        open.pop_back();
        break;
      case YAML_STREAM_END_EVENT:
        more = false;
        break;
      default:
        break;
    }
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return ok ? std::optional(std::move(items)) : std::nullopt;
}

void collect(const std::string& text, const yaml::Node& node, std::vector<Item>& out) {
  using Kind = yaml::Node::Kind;
  using Style = yaml::Node::Style;
  const bool marked = node.properties.begin < node.properties.end;
  const std::size_t begin = marked ? node.properties.begin : node.span.begin;
  std::size_t end = node.span.end;
  switch (node.kind) {
    case Kind::null:
      out.push_back({node.implicit && !marked ? 'n' : 's', begin, end, node.text, false});
      return;
    case Kind::scalar:
      if (node.style == Style::literal || node.style == Style::folded) {
        end = without_trailing_space(text, begin, end);
      }
      out.push_back({'s', begin, end, node.text, false});
      return;
    case Kind::alias:
      out.push_back({'*', begin, end, "", false});
      return;
    case Kind::sequence:
      out.push_back({'[', begin, end, "", text[node.span.begin] != '['});
      for (const yaml::Node* item : node.children) {
        collect(text, *item, out);
      }
      return;
    case Kind::mapping:
      out.push_back({'{', begin, end, "", !node.flow});
      for (const yaml::Pair& pair : node.pairs) {
        collect(text, *pair.key, out);
        collect(text, *pair.value, out);
      }
  }
}

// A null that is not written has no place of its own; libyaml's is sometimes that of the next
// token.
bool same_place(const std::string& text, const Item& a, const Item& b) {
  if (a.kind != 'n' || a.begin >= b.begin) {
    return a.begin == b.begin && (a.block || a.end == b.end);
  }
  bool comment = false;
  for (std::size_t i = a.begin; i < b.begin; ++i) {
    comment = text[i] != '\n' && (comment || text[i] == '#');
    if (!comment && !std::isspace(static_cast<unsigned char>(text[i]))) {
      return false;
    }
  }
  return true;
}

struct Tally {
  std::size_t scalars = 0, nulls = 0, aliases = 0, collections = 0, wrong = 0, files = 0;
  std::size_t verdicts = 0, bytes = 0, edits = 0, refused = 0;
  double seconds = 0;
  std::vector<std::string> complaints;
  void complain(const std::string& what) {
    ++wrong;
    if (complaints.size() < 20) {
      complaints.push_back(what);
    }
  }
};

void compare(const std::string& name, const std::string& text, Tally& tally) {
  const std::clock_t start = std::clock();
  const Source source(name, text);
  const yaml::Document document = yaml::read(source);
  tally.seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  tally.bytes += text.size();
  ++tally.files;
  const auto expected = theirs(text);
  if (!expected && document.ok && document.tab) {
    return;  // the dialects refuse it
  }
  if (expected.has_value() != document.ok) {
    ++tally.verdicts;
    return tally.complain(name +
                          (document.ok ? ": refused by libyaml only" : ": refused here only"));
  }
  if (!expected) {
    return;
  }
  std::vector<Item> ours;
  for (const yaml::Node* root : document.roots) {
    collect(text, *root, ours);
  }
  if (ours.size() != expected->size()) {
    return tally.complain(name + ": another number of nodes");
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Item &a = ours[i], &b = (*expected)[i];
    (a.kind == 's'   ? tally.scalars
     : a.kind == 'n' ? tally.nulls
     : a.kind == '*' ? tally.aliases
                     : tally.collections)++;
    const bool same = a.kind == b.kind && a.text == b.text && same_place(text, a, b);
    if (!same) {
      tally.complain(name + ": " + a.kind + std::to_string(a.begin) + "-" + std::to_string(a.end) +
                     " <" + a.text + ">, libyaml " + b.kind + std::to_string(b.begin) + "-" +
                     std::to_string(b.end) + " <" + b.text + ">");
    }
  }
}

void mappings(const yaml::Node& node, std::vector<const yaml::Node*>& out) {
  if (node.kind == yaml::Node::Kind::mapping && !node.pairs.empty()) {
    out.push_back(&node);
  }
  for (const yaml::Node* child : node.children) {
    mappings(*child, out);
  }
  for (const yaml::Pair& pair : node.pairs) {
    mappings(*pair.value, out);
  }
}

// What an edit is judged by: the texts in order, places aside.
std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> out;
  for (const Item& item : theirs(text).value_or(std::vector<Item>())) {
    out.push_back(std::string(1, item.kind == 'n' ? 's' : item.kind) + item.text);
  }
  return out;
}

// How many entries of `longer` are not where `shorter` has them, when one run of it is left out.
std::size_t extra(const std::vector<std::string>& longer, const std::vector<std::string>& shorter) {
  std::size_t head = 0, tail = 0;
  while (head < shorter.size() && longer[head] == shorter[head]) {
    ++head;
  }
  while (tail < shorter.size() - head &&
         longer[longer.size() - 1 - tail] == shorter[shorter.size() - 1 - tail]) {
    ++tail;
  }
  return longer.size() - head - tail;
}

// Sets, inserts and removes random entries; libyaml must see that change and no other.
void edit_randomly(const std::string& name, const std::string& text, std::mt19937& random,
                   Tally& tally) {
  const Source source(name, text);
  const yaml::Document document = yaml::read(source);
  std::vector<const yaml::Node*> all;
  for (const yaml::Node* root : document.roots) {
    mappings(*root, all);
  }
  if (all.empty()) {
    return;
  }
  ++tally.files;
  const std::vector<std::string> before = texts(text);
  static const shardlint::Value values[] = {8, true, "text", "1e-4", "a: b", 0.25, {}, "#x", "[x"};
  for (int round = 0; round < 12; ++round) {
    const yaml::Node& mapping = *all[random() % all.size()];
    const yaml::Pair& pair = mapping.pairs[random() % mapping.pairs.size()];
    const std::string key(pair.key->scalar());
    const bool once = std::count_if(mapping.pairs.begin(), mapping.pairs.end(),
                                    [&](const auto& p) { return p.key->scalar() == key; }) == 1;
    if (!pair.key->is_scalar() || !once || key.find('.') != std::string::npos || key == "<<") {
      continue;
    }
    const int what = round % 3;
    const yaml::KeyChange change{what == 1 ? "new_key" : key, values[random() % 9], what == 2};
    const yaml::EditPlan plan =
        yaml::edit_keys(document, mapping, {&change, 1}, yaml::Mode::pyyaml11);
    if (!plan) {
      ++tally.refused;
      continue;
    }
    const std::string edited = shardlint::apply_edits(text, plan.edits).text;
    const std::vector<std::string> after = texts(edited);
    const bool scalar = pair.value->is_scalar() || pair.value->is_null();
    const bool good = what == 1 ? after.size() == before.size() + 2 && extra(after, before) <= 2
                      : what == 2
                          ? after.size() < before.size() && (!scalar || extra(before, after) <= 2)
                      : scalar ? after.size() == before.size() && extra(after, before) <= 1
                               : after.size() <= before.size();
    ++tally.edits;
    if (!good) {
      tally.complain(name + ": " +
                     (what == 1   ? "insert into "
                      : what == 2 ? "remove "
                                  : "set ") +
                     key + " changed something else");
    }
  }
}

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const auto ending = entry.path().extension();
    if (entry.is_regular_file() && (ending == ".yaml" || ending == ".yml")) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool report(int number, const std::string& what, const Tally& tally) {
  std::printf(
      "%sok %d - %s: %zu files, %zu scalars, %zu implicit nulls, %zu aliases, %zu "
      "collections, %zu differ; %.1f MB per CPU second\n",
      tally.wrong ? "not " : "", number, what.c_str(), tally.files, tally.scalars, tally.nulls,
      tally.aliases, tally.collections, tally.wrong,
      tally.seconds > 0 ? static_cast<double>(tally.bytes) / 1e6 / tally.seconds : 0);
  for (const std::string& complaint : tally.complaints) {
    std::printf("# %s\n", complaint.c_str());
  }
  return tally.wrong == 0;
}

}  // namespace

int main(int count, char** arguments) {
  const char* corpus = std::getenv("SHARDLINT_CORPUS");
  std::printf("1..%d\n", 2 * count);
  bool ok = true;
  for (int i = 1; i <= count; ++i) {
    const char* folder = i < count ? arguments[i] : corpus;
    if (!folder) {
      for (const int number : {2 * i - 1, 2 * i}) {
        std::printf("ok %d # SKIP SHARDLINT_CORPUS names no folder\n", number);
      }
      continue;
    }
    Tally places, edits;
    std::mt19937 random(7);
    for (const fs::path& path : yaml_files(folder)) {
      std::ifstream in(path, std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      compare(path.string(), text.str(), places);
      edit_randomly(path.string(), text.str(), random, edits);
    }
    const std::string name = fs::path(folder).filename().string();
    ok = report(2 * i - 1, "places in " + name, places) && ok;
    ok = edits.wrong == 0 && ok;
    std::printf("%sok %d - edits in %s: %zu files, %zu edits, %zu refused, %zu wrong\n",
                edits.wrong ? "not " : "", 2 * i, name.c_str(), edits.files, edits.edits,
                edits.refused, edits.wrong);
    for (const std::string& complaint : edits.complaints) {
      std::printf("# %s\n", complaint.c_str());
    }
  }
  return ok ? 0 : 1;
}
