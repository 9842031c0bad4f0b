#include "frontend/yaml/document.h"

#include <algorithm>

#include "frontend/yaml/compose.h"
#include "frontend/yaml/events.h"

namespace shardlint::yaml {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

Diagnostic diagnose(const Source& source, const Fault& fault, std::uint32_t shift) {
  Diagnostic out;
  out.code = fault.code;
  out.name = fault.name;
  out.severity = fault.limit ? Severity::warning : Severity::error;
  out.verdict = fault.limit ? Verdict::unknown : Verdict::violation;
  out.message = fault.message;
  out.help = fault.help;
  const auto size = static_cast<std::uint32_t>(source.text().size());
  const std::uint32_t begin = std::min(fault.begin + shift, size);
  const std::uint32_t end = std::min(fault.end + shift, size);
  out.where = locate({&source, begin, std::max(begin, end)});
  return out;
}

// A lone CR ends a line for every YAML reader but yaml-cpp; offsets stay the same.
std::string normalise_breaks(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\r' && (i + 1 == out.size() || out[i + 1] != '\n')) {
      out[i] = '\n';
    }
  }
  return out;
}

void shift_all(std::vector<Event>& events, std::vector<Range>& comments, std::uint32_t shift) {
  for (Event& event : events) {
    event.begin += shift, event.end += shift;
    event.properties_begin += shift, event.properties_end += shift;
  }
  for (Range& comment : comments) {
    comment.begin += shift, comment.end += shift;
  }
}

bool alone_on_line(const Source& source, std::uint32_t begin) {
  const std::uint32_t line = source.line_begin(source.line_of(begin));
  const std::string_view before = source.text(line, begin);
  return before.find_first_not_of(" \t") == std::string_view::npos || before == byte_order_mark;
}

}  // namespace

std::string_view Node::scalar() const {
  const Node& node = real();
  return node.kind == Kind::scalar ? std::string_view(node.text) : std::string_view();
}

const Pair* Node::entry(std::string_view key) const {
  const std::vector<Pair>& all = entries();
  for (auto pair = all.rbegin(); pair != all.rend(); ++pair) {
    if (pair->key->is_scalar() && pair->key->scalar() == key) {
      return &*pair;
    }
  }
  return nullptr;
}

const Node* Node::find(std::string_view key) const {
  const Pair* pair = entry(key);
  return pair ? pair->value : nullptr;
}

Document read(const Source& source, const Limits& limits) {
  Document out;
  const auto give_up = [&](const Fault& fault, std::uint32_t shift) {
    out.roots.clear();
    out.ok = false;
    out.diagnostics.push_back(diagnose(source, fault, shift));
  };
  if (const auto fault = check_bytes(source.text(), limits)) {
    give_up(*fault, 0);
    return out;
  }
  const bool marked = source.text().starts_with(byte_order_mark);
  const std::uint32_t shift = marked ? 3 : 0;
  const std::string text = normalise_breaks(source.text().substr(shift));

  EventList list = parse_events(text, limits);
  if (list.fault) {
    give_up(*list.fault, shift);
    return out;
  }
  if (const auto fault = place_events(text, list.events)) {
    give_up(*fault, shift);
    return out;
  }
  Trivia trivia = find_trivia(text, list.events);
  shift_all(list.events, trivia.comments, shift);
  for (const Range& comment : trivia.comments) {
    out.comments.push_back(
        {{&source, comment.begin, comment.end}, alone_on_line(source, comment.begin)});
  }
  if (trivia.tab != UINT32_MAX) {
    out.tab = {&source, trivia.tab + shift, trivia.tab + shift + 1};
  }
  if (const auto fault = compose(source, list.events, limits, out)) {
    give_up(*fault, 0);
  }
  return out;
}

}  // namespace shardlint::yaml
