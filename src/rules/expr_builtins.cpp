#include "rules/expr_builtins.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/version.h"
#include "rules/expr_megatron.h"

namespace shardlint::rules {
namespace {

using Arguments = std::span<const Value>;

Value integer(double value) {
  return static_cast<std::int64_t>(value);
}

// int(): truncates numbers, reads decimal strings.
Value to_int(Arguments a) {
  if (const std::string* text = a[0].if_string()) {
    const auto value = to_integer(trim(*text));
    return value ? Value(static_cast<std::int64_t>(*value)) : bad_type("not an integer: " + *text);
  }
  if (a[0].if_integer()) {
    return a[0];
  }
  const double value = a[0].number();
  return std::isfinite(value) && std::abs(value) < 9e18 ? integer(std::trunc(value))
                                                        : bad_type("not an integer");
}

Value to_float(Arguments a) {
  if (const std::string* text = a[0].if_string()) {
    const auto value = to_double(trim(*text));
    return value ? Value(*value) : bad_type("not a number: " + *text);
  }
  return a[0].is_number() ? Value(a[0].number()) : bad_type("not a number");
}

Value length(Arguments a) {
  if (const List* list = a[0].if_list()) {
    return static_cast<std::int64_t>(list->size());
  }
  if (const Map* map = a[0].if_map()) {
    return static_cast<std::int64_t>(map->size());
  }
  if (const std::string* text = a[0].if_string()) {
    return static_cast<std::int64_t>(text->size());
  }
  return a[0].is_null() ? undefined() : bad_type("has no length");
}

List distinct(const List& items) {
  List out;
  for (const Value& item : items) {
    if (std::find(out.begin(), out.end(), item) == out.end()) {
      out.push_back(item);
    }
  }
  return out;
}

Value to_list(Arguments a) {
  if (a.empty()) {
    return List{};
  }
  if (a[0].if_list()) {
    return a[0];
  }
  List out;
  if (const std::string* text = a[0].if_string()) {
    for (const char c : *text) {
      out.push_back(std::string(1, c));
    }
    return out;
  }
  if (const Map* map = a[0].if_map()) {
    for (const auto& [key, value] : *map) {
      out.push_back(key);
    }
    return out;
  }
  return a[0].is_null() ? undefined() : bad_type("cannot be iterated");
}

Value to_set(Arguments a) {
  const Value list = to_list(a);
  return list.if_list() ? Value(distinct(*list.if_list())) : list;
}

Value fold(Arguments a, bool largest) {
  const List* items = a.size() == 1 ? a[0].if_list() : nullptr;
  const Arguments values = items ? Arguments(*items) : a;
  if (values.empty()) {
    return bad_type("no values to choose from");
  }
  Value best = values[0];
  for (const Value& value : values.subspan(1)) {
    const Value o = order(value, best);
    if (o.is_unknown()) {
      return o;
    }
    if ((largest && *o.if_integer() > 0) || (!largest && *o.if_integer() < 0)) {
      best = value;
    }
  }
  return best;
}

Value sum(Arguments a) {
  const List* items = a[0].if_list();
  if (!items) {
    return bad_type("sum of something that is no list");
  }
  double total = 0;
  bool whole = true;
  std::int64_t count = 0;
  for (const Value& item : *items) {
    if (!item.is_number()) {
      return item.is_null() ? undefined() : bad_type("sum of something that is no number");
    }
    whole = whole && !item.if_double();
    total += item.number();
    std::int64_t term = item.if_integer() ? *item.if_integer() : item.if_bool() && *item.if_bool();
    if (__builtin_add_overflow(count, term, &count)) {
      return bad_type("the sum is too large");
    }
  }
  return whole ? Value(count) : Value(total);
}

Value product(Arguments a) {
  const List* items = a[0].if_list();
  if (!items) {
    return bad_type("product of something that is no list");
  }
  std::int64_t total = 1;
  for (const Value& item : *items) {
    if (!item.if_integer() || __builtin_mul_overflow(total, *item.if_integer(), &total)) {
      return bad_type("product of something that is no integer, or too large");
    }
  }
  return total;
}

Value multiple(Arguments a, bool least) {
  std::int64_t total = least ? 1 : 0;
  for (const Value& value : a) {
    if (!value.if_integer()) {
      return value.is_null() ? undefined() : bad_type("not an integer");
    }
    const std::int64_t v = *value.if_integer();
    if (v > 1'000'000'000 || v < -1'000'000'000) {
      return bad_type("too large");
    }
    total = least ? std::lcm(total, v) : std::gcd(total, v);
    if (total > 1'000'000'000'000) {
      return bad_type("too large");
    }
  }
  return total;
}

// divides(a, b): b is a multiple of a.
Value divides(Arguments a) {
  if (!a[0].if_integer() || !a[1].if_integer()) {
    return a[0].is_null() || a[1].is_null() ? undefined() : bad_type("not an integer");
  }
  return *a[0].if_integer() == 0 ? bad_type("division by zero")
                                 : Value(*a[1].if_integer() % *a[0].if_integer() == 0);
}

// A version as a list of numbers that orders as PEP 440 does.
Value to_version(Arguments a) {
  if (a[0].is_null()) {
    return undefined();
  }
  const auto version = Version::parse(a[0].text());
  if (!version) {
    return bad_type("not a version: " + a[0].text());
  }
  List out;
  for (const std::int64_t part : version->key) {
    out.push_back(part);
  }
  return out;
}

Value absolute(Arguments a) {
  if (a[0].if_integer()) {
    return std::abs(*a[0].if_integer());
  }
  return a[0].is_number() ? Value(std::abs(a[0].number())) : bad_type("not a number");
}

Value ceil_div(Arguments a) {
  if (!a[0].if_integer() || !a[1].if_integer() || *a[1].if_integer() <= 0 ||
      *a[0].if_integer() < 0) {
    return bad_type("needs a count and a positive size");
  }
  return (*a[0].if_integer() + *a[1].if_integer() - 1) / *a[1].if_integer();
}

Value type_name(Arguments a) {
  const Value& v = a[0];
  return v.is_null()      ? "null"
         : v.if_bool()    ? "bool"
         : v.if_integer() ? "int"
         : v.if_double()  ? "float"
         : v.if_string()  ? "str"
         : v.if_list()    ? "list"
                          : "dict";
}

Value sorted(Arguments a) {
  const Value list = to_list(a);
  if (!list.if_list()) {
    return list;
  }
  List out = *list.if_list();
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (order(out[0], out[i]).is_unknown()) {
      return bad_type("cannot be ordered");
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Value& x, const Value& y) {
    const Value o = order(x, y);
    return o.if_integer() && *o.if_integer() < 0;
  });
  return out;
}

Value range(Arguments a) {
  const std::int64_t begin = a.size() > 1 && a[0].if_integer() ? *a[0].if_integer() : 0;
  const Value& last = a.back();
  if (!last.if_integer() || *last.if_integer() - begin > 100'000) {
    return bad_type("not a range that can be walked");
  }
  List out;
  for (std::int64_t i = begin; i < *last.if_integer(); ++i) {
    out.push_back(i);
  }
  return out;
}

Value power(Arguments a) {
  if (!a[0].is_number() || !a[1].is_number()) {
    return a[0].is_null() || a[1].is_null() ? undefined() : bad_type("not a number");
  }
  return std::pow(a[0].number(), a[1].number());
}

struct Function {
  std::string_view name;
  unsigned least, most;
  Value (*call)(Arguments);
};

// any, all, isinstance, explicit and hasattr are evaluated by expr_eval.cpp: they look at
// generators and keys rather than at values.
constexpr Function functions[] = {
    {"abs", 1, 1, absolute},
    {"bool", 1, 1, [](Arguments a) { return Value(truthy(a[0])); }},
    {"ceil_div", 2, 2, ceil_div},
    {"divides", 2, 2, divides},
    {"float", 1, 1, to_float},
    {"gcd", 1, 8, [](Arguments a) { return multiple(a, false); }},
    {"int", 1, 1, to_int},
    {"isfinite", 1, 1, [](Arguments a) { return Value(std::isfinite(a[0].number())); }},
    {"lcm", 1, 8, [](Arguments a) { return multiple(a, true); }},
    {"len", 1, 1, length},
    {"list", 0, 1, to_list},
    {"max", 1, 8, [](Arguments a) { return fold(a, true); }},
    {"min", 1, 8, [](Arguments a) { return fold(a, false); }},
    {"pow", 2, 2, power},
    {"prod", 1, 1, product},
    {"range", 1, 2, range},
    {"set", 0, 1, to_set},
    {"sorted", 1, 1, sorted},
    {"str", 1, 1,
     [](Arguments a) {
       return Value(a[0].is_null()   ? "None"
                    : a[0].if_bool() ? (*a[0].if_bool() ? "True" : "False")
                                     : a[0].text());
     }},
    {"sum", 1, 1, sum},
    {"tuple", 0, 1, to_list},
    {"type", 1, 1, type_name},
    {"version", 1, 1, to_version},
};
constexpr std::string_view special_functions[] = {"any", "all", "isinstance", "explicit",
                                                  "hasattr"};

using Method = Value (*)(const Value& object, Arguments);

Value on_text(const Value& object, Value (*f)(const std::string&)) {
  return object.if_string() ? f(*object.if_string())
                            : (object.is_null() ? undefined() : bad_type("not a string"));
}

Value split_text(const Value& object, Arguments a) {
  if (!object.if_string()) {
    return object.is_null() ? undefined() : bad_type("not a string");
  }
  List out;
  const std::string& text = *object.if_string();
  if (a.empty() || a[0].is_null()) {  // on runs of blanks
    const std::string blanks = replace_all(replace_all(text, "\t", " "), "\n", " ");
    for (const auto part : split(blanks, ' ')) {  // parts of a text that outlives the loop
      if (!part.empty()) {
        out.push_back(part);
      }
    }
    return out;
  }
  if (!a[0].if_string() || a[0].if_string()->empty()) {
    return bad_type("the separator must be a text");
  }
  const std::string& separator = *a[0].if_string();
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos;
       end = text.find(separator, begin)) {
    out.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  out.push_back(text.substr(begin));
  return out;
}

Value count_of(const Value& object, Arguments a) {
  if (const List* list = object.if_list()) {
    return static_cast<std::int64_t>(std::count(list->begin(), list->end(), a[0]));
  }
  if (!object.if_string() || !a[0].if_string() || a[0].if_string()->empty()) {
    return object.is_null() ? undefined() : bad_type("not a string");
  }
  std::int64_t count = 0;
  const std::string& text = *object.if_string();
  for (auto at = text.find(*a[0].if_string()); at != std::string::npos;
       at = text.find(*a[0].if_string(), at + a[0].if_string()->size())) {
    ++count;
  }
  return count;
}

Value get(const Value& object, Arguments a) {
  if (const Map* map = object.if_map()) {
    for (const auto& [key, value] : *map) {
      if (Value(key) == a[0]) {
        return value;
      }
    }
    return a.size() > 1 ? a[1] : Value();
  }
  return object.is_null() ? undefined() : bad_type("not a mapping");
}

Value replace(const Value& object, Arguments a) {
  if (!object.if_string() || !a[0].if_string() || !a[1].if_string() || a[0].if_string()->empty()) {
    return object.is_null() ? undefined() : bad_type("not a string");
  }
  return replace_all(*object.if_string(), *a[0].if_string(), *a[1].if_string());
}

Value test_text(const Value& object, Arguments a, bool (*f)(std::string_view, std::string_view)) {
  if (const List* any_of = a[0].if_list(); any_of && object.if_string()) {
    return std::any_of(any_of->begin(), any_of->end(), [&](const Value& part) {
      return part.if_string() && f(*object.if_string(), *part.if_string());
    });
  }
  if (!object.if_string() || !a[0].if_string()) {
    return object.is_null() ? undefined() : bad_type("not a string");
  }
  return f(*object.if_string(), *a[0].if_string());
}

Value join_list(const Value& object, Arguments a) {
  if (!object.if_string() || !a[0].if_list()) {
    return bad_type("joins strings of a list");
  }
  std::vector<std::string> parts;
  for (const Value& part : *a[0].if_list()) {
    parts.push_back(part.text());
  }
  return join(parts, *object.if_string());
}

Value entries(const Value& object, int which) {
  const Map* map = object.if_map();
  if (!map) {
    return object.is_null() ? undefined() : bad_type("not a mapping");
  }
  List out;
  for (const auto& [key, value] : *map) {
    out.push_back(which == 0 ? Value(key) : which == 1 ? value : Value(List{key, value}));
  }
  return out;
}

Value index_of(const Value& object, Arguments a) {
  const List* list = object.if_list();
  if (list) {
    const auto it = std::find(list->begin(), list->end(), a[0]);
    return it == list->end() ? bad_type("not in the list")
                             : Value(static_cast<std::int64_t>(it - list->begin()));
  }
  return bad_type("not a list");
}

struct MethodRow {
  std::string_view name;
  unsigned least, most;
  Method call;
};

constexpr MethodRow methods[] = {
    {"count", 1, 1, count_of},
    {"endswith", 1, 1,
     [](const Value& o, Arguments a) {
       return test_text(o, a, [](auto text, auto tail) { return text.ends_with(tail); });
     }},
    {"get", 1, 2, get},
    {"index", 1, 1, index_of},
    {"isdigit", 0, 0,
     [](const Value& o, Arguments) {
       return on_text(o, [](const std::string& text) {
         return Value(!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
       });
     }},
    {"items", 0, 0, [](const Value& o, Arguments) { return entries(o, 2); }},
    {"join", 1, 1, join_list},
    {"keys", 0, 0, [](const Value& o, Arguments) { return entries(o, 0); }},
    {"lower", 0, 0,
     [](const Value& o, Arguments) {
       return on_text(o, [](const std::string& text) { return Value(lower(text)); });
     }},
    {"replace", 2, 2, replace},
    {"split", 0, 1, split_text},
    {"startswith", 1, 1,
     [](const Value& o, Arguments a) {
       return test_text(o, a, [](auto text, auto head) { return text.starts_with(head); });
     }},
    {"strip", 0, 0,
     [](const Value& o, Arguments) {
       return on_text(o, [](const std::string& text) { return Value(trim(text)); });
     }},
    {"values", 0, 0, [](const Value& o, Arguments) { return entries(o, 1); }},
};

template <typename Table>
const auto* row_of(const Table& table, std::string_view name) {
  const auto it = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& row) { return row.name == name; });
  return it == std::end(table) ? nullptr : &*it;
}

}  // namespace

bool is_function(std::string_view name) {
  return row_of(functions, name) || row_of(megatron_functions(), name) ||
         std::find(std::begin(special_functions), std::end(special_functions), name) !=
             std::end(special_functions);
}

bool is_method(std::string_view name) {
  return row_of(methods, name);
}

Value call_function(std::string_view name, Arguments arguments) {
  if (const MegatronFunction* own = row_of(megatron_functions(), name);
      own && arguments.size() == 1) {
    return own->call(arguments[0]);
  }
  const Function* row = row_of(functions, name);
  if (!row || arguments.size() < row->least || arguments.size() > row->most) {
    return bad_type(fmt::format("{}() does not take {} arguments", name, arguments.size()));
  }
  return row->call(arguments);
}

Value call_method(std::string_view name, const Value& object, Arguments arguments) {
  const MethodRow* row = row_of(methods, name);
  if (!row || arguments.size() < row->least || arguments.size() > row->most) {
    return bad_type(fmt::format("{}() does not take {} arguments", name, arguments.size()));
  }
  return row->call(object, arguments);
}

bool truthy(const Value& value) {
  if (value.is_number()) {
    return value.number() != 0;
  }
  if (const std::string* text = value.if_string()) {
    return !text->empty();
  }
  if (const List* list = value.if_list()) {
    return !list->empty();
  }
  if (const Map* map = value.if_map()) {
    return !map->empty();
  }
  return false;
}

Value order(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return Value(x < y ? -1 : x > y ? 1 : 0); };
  if (a.is_null() || b.is_null()) {
    return undefined();
  }
  if (a.is_number() && b.is_number()) {
    if (a.if_integer() && b.if_integer()) {
      return sign(*a.if_integer(), *b.if_integer());
    }
    return sign(a.number(), b.number());
  }
  if (a.if_string() && b.if_string()) {
    return sign(*a.if_string(), *b.if_string());
  }
  if (a.if_list() && b.if_list()) {
    const List &x = *a.if_list(), &y = *b.if_list();
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      const Value o = order(x[i], y[i]);
      if (o.is_unknown() || *o.if_integer() != 0) {
        return o;
      }
    }
    return sign(x.size(), y.size());
  }
  return bad_type("values of different types have no order");
}

Value bad_type(std::string detail) {
  return unknown(Reason::bad_type, std::move(detail));
}

Value undefined() {
  static const Value value = unknown(Reason::undefined, "arithmetic or order of null");
  return value;
}

bool is_undefined(const Value& value) {
  const Unknown* u = value.if_unknown();
  return u && u->reason == Reason::undefined;
}

}  // namespace shardlint::rules
