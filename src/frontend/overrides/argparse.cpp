#include "frontend/overrides/argparse.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/overrides/argument_errors.h"
#include "frontend/overrides/convert.h"
#include "frontend/overrides/from_checkpoint.h"

namespace shardlint {
namespace {

enum class Shape {
  flag,      // a declared flag, alone or as --flag=value
  foreign,   // looks like a flag and is none
  argument,  // cannot be a flag
  anything,  // not known: a flag, a value, several words or none
  dashes,    // --
};

struct Seen {
  Shape shape = Shape::argument;
  const Option* option = nullptr;
  std::string flag;
  std::size_t value_at = std::string::npos;  // of --flag=value
};

bool negative_number(std::string_view text) {
  text.remove_prefix(1);
  const auto digits = [](std::string_view t) {
    return std::all_of(t.begin(), t.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos)
    return !text.empty() && digits(text);
  return text.size() > dot + 1 && digits(text.substr(0, dot)) && digits(text.substr(dot + 1));
}

// argparse's _parse_optional().
Seen look(const Word& word, const Schema& schema, const std::string& script) {
  Seen seen;
  const std::string text = word.text();
  const std::size_t mark = text.find(Word::unknown_mark);
  if (mark == 0) {
    seen.shape = Shape::anything;
    return seen;
  }
  if (text.empty() || text[0] != '-' || text == "-")
    return seen;
  if (text == "--") {
    seen.shape = Shape::dashes;
    return seen;
  }
  const std::size_t equals = text.find('=');
  const bool whole = mark == std::string::npos;
  if (whole) {
    seen.option = schema.find_flag(text, script);
    seen.flag = text;
  }
  if (!seen.option && equals < mark) {
    seen.option = schema.find_flag(text.substr(0, equals), script);
    if (seen.option) {
      seen.flag = text.substr(0, equals);
      seen.value_at = equals + 1;
    }
  }
  if (seen.option) {
    seen.shape = Shape::flag;
  } else if (equals < mark) {
    seen.shape = text.find(' ') < equals ? Shape::argument : Shape::foreign;
    seen.flag = text.substr(0, equals);
  } else if (!whole) {
    seen.shape = Shape::anything;
  } else if (negative_number(text) || text.find(' ') != std::string::npos) {
    seen.shape = Shape::argument;
  } else {
    seen.shape = Shape::foreign;
  }
  return seen;
}

Span joined(const Span& first, const Span& last) {
  if (!first || first.source != last.source || last.end < first.begin)
    return first;
  return {first.source, first.begin, last.end};
}

class Reader {
 public:
  Reader(std::span<const Word> words, const ArgumentListOptions& options)
      : words_(words),
        schema_(*Schema::get("megatron-lm", options.version)),
        script_(options.script),
        errors_(schema_, options, out_.diagnostics) {
    out_.facts.framework = "megatron-lm";
    out_.facts.closed = true;
  }

  ArgumentList read() {
    bool flags_over = false;
    for (std::size_t i = 0; i < words_.size();) {
      const Word& word = words_[i];
      const Seen seen = flags_over ? Seen{} : look(word, schema_, script_);
      if (seen.shape == Shape::flag) {
        i = take(seen, i);
        continue;
      }
      ++i;
      if (seen.shape == Shape::anything) {
        out_.facts.closed = false;
      } else if (seen.shape == Shape::dashes) {
        flags_over = true;
        errors_.stray(word, 1);
      } else if (seen.shape == Shape::foreign) {
        // What follows would be refused too; one finding is enough.
        while (i < words_.size() && look(words_[i], schema_, script_).shape == Shape::argument)
          ++i;
        if (errors_.foreign(word, seen.flag))
          out_.facts.closed = false;
      } else {
        std::size_t count = 1;
        while (i < words_.size() && look(words_[i], schema_, script_).shape == Shape::argument)
          ++i, ++count;
        errors_.stray(word, count);
      }
    }
    after();
    return std::move(out_);
  }

 private:
  // Reads one flag and its values; gives the index of the next word.
  std::size_t take(const Seen& seen, std::size_t at) {
    const Word& word = words_[at];
    const Option& option = *seen.option;
    const bool inline_value = seen.value_at != std::string::npos;
    const Word flag = inline_value ? word.slice(0, seen.value_at - 1) : word;
    if (option.action == Action::help)
      return at + 1;
    if (option.action != Action::store && option.action != Action::append) {
      if (inline_value) {
        errors_.switch_with_value(word, flag, word.slice(seen.value_at), option);
      } else {
        const bool on = option.action == Action::store_true ||
                        (option.action == Action::boolean_optional &&
                         !std::string_view(seen.flag).starts_with("--no-"));
        Span behind = flag.span();
        behind.begin = behind.end;
        set(option, flag, Value(on), behind, word);
      }
      return at + 1;
    }
    if (inline_value) {
      const Word value = word.slice(seen.value_at);
      if (value.text() == "--") {  // what argparse makes of it differs between Python versions
        set(option, flag, unknown(Reason::bad_type, "--", value.span()), value.span(), word);
      } else if (option.nargs == Nargs::exactly && option.count != 1) {
        errors_.count(flag, option, 1);
      } else {
        set_values(option, flag, std::span(&value, 1), word);
      }
      return at + 1;
    }
    const std::size_t first = at + 1;
    std::size_t end = first;
    const std::size_t most = option.nargs == Nargs::one || option.nargs == Nargs::optional ? 1
                             : option.nargs == Nargs::exactly ? option.count
                                                              : words_.size();
    bool may_differ = false;
    while (end < words_.size() && end - first < most) {
      const Shape shape = look(words_[end], schema_, script_).shape;
      if (shape == Shape::anything) {
        // Read as a value where one is due. Where the list could also be over, it may be flags.
        const bool due = end == first || option.nargs == Nargs::exactly;
        if (words_[end].open && !due) {
          may_differ = true;
          break;
        }
      } else if (shape != Shape::argument) {
        break;
      }
      if (words_[end].open && most > 1)
        may_differ = true;
      ++end;
    }
    const std::size_t count = end - first;
    const bool short_of = (option.nargs == Nargs::one && count < 1) ||
                          (option.nargs == Nargs::some && count < 1) ||
                          (option.nargs == Nargs::exactly && count < option.count);
    if (short_of && !may_differ && Schema::of_another_script(option, script_)) {
      set(option, flag, unknown(Reason::dynamic, flag.shown(), flag.span()), flag.span(), word);
    } else if (short_of && !may_differ) {
      errors_.count(flag, option, count);
      set(option, flag, unknown(Reason::bad_type, "no value", flag.span()), flag.span(), word);
    } else if (short_of || (may_differ && option.nargs == Nargs::exactly)) {
      set(option, flag, unknown(Reason::dynamic, flag.shown(), flag.span()), flag.span(), word);
    } else {
      set_values(option, flag, words_.subspan(first, count), word);
    }
    return end;
  }

  void set_values(const Option& option, const Word& flag, std::span<const Word> values,
                  const Word& word) {
    if (values.empty()) {
      const Value none = option.nargs == Nargs::optional ? option.constant : Value(List{});
      set(option, flag, none, flag.span(), word);
      return;
    }
    List items;
    bool conditional = false;
    for (const Word& value : values) {
      items.push_back(convert(option, flag, value));
      conditional |= value.conditional && !word.conditional;
    }
    const bool scalar = option.nargs == Nargs::one || option.nargs == Nargs::optional;
    Value value = scalar ? items[0] : Value(std::move(items));
    if (conditional)
      value = unknown(Reason::branch, values[0].shown(), values[0].condition);
    const Span where = joined(values.front().place(), values.back().place());
    if (option.action == Action::append)
      value = unknown(Reason::dynamic, "a list", where);
    set(option, flag, value, where, word);
    for (const Word& each : values) {
      if (each.env_default)
        out_.facts.facts.back().note = "the environment may set another";
    }
  }

  Value convert(const Option& option, const Word& flag, const Word& value) {
    if (!value.known()) {
      Value why = value.value();
      Unknown copy = *why.if_unknown();
      if (copy.domain.empty()) {
        for (std::string_view choice : option.choices) {
          copy.domain.push_back(convert_word(option, choice).value_or(Value(choice)));
        }
      }
      return copy;
    }
    const std::string text = value.text();
    const std::optional<Value> made = convert_word(option, text);
    if (Schema::of_another_script(option, script_)) {
      return unknown(Reason::dynamic, text, value.place());  // this script's own flag of that name
    }
    if (!made) {
      errors_.type(flag, value, option);
      return unknown(Reason::bad_type, text, value.place());
    }
    if (!option.choices.empty()) {
      const auto same = [&](std::string_view choice) {
        return convert_word(option, choice).value_or(Value(choice)) == *made;
      };
      if (std::none_of(option.choices.begin(), option.choices.end(), same)) {
        errors_.choice(flag, value, option);
        return unknown(Reason::bad_type, text, value.place());
      }
    }
    return *made;
  }

  void set(const Option& option, const Word& flag, Value value, const Span& where,
           const Word& word) {
    if (word.conditional)
      value = maybe(option, std::move(value), word);
    Fact fact;
    fact.key = option.dest;
    fact.value = std::move(value);
    fact.key_span = flag.place();
    fact.value_span = where;
    out_.facts.facts.push_back(std::move(fact));
    if (option.dest == "yaml_cfg")
      yaml_cfg_ = &word;
  }

  // The flag is there under a condition: its value, or what held before it.
  Value maybe(const Option& option, Value value, const Word& word) {
    Value before;
    bool known = false;
    for (const Fact& fact : out_.facts.facts) {
      if (fact.key == option.dest)
        before = fact.value, known = true;
    }
    const Key* key = schema_.find(option.dest);
    if (!known && key)
      before = key->default_value(Route::cli);
    if (before == value)
      return value;
    Unknown why{Reason::branch, word.shown(), word.condition, false, {}};
    const auto add = [&](const Value& v) {
      if (!v.is_unknown()) {
        why.domain.push_back(v);
        return true;
      }
      const auto& domain = v.if_unknown()->domain;
      why.domain.insert(why.domain.end(), domain.begin(), domain.end());
      return !domain.empty();
    };
    const bool finite = add(value) && add(before);
    if (!finite)
      why.domain.clear();
    why.not_null = finite && std::none_of(why.domain.begin(), why.domain.end(),
                                          [](const Value& v) { return v.is_null(); });
    return why;
  }

  void after() {
    if (words_.size())
      out_.facts.anchor = words_[0].span();
    if (yaml_cfg_) {
      // Upstream replaces the parsed arguments by the file's content.
      errors_.yaml_cfg(*yaml_cfg_, out_.facts.facts.size() - 1);
      std::erase_if(out_.facts.facts, [](const Fact& fact) { return fact.key != "yaml_cfg"; });
      out_.facts.closed = false;
      return;
    }
    values_from_checkpoint(out_.facts, schema_);
  }

  std::span<const Word> words_;
  const Schema& schema_;
  std::string script_;
  ArgumentList out_;
  ArgumentErrors errors_;
  const Word* yaml_cfg_ = nullptr;
};

}  // namespace

ArgumentList read_argument_list(std::span<const Word> words, const ArgumentListOptions& options) {
  return Reader(words, options).read();
}

}  // namespace shardlint
