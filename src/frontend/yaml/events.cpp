#include "frontend/yaml/events.h"

#include <sstream>

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "frontend/yaml/lexical.h"

namespace shardlint::yaml {
namespace {

struct Stop {
  Fault fault;
};

// Collects the events and pulls the brake: yaml-cpp 0.7 has no bound on documents (a stray comma
// makes it begin the same empty document for ever) and a generous one on depth.
class Recorder final : public YAML::EventHandler {
 public:
  Recorder(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}
  std::vector<Event> events;

  void OnDocumentStart(const YAML::Mark& mark) override {
    const std::uint32_t at = offset(mark);
    if (documents_++ > 0 && at <= last_start_) {
      throw Stop{stray(at)};
    }
    last_start_ = at;
    add(Event::Kind::document, mark);
  }
  void OnDocumentEnd() override { add(Event::Kind::document_end, YAML::Mark::null_mark()); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    node(Event::Kind::null, mark, {}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    node(Event::Kind::alias, mark, {}, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    node(Event::Kind::scalar, mark, tag, anchor).text = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Event::Kind::sequence, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(Event::Kind::sequence_end); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Event::Kind::mapping, mark, tag, anchor, style);
  }
  void OnMapEnd() override { close(Event::Kind::mapping_end); }
  void OnAnchor(const YAML::Mark&, const std::string& name) override { anchor_name_ = name; }

  std::uint32_t offset(const YAML::Mark& mark) const {
    const auto size = static_cast<std::uint32_t>(text_.size());
    return mark.pos < 0 ? size : std::min(static_cast<std::uint32_t>(mark.pos), size);
  }

 private:
  Event& add(Event::Kind kind, const YAML::Mark& mark) {
    Event& event = events.emplace_back();
    event.kind = kind;
    event.mark = event.begin = event.end = offset(mark);
    return event;
  }
  Event& node(Event::Kind kind, const YAML::Mark& mark, const std::string& tag,
              YAML::anchor_t anchor) {
    if (++nodes_ > limits_.nodes) {
      throw Stop{{"YML113", "yaml-too-many-nodes",
                  "more than " + std::to_string(limits_.nodes) + " values in one file; not read",
                  "split the file", offset(mark), offset(mark), true}};
    }
    Event& event = add(kind, mark);
    event.anchor = anchor;
    event.tag = tag == "?" ? "" : tag;
    if (kind != Event::Kind::alias) {
      event.name = anchor ? anchor_name_ : "";
      anchor_name_.clear();
    }
    return event;
  }
  void open(Event::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    if (++depth_ > limits_.depth) {
      throw Stop{too_deep(offset(mark))};
    }
    node(kind, mark, tag, anchor).flow = style == YAML::EmitterStyle::Flow;
  }
  void close(Event::Kind kind) {
    --depth_;
    add(kind, YAML::Mark::null_mark());
  }
  Fault stray(std::uint32_t at) const {
    const bool comma = char_at(text_, at) == ',';
    return {comma ? "YML112" : "YML100",
            comma ? "yaml-stray-comma" : "yaml-syntax",
            comma ? "a comma outside of brackets" : "text that belongs to no value",
            "",
            at,
            std::min(at + 1, static_cast<std::uint32_t>(text_.size())),
            false};
  }
  Fault too_deep(std::uint32_t at) const {
    return {"YML107",
            "yaml-too-deep",
            "nested more than " + std::to_string(limits_.depth) + " levels deep; not read",
            "",
            at,
            at,
            true};
  }

  std::string_view text_;
  const Limits& limits_;
  std::string anchor_name_;
  std::size_t depth_ = 0, nodes_ = 0, documents_ = 0;
  std::uint32_t last_start_ = 0;

  friend EventList shardlint::yaml::parse_events(std::string_view, const Limits&);
};

}  // namespace

EventList parse_events(std::string_view text, const Limits& limits) {
  Recorder recorder(text, limits);
  EventList out;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(recorder)) {
    }
  } catch (const Stop& stop) {
    out.fault = stop.fault;
  } catch (const YAML::DeepRecursion& deep) {
    out.fault = recorder.too_deep(recorder.offset(deep.mark));
  } catch (const YAML::Exception& error) {
    out.fault = explain_fault(text, error.msg, recorder.offset(error.mark), recorder.events);
  }
  out.events = std::move(recorder.events);
  return out;
}

}  // namespace shardlint::yaml
