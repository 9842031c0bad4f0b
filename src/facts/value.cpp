#include "facts/value.h"

#include <cmath>

#include <fmt/format.h>

namespace shardlint {

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::absent:
      return "fragment";
    case Reason::environment:
      return "env";
    case Reason::interpolation:
      return "interpolation";
    case Reason::argument:
      return "argument";
    case Reason::command:
      return "command";
    case Reason::dynamic:
      return "dynamic-python";
    case Reason::opaque:
      return "opaque";
    case Reason::sourced:
      return "sourced-file";
    case Reason::branch:
      return "branch";
    case Reason::machine:
      return "machine";
    case Reason::bad_type:
      return "bad-type";
    case Reason::undefined:
      return "undefined";
    case Reason::limit:
      return "limit";
  }
  return "unknown";
}

double Value::number() const {
  if (const bool* b = if_bool()) {
    return *b ? 1 : 0;
  }
  if (const auto* i = if_integer()) {
    return static_cast<double>(*i);
  }
  if (const double* d = if_double()) {
    return *d;
  }
  return std::nan("");
}

std::string Value::text() const {
  if (is_null()) {
    return "null";
  }
  if (const bool* b = if_bool()) {
    return *b ? "true" : "false";
  }
  if (const auto* i = if_integer()) {
    return std::to_string(*i);
  }
  if (const double* d = if_double()) {
    std::string out = fmt::format("{}", *d);
    return out;
  }
  if (const std::string* s = if_string()) {
    return *s;
  }
  std::string out;
  if (const List* list = if_list()) {
    for (const Value& item : *list) {
      out += (out.empty() ? "" : ", ") + item.text();
    }
    return "[" + out + "]";
  }
  if (const Map* map = if_map()) {
    for (const auto& [key, item] : *map) {
      out += (out.empty() ? "" : ", ") + key + ": " + item.text();
    }
    return "{" + out + "}";
  }
  const Unknown& u = *if_unknown();
  return fmt::format("<unknown: {}{}{}>", reason_name(u.reason), u.detail.empty() ? "" : ": ",
                     u.detail);
}

bool Value::operator==(const Value& other) const {
  if (is_unknown() || other.is_unknown()) {
    return false;
  }
  if (is_number() && other.is_number()) {
    if (if_integer() && other.if_integer()) {
      return *if_integer() == *other.if_integer();
    }
    return number() == other.number();
  }
  if (data_.index() != other.data_.index()) {
    return false;
  }
  if (const List* list = if_list()) {
    return *list == *other.if_list();
  }
  if (const Map* map = if_map()) {  // order does not matter
    const Map& theirs = *other.if_map();
    if (map->size() != theirs.size()) {
      return false;
    }
    for (const auto& [key, item] : *map) {
      bool found = false;
      for (const auto& [name, value] : theirs) {
        found = found || (name == key && value == item);
      }
      if (!found) {
        return false;
      }
    }
    return true;
  }
  return is_null() || (if_string() && *if_string() == *other.if_string());
}

}  // namespace shardlint
