#include "frontend/overrides/bridge_arguments.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/overrides/bridge_flags.h"
#include "frontend/overrides/convert.h"
#include "frontend/overrides/hydra_errors.h"
#include "frontend/overrides/hydra_grammar.h"
#include "schema/check.h"

namespace shardlint {
namespace {

class Reader {
 public:
  Reader(std::span<const Word> words, const BridgeOptions& options)
      : words_(words),
        script_(bridge_script(options.script)),
        schema_(*Schema::get("megatron-bridge", options.version)),
        errors_(schema_, out_.diagnostics) {}

  BridgeRun read() {
    out_.facts.framework = "megatron-bridge";
    if (!words_.empty()) {
      out_.facts.anchor = words_.front().span();
    }
    for (std::size_t i = 0; i < words_.size();) {
      i = word(i);
    }
    // run_script.py applies its flags after the overrides, the others before.
    const bool flags_win = script_ == BridgeScript::performance_flat;
    for (const std::vector<Fact>* part :
         {flags_win ? &overrides_ : &flags_, flags_win ? &flags_ : &overrides_}) {
      out_.facts.facts.insert(out_.facts.facts.end(), part->begin(), part->end());
    }
    if (out_.facts.base.empty() && !model_.empty()) {
      const std::string task = mode_ == "lora" || mode_ == "dora" ? "peft" : mode_;
      out_.facts.base = task.empty() ? "" : model_ + "_" + task + "_config";
    }
    out_.mode = mode_;
    out_.syncs = script_ == BridgeScript::training;
    return std::move(out_);
  }

 private:
  std::size_t word(std::size_t at) {
    const Word& word = words_[at];
    const std::string text = word.text();
    if (text.starts_with('-')) {
      return flag(at, text);
    }
    if (text.find('=') != std::string::npos) {
      override_word(word);
    } else if (script_ == BridgeScript::training && word.known()) {
      errors_.add("ARG106", "stray-argument", word, word.place(),
                  fmt::format("`{}` is neither a flag nor KEY=VALUE", text), "");
    }
    return at + 1;
  }

  std::size_t flag(std::size_t at, const std::string& text) {
    const Word& word = words_[at];
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::optional<Word> value;
    std::size_t next = at + 1;
    const BridgeFlag* row = find_bridge_flag(script_, name);
    const bool takes = row ? row->kind != BridgeValue::on : script_ != BridgeScript::training;
    if (equals != std::string::npos) {
      value = word.slice(equals + 1);
    } else if (takes && next < words_.size() && !words_[next].text().starts_with("--") &&
               (row || words_[next].text().find('=') == std::string::npos)) {
      value = words_[next++];
    }
    if ((name == "--config-file" || name == "--config_file") && value && value->known()) {
      out_.config_file = value->text();
    }
    if (!row) {
      if (script_ == BridgeScript::training && word.known()) {
        errors_.add("ARG101", "unknown-flag", word, word.place(),
                    fmt::format("run_recipe.py has no flag `{}`", name), "");
      }
      return next;
    }
    if (takes && !value) {
      errors_.add("ARG102", "flag-without-value", word, word.place(),
                  fmt::format("`{}` needs a value", name), "");
      return next;
    }
    note(name, value);
    write(*row, word, equals == std::string::npos ? word : word.slice(0, equals), value);
    return next;
  }

  void note(std::string_view name, const std::optional<Word>& value) {
    if (!value || !value->known()) {
      return;
    }
    if (name == "--recipe") {
      out_.facts.base = value->text();
    } else if (name == "--model") {
      model_ = value->text();
    } else if (name == "--mode") {
      mode_ = value->text();
    } else if (name == "--dataset") {
      out_.dataset = value->text();
    }
  }

  void write(const BridgeFlag& row, const Word& word, const Word& flag,
             const std::optional<Word>& value) {
    Value own;
    if (value) {
      const std::optional<Value> made = converted(row, *value);
      if (!made) {
        errors_.add("ARG103", "flag-value-type", *value, value->place(),
                    fmt::format("`{}` cannot be `{}`", flag.shown(), value->shown()),
                    row.writes.empty() ? std::string_view() : row.writes.front().key);
        return;
      }
      own = *made;
    }
    const bool off = row.kind == BridgeValue::boolean && own == Value(false);
    if (off) {
      return;
    }
    for (const BridgeWrite& write : row.writes) {
      Fact fact;
      fact.key = write.key;
      fact.value = write.value.empty()
                       ? own
                       : parse_override_value(literal_word(std::string(write.value))).value;
      if (own.is_unknown() && !write.value.empty()) {
        fact.value = own;
      }
      if (word.conditional) {
        fact.value = unknown(Reason::branch, word.shown(), word.condition);
      }
      fact.key_span = flag.place();
      fact.value_span = value ? value->place() : flag.place();
      fact.origin = Origin::override_value;
      if (!write.value.empty()) {
        fact.note = fmt::format("written by {}", flag.shown());
      }
      flags_.push_back(std::move(fact));
    }
  }

  std::optional<Value> converted(const BridgeFlag& row, const Word& word) const {
    if (!word.known()) {
      return word.value();
    }
    const std::string text = word.text();
    switch (row.kind) {
      case BridgeValue::integer:
        return python_integer(text);
      case BridgeValue::real:
        return python_real(text);
      case BridgeValue::boolean: {
        const std::string low = lower(text);
        if (low == "true" || low == "1" || low == "t" || low == "yes") {
          return Value(true);
        }
        if (low == "false" || low == "0" || low == "f" || low == "no") {
          return Value(false);
        }
        return unknown(Reason::bad_type, text, word.span());
      }
      case BridgeValue::choice: {
        const auto choices = split(row.choices, ' ');
        if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
          return std::nullopt;
        }
        return Value(text);
      }
      case BridgeValue::list: {
        List items;
        for (std::string_view item : split(text, ',')) {
          items.emplace_back(trim(item));
        }
        return Value(std::move(items));
      }
      case BridgeValue::text:
        if (row.brief == "-vp") {  // -1 is "not given", None a value
          return text == "None" ? Value() : python_integer(text);
        }
        return Value(text);
      case BridgeValue::flag_text:
      case BridgeValue::on:
        return Value(text);
    }
    return Value(text);
  }

  void override_word(const Word& word) {
    const Override o = parse_override(word);
    if (o.key.empty() && o.error.empty()) {
      return;
    }
    if (!o.error.empty()) {
      const Span at = word.slice(o.error_at, o.error_at + 1).span();
      errors_.add("HYD104", "override-syntax", word, at && at.begin < at.end ? at : word.place(),
                  fmt::format("`{}` is no override: {}", word.shown(), o.error), o.key);
      return;
    }
    if (o.sweep) {
      errors_.add(
          "HYD109", "sweep-without-multirun", word, o.value_word.place(),
          fmt::format("`{}` gives several values; quote it if it is one text", word.shown()),
          o.key);
      return;
    }
    if (o.kind == Override::Kind::remove) {
      return;  // a key that is left out keeps the recipe's value
    }
    if (o.kind == Override::Kind::change && refused(o, word)) {
      return;
    }
    add(o.key, o.value, o, word);
  }

  // Struct mode: a plain override of a key that the configuration has not.
  bool refused(const Override& o, const Word& word) {
    const std::size_t dot = o.key.find('.');
    const std::string section = o.key.substr(0, dot);
    const Key* top = schema_.find(section);
    const bool sure = !top || (dot != std::string::npos && one_class_only(section) &&
                               o.key.find('.', dot + 1) == std::string::npos);
    if (!sure || schema_.find(o.key)) {
      return false;
    }
    const UnknownKey why = describe_unknown_key(schema_, o.key);
    Diagnostic& d =
        errors_.add("HYD101", "unknown-override-key", word, o.key_word.place(), why.message, o.key);
    if (!why.replacement.empty()) {
      errors_.fix(d, fmt::format("Write `{}`", why.replacement), why.safety, o.key_word.span(),
                  why.replacement);
    }
    return true;
  }

  void add(const std::string& key, const Value& value, const Override& o, const Word& word) {
    if (const Map* map = value.if_map(); map && !map->empty()) {
      for (const auto& [name, item] : *map) {
        add(key + "." + name, item, o, word);
      }
      return;
    }
    Fact fact;
    fact.key = key;
    fact.value = word.conditional ? unknown(Reason::branch, word.shown(), word.condition) : value;
    fact.key_span = o.key_word.place();
    fact.value_span = o.value_word.place();
    fact.origin = Origin::override_value;
    if (word.env_default) {
      fact.note = "the environment may set another";
    }
    overrides_.push_back(std::move(fact));
  }

  std::span<const Word> words_;
  BridgeScript script_;
  const Schema& schema_;
  BridgeRun out_;
  HydraErrors errors_;
  std::vector<Fact> flags_, overrides_;
  std::string model_, mode_;
};

}  // namespace

BridgeRun read_bridge_arguments(std::span<const Word> words, const BridgeOptions& options) {
  return Reader(words, options).read();
}

}  // namespace shardlint
