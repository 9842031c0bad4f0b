#include "verify/events.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace shardlint::verify {
namespace {
using nlohmann::json;

const json* member(const json& object, const char* name) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

std::string text(const json& object, const char* name) {
  const json* value = member(object, name);
  if (!value || !value->is_string()) {
    return {};
  }
  return value->get_ref<const std::string&>().substr(0, 4096);
}

std::optional<double> number(const json& object, const char* name) {
  const json* value = member(object, name);
  if (!value || !value->is_number()) {
    return {};
  }
  const double result = value->get<double>();
  return std::isfinite(result) ? std::optional<double>(result) : std::nullopt;
}

int integer(const json& object, const char* name, int fallback) {
  const auto value = number(object, name);
  return value && std::abs(*value) < 1e9 ? static_cast<int>(*value) : fallback;
}

}  // namespace

std::optional<Event> parse_event(std::string_view line) {
  static constexpr std::string_view kinds[] = {"hello", "phase", "step",  "alive",
                                               "check", "error", "report"};
  if (line.empty() || line.front() != '{') {
    return {};
  }
  // Depth first: the parser recurses no further than its own stack of containers, but a report is
  // shallow, and a line of a million brackets is no event.
  int depth = 0;
  json::parser_callback_t shallow = [&](int level, json::parse_event_t, json&) {
    depth = std::max(depth, level);
    return level < 32;
  };
  const json object = json::parse(line, shallow, false);
  if (!object.is_object() || depth >= 32) {
    return {};
  }
  Event event;
  event.kind = text(object, "event");
  if (std::find(std::begin(kinds), std::end(kinds), event.kind) == std::end(kinds)) {
    return {};
  }
  event.t = number(object, "t").value_or(0);
  event.rank = integer(object, "rank", -1);
  event.phase = text(object, "phase");
  event.detail = text(object, "detail");
  event.run = text(object, "run");
  event.step = integer(object, "step", 0);
  event.loss = number(object, "loss");
  event.grad_norm = number(object, "grad_norm");
  event.ms = number(object, "ms");
  event.error = event.kind == "error" ? text(object, "kind") : "";
  event.message = text(object, "message");
  if (const json* ranks = member(object, "ranks"); ranks && ranks->is_array()) {
    for (const json& rank : *ranks) {
      if (event.ranks.size() < 4096) {
        event.ranks.push_back({integer(rank, "rank", -1), text(rank, "phase"), text(rank, "detail"),
                               number(rank, "idle_s").value_or(0)});
      }
    }
  }
  if (const json* check = member(object, "check")) {
    event.name = text(*check, "name");
    event.verdict = text(*check, "verdict");
    event.reason = text(*check, "reason");
    event.seconds = number(*check, "seconds").value_or(0);
  }
  if (const json* report = member(object, "report"); report && report->is_object()) {
    event.report = report->dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return event;
}

std::vector<std::string> Lines::feed(std::string_view bytes) {
  std::vector<std::string> out;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (pending_.size() + piece.size() > longest) {
      overlong_ = true;
      pending_.clear();
    } else {
      pending_ += piece;
    }
    if (end == std::string_view::npos) {
      break;
    }
    out.push_back(std::move(pending_));
    pending_.clear();
    bytes.remove_prefix(end + 1);
  }
  return out;
}

std::string Lines::rest() {
  return std::exchange(pending_, {});
}

void Log::add(std::string_view line) {
  bytes_ += line.size() + 1;
  line = line.substr(0, 8192);
  if (head_.size() + line.size() < half_) {
    (head_ += line) += '\n';
    return;
  }
  (tail_ += line) += '\n';
  if (tail_.size() > 2 * half_) {
    const auto cut = tail_.find('\n', tail_.size() - half_);
    const std::size_t gone = cut == std::string::npos ? tail_.size() - half_ : cut + 1;
    dropped_ += gone;
    tail_.erase(0, gone);
  }
}

std::string Log::text() const {
  if (dropped_ == 0) {
    return head_ + tail_;
  }
  return head_ + "[" + std::to_string(dropped_) + " bytes left out]\n" + tail_;
}

}  // namespace shardlint::verify
