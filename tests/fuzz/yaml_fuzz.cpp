// Any bytes as YAML: read, judged by dialect, turned to values, edited. What must hold: every place
// lies in the text and children lie in their parents; an edit that is handed out can be read again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "diagnostics/edits.h"
#include "frontend/yaml/dialect.h"
#include "frontend/yaml/edit.h"
#include "frontend/yaml/scalar.h"

using namespace shardlint;

namespace {

void check_node(const yaml::Node& node, const Span& outer, std::vector<const yaml::Node*>& maps) {
  ensure(node.span.begin <= node.span.end, "a node ends before it begins");
  ensure(node.properties.begin <= node.properties.end, "properties end before they begin");
  ensure(outer.begin <= node.span.begin && node.span.end <= outer.end, "a child leaves its parent");
  if (node.kind == yaml::Node::Kind::mapping && !node.pairs.empty()) {
    maps.push_back(&node);
  }
  std::uint32_t last = node.span.begin;
  const auto child = [&](const yaml::Node& next) {
    ensure(last <= next.span.begin || next.implicit, "children are out of order");
    check_node(next, node.span, maps);
    last = next.span.end;
  };
  for (const yaml::Node* item : node.children) {
    child(*item);
  }
  for (const yaml::Pair& pair : node.pairs) {
    child(*pair.key);
    child(*pair.value);
  }
}

void check_edits(const yaml::Document& document, const std::vector<const yaml::Node*>& maps,
                 std::string_view text) {
  static const Value values[] = {1, "text", "1e-4", List{Value("a"), Value(2)}, {}, "x: y #"};
  for (std::size_t i = 0; i < 3; ++i) {
    const yaml::Node& map = *maps[text.size() * (i + 7) % maps.size()];
    const yaml::Pair& pair = map.pairs[text.size() * (i + 3) % map.pairs.size()];
    const yaml::KeyChange change{i == 1 ? "new.key" : std::string(pair.key->scalar()),
                                 values[(text.size() + i) % 6], i == 2};
    const yaml::EditPlan plan = yaml::edit_keys(document, map, {&change, 1}, yaml::Mode::omegaconf);
    if (plan) {
      const Source after("edited.yaml", apply_edits(text, plan.edits).text);
      ensure(yaml::read(after).ok, "an edited file cannot be read");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Source source("fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size));
  const yaml::Document document = yaml::read(source);
  ensure(document.ok != document.roots.empty() || document.ok, "roots of a file that is not read");
  ensure(document.ok || !document.diagnostics.empty(), "refused without a word");
  std::vector<const yaml::Node*> maps;
  for (const yaml::Node* root : document.roots) {
    check_node(*root, {&source, 0, static_cast<std::uint32_t>(size)}, maps);
    for (const auto mode : {yaml::Mode::omegaconf, yaml::Mode::pyyaml11, yaml::Mode::core12}) {
      yaml::to_value(*root, mode).text();
    }
  }
  std::uint32_t last = 0;
  for (const yaml::Comment& comment : document.comments) {
    ensure(last <= comment.span.begin && comment.span.begin < comment.span.end, "comments overlap");
    ensure(comment.span.text()[0] == '#', "a comment that is none");
    last = comment.span.end;
  }
  for (const std::string_view framework : {"", "megatron-bridge", "megatron-lm", "verl"}) {
    for (const Facts& facts : yaml::read_dialect(document, "f.yaml", framework).configurations) {
      ensure(facts.framework == framework || framework.empty(), "another framework than asked");
    }
  }
  if (!maps.empty() && size < 4096) {
    check_edits(document, maps, source.text());
  }
  return 0;
}
