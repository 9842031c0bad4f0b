// Where each event begins and ends in the text.

#include <algorithm>

#include "frontend/yaml/events.h"
#include "frontend/yaml/lexical.h"

namespace shardlint::yaml {
namespace {

struct Frame {
  std::size_t event = 0;  // its start
  bool mapping = false, flow = false, brackets = false;
  int indent = -1;  // column of the content
  // Of mappings:
  bool key_next = true, fresh = true;
  bool marked = false;  // the key at hand began with ?
  Offset key_begin = 0;
};

class Placer {
 public:
  Placer(std::string_view text, std::vector<Event>& events) : text_(text), events_(events) {}

  std::optional<Fault> run() {
    for (std::size_t i = 0; i < events_.size() && !fault_; ++i) {
      place(i);
    }
    return fault_;
  }

 private:
  void place(std::size_t i) {
    Event& event = events_[i];
    const bool node = event.kind != Event::Kind::sequence_end &&
                      event.kind != Event::Kind::mapping_end &&
                      event.kind != Event::Kind::document_end;
    if (node && !frames_.empty() && frames_.back().mapping && frames_.back().key_next) {
      begin_key(frames_.back(), event);
    }
    switch (event.kind) {
      case Event::Kind::document:
        return document(event);
      case Event::Kind::document_end:
        event.begin = event.end = last_;
        return;
      case Event::Kind::scalar:
        return scalar(event);
      case Event::Kind::null:
        return null(i);
      case Event::Kind::alias:
        event.begin = event.mark;
        event.end = alias_end(text_, event.begin);
        check_name(event.begin, event.end);
        return done(event);
      case Event::Kind::sequence:
      case Event::Kind::mapping:
        return open(i);
      case Event::Kind::sequence_end:
      case Event::Kind::mapping_end:
        return close(event);
    }
  }

  // yaml-cpp begins a new document wherever the old one cannot go on; YAML wants a line --- (or the
  // line ... before).
  void document(Event& event) {
    if (seen_document_ && text_.substr(event.mark, 3) != "---") {
      bool ended = false;
      for (Offset line = next_line(text_, last_); line <= event.mark && line < text_.size();
           line = next_line(text_, line)) {
        ended = ended || text_.substr(line, 3) == "...";
      }
      if (!ended) {
        fail("YML100", "yaml-syntax", "text after the end of the value; expected a line ---",
             event.mark, std::max(event.mark, line_end(text_, event.mark)));
      }
    }
    check_directives(last_, event.mark);
    seen_document_ = true;
    last_ = std::max(last_, event.mark);
    if (text_.substr(event.mark, 3) == "---") {
      last_ = event.mark + 3;
    }
    event.end = event.begin;
  }

  // Lines with % before a document: yaml-cpp passes over those it does not know.
  void check_directives(Offset from, Offset to) {
    for (Offset line = from == 0 ? 0 : next_line(text_, from); line < to;
         line = next_line(text_, line)) {
      const std::string_view rest = text_.substr(line, to - line);
      const bool known = rest.starts_with("%YAML ") || rest.starts_with("%TAG ");
      if (rest[0] == '%' && (!known || text_.substr(to, 3) != "---")) {
        return fail("YML100", "yaml-syntax",
                    known ? "a directive needs a line --- after it"
                          : "a line that begins with % is a directive; this is none",
                    line, line_end(text_, line));
      }
    }
  }

  void scalar(Event& event) {
    const Properties found = properties(event);
    event.begin = found.content;
    if (event.tag == "!" && !found.tag) {
      event.tag.clear();  // yaml-cpp's word for "quoted"
    }
    const char c = char_at(text_, event.begin);
    Offset end = nowhere;
    if (event.text.empty() && found.end > found.begin && c != '"' && c != '\'' && c != '|' &&
        c != '>') {
      event.begin = end = found.end;  // a tag or anchor alone
      event.implicit = true;
    } else if (c == '"' || c == '\'') {
      event.style = c == '"' ? Node::Style::double_quoted : Node::Style::single_quoted;
      end = quoted_end(text_, event.begin);
    } else if ((c == '|' || c == '>') && !in_flow()) {
      event.style = c == '|' ? Node::Style::literal : Node::Style::folded;
      end = block_end(text_, event.begin, block_indent());
    } else {
      end = plain_end(text_, event.begin, event.text);
    }
    if (end == nowhere) {
      if (c == '"' || c == '\'') {
        fail("YML110", "yaml-unterminated-quote", "a quote that is never closed", event.begin,
             line_end(text_, event.begin));
      } else {
        fail("YML117", "yaml-unplaced", "cannot tell where this value ends", event.begin,
             line_end(text_, event.begin));
      }
      return;
    }
    event.end = end;
    done(event);
  }

  void null(std::size_t i) {
    Event& event = events_[i];
    const Properties found = properties(event);
    const Offset length = null_word(found.content);
    if (length > 0 && found.content >= last_ && next_mark(i) != event.mark) {
      event.begin = found.content;
      event.end = event.begin + length;
      event.text = std::string(text_.substr(event.begin, length));
      return done(event);
    }
    event.implicit = true;
    const bool bare = found.end == found.begin;
    event.begin = event.end = bare ? implicit_place() : found.end;
    if (bare && !frames_.empty()) {
      check_absence(frames_.back(), event);
    }
    done(event);
  }

  void begin_key(Frame& frame, const Event& event) {
    const Offset from =
        frame.fresh && !frame.brackets ? events_[frame.event].begin : skip_gap(text_, last_, ",");
    frame.marked =
        char_at(text_, from) == '?' && (from + 1 >= text_.size() || is_space(text_[from + 1]));
    frame.fresh = false;
    frame.key_begin = event.mark;
  }

  // yaml-cpp takes more for empty than YAML does.
  void check_absence(const Frame& frame, const Event& event) {
    const Offset at = std::min<Offset>(event.mark, size()), end = std::min<Offset>(at + 1, size());
    if (!frame.mapping) {
      if (frame.brackets) {
        fail("YML112", "yaml-stray-comma", "an item is missing here", at, end);
      }
    } else if (frame.key_next) {
      if (!frame.marked) {
        const bool comma = char_at(text_, at) == ',';
        fail(comma ? "YML112" : "YML100", comma ? "yaml-stray-comma" : "yaml-syntax",
             "a key is missing here", at, end);
      }
    } else if (!frame.brackets && !frame.marked && !value_mark(skip_gap(text_, last_))) {
      fail("YML100", "yaml-syntax", "no ':' after this key", frame.key_begin,
           std::max(frame.key_begin, last_));
    }
  }

  // A colon that is no beginning of a plain scalar, as in ":x".
  bool value_mark(Offset at) const {
    const char next = char_at(text_, at + 1);
    return char_at(text_, at) == ':' &&
           (at + 1 >= size() || is_space(next) || (in_flow() && is_flow_indicator(next)));
  }

  // After the colon or dash that announces the value.
  Offset implicit_place() const {
    if (frames_.empty()) {
      return last_;
    }
    const Offset next = skip_gap(text_, last_);
    if (frames_.back().mapping) {
      const bool announced =
          frames_.back().key_next ? char_at(text_, next) == '?' : value_mark(next);
      return announced ? next + 1 : last_;
    }
    return !frames_.back().flow && char_at(text_, next) == '-' ? next + 1 : last_;
  }

  Offset null_word(Offset at) const {
    const Offset length = char_at(text_, at) == '~' ? 1 : 4;
    const std::string_view word = text_.substr(std::min(at, size()), length);
    return word == "~" || word == "null" || word == "Null" || word == "NULL" ? length : 0;
  }

  void open(std::size_t i) {
    Event& event = events_[i];
    const Properties found =
        skip_properties(text_, event.mark, event.anchor ? 1 : 0, event.tag.empty() ? 0 : 1);
    keep(event, found);
    check_names(found);
    event.begin = event.end = found.content;
    const char c = char_at(text_, event.begin);
    Frame frame;
    frame.event = i;
    frame.mapping = event.kind == Event::Kind::mapping;
    // A pair in a list, [a: b], is a mapping without brackets; it may begin with a bracket.
    frame.brackets = event.flow && c == (frame.mapping ? '{' : '[') && next_mark(i) != event.mark;
    frame.flow = frame.brackets || event.flow || in_flow();
    if (!frame.flow) {  // in one line of flow collections this search would add up
      frame.indent = static_cast<int>(event.begin - line_start(text_, event.begin));
    }
    event.flow = frame.flow;
    if (frame.brackets) {
      last_ = event.begin + 1;
    } else {
      last_ = std::max(last_, found.end);
    }
    frames_.push_back(frame);
  }

  void close(Event& event) {
    const Frame frame = frames_.back();
    frames_.pop_back();
    Event& start = events_[frame.event];
    event.begin = event.end = last_;
    if (frame.brackets) {
      const Offset bracket = skip_gap(text_, last_, ",:?");
      if (char_at(text_, bracket) != (frame.mapping ? '}' : ']')) {
        return fail("YML117", "yaml-unplaced", "cannot tell where this list or mapping ends",
                    start.begin, start.begin + 1);
      }
      event.begin = bracket;
      event.end = bracket + 1;
    }
    start.end = std::max(start.begin, event.end);
    event.end = start.end;
    done(event);
  }

  Properties properties(Event& event) {
    const Properties found = skip_properties(text_, event.mark, event.anchor ? 1 : 0, 1);
    keep(event, found);
    check_names(found);
    return found;
  }
  // yaml-cpp takes any character in a name; to PyYAML a name ends at the first that is no letter,
  // digit, - or _, which it then refuses or takes for something else.
  void check_name(Offset begin, Offset end) {
    for (Offset p = begin + 1; p < end; ++p) {
      const char c = text_[p];
      const bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || c == '-' || c == '_';
      if (!fine) {
        return fail("YML118", "yaml-anchor-name",
                    "the name of an anchor or alias goes on after its letters and digits", p, end);
      }
    }
  }
  void check_names(const Properties& found) {
    for (Offset p = found.begin; p < found.end; ++p) {
      if (text_[p] == '&' && (p == found.begin || is_space(text_[p - 1]))) {
        check_name(p, alias_end(text_, p));
      }
    }
  }
  static void keep(Event& event, const Properties& found) {
    event.properties_begin = found.begin;
    event.properties_end = found.end;
  }

  void done(const Event& event) {
    last_ = std::max(last_, event.end);
    if (!frames_.empty()) {
      frames_.back().key_next = !frames_.back().key_next;
    }
  }
  bool in_flow() const { return !frames_.empty() && frames_.back().flow; }
  int block_indent() const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (!frame->flow) {
        return frame->indent;
      }
    }
    return -1;
  }
  std::uint32_t next_mark(std::size_t i) const {
    for (std::size_t j = i + 1; j < events_.size(); ++j) {
      const Event::Kind kind = events_[j].kind;
      if (kind == Event::Kind::mapping_end || kind == Event::Kind::sequence_end) {
        continue;
      }
      return kind == Event::Kind::document_end ? nowhere : events_[j].mark;
    }
    return nowhere;
  }
  Offset size() const { return static_cast<Offset>(text_.size()); }
  void fail(std::string code, std::string name, std::string message, Offset begin, Offset end) {
    fault_ = Fault{std::move(code), std::move(name), std::move(message), "", begin, end, false};
  }

  std::string_view text_;
  std::vector<Event>& events_;
  std::vector<Frame> frames_;
  std::optional<Fault> fault_;
  Offset last_ = 0;  // the end of what was placed last
  bool seen_document_ = false;
};

}  // namespace

std::optional<Fault> place_events(std::string_view text, std::vector<Event>& events) {
  return Placer(text, events).run();
}

// Between the tokens every # begins a comment. Inside a block scalar only its header can have one.
Trivia find_trivia(std::string_view text, const std::vector<Event>& events) {
  std::vector<Range> tokens;
  Trivia out;
  for (const Event& event : events) {
    const bool scalar = event.kind == Event::Kind::scalar || event.kind == Event::Kind::alias;
    if (scalar && event.end > event.begin) {
      tokens.push_back({event.begin, event.end});
      const std::string_view written = text.substr(event.begin, event.end - event.begin);
      const bool block = event.style == Node::Style::literal || event.style == Node::Style::folded;
      const std::string_view header = written.substr(0, block ? written.find('\n') : 0);
      if (const auto hash = header.find('#'); hash != std::string_view::npos) {
        const Offset begin = event.begin + static_cast<Offset>(hash);
        out.comments.push_back({begin, line_end(text, begin)});
      }
      const bool plain = event.style == Node::Style::plain;
      if (const auto tab = (plain ? written : header).find('\t'); tab != std::string_view::npos) {
        out.tab = std::min(out.tab, event.begin + static_cast<Offset>(tab));
      }
    }
    if (event.properties_end > event.properties_begin) {
      tokens.push_back({event.properties_begin, event.properties_end});
    }
  }
  const auto earlier = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  std::sort(tokens.begin(), tokens.end(), earlier);
  std::size_t token = 0;
  for (Offset p = 0; p < text.size();) {
    while (token < tokens.size() && tokens[token].end <= p) {
      ++token;
    }
    if (token < tokens.size() && p >= tokens[token].begin) {
      p = tokens[token].end;
    } else if (text[p] == '#') {
      const Offset end = line_end(text, p);
      out.comments.push_back({p, end});
      p = end;
    } else if (text[p] == '%' && (p == 0 || text[p - 1] == '\n')) {
      const auto hash = text.substr(p, line_end(text, p) - p).find(" #");
      p = hash == std::string_view::npos ? line_end(text, p) : p + static_cast<Offset>(hash) + 1;
    } else {
      out.tab = text[p] == '\t' ? std::min(out.tab, p) : out.tab;
      ++p;
    }
  }
  std::sort(out.comments.begin(), out.comments.end(), earlier);
  return out;
}

}  // namespace shardlint::yaml
