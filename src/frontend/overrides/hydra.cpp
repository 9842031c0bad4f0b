#include "frontend/overrides/hydra.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/strings.h"
#include "frontend/overrides/hydra_errors.h"
#include "frontend/overrides/interpolation.h"

namespace shardlint {
namespace {

struct Program {
  std::string_view name, root;
};
// By the module's or script's last part; the first that fits.
constexpr Program programs[] = {
    {"fully_async_main", "fully_async_ppo_trainer"},
    {"one_step_off_policy.main_ppo", "one_step_off_ppo_trainer"},
    {"main_ppo", "ppo_trainer"},
    {"main_ppo_sync", "ppo_trainer"},
    {"sft_trainer", "sft_trainer_engine"},
    {"sft_trainer_ray", "sft_trainer_engine"},
    {"fsdp_sft_trainer", "sft_trainer"},
    {"main_generation", "generation"},
    {"main_eval", "evaluation"},
};

// Hydra's own flags that take a value, and those that do not.
constexpr std::string_view with_value[] = {
    "--config-path", "-cp", "--config-name", "-cn", "--config-dir",        "-cd", "--package", "-p",
    "--cfg",         "-c",  "--info",        "-i",  "--experimental-rerun"};
constexpr std::string_view without_value[] = {
    "--multirun", "-m", "--run",     "-r",           "--resolve",
    "--help",     "-h", "--version", "--hydra-help", "--shell-completion",
    "-sc"};

template <typename Items>
bool one_of(std::string_view word, const Items& items) {
  return std::find(std::begin(items), std::end(items), word) != std::end(items);
}

struct Item {
  const Word* word;
  Override parsed;
};

// Trees of verl itself, which many commands of a run share.
Composed composed_built_in(const Schema& schema, const std::string& root,
                           const GroupChoices& choices, const FindTreeFile& find) {
  std::string name = root;
  for (const auto& [key, option] : choices.chosen) {
    name += "\n" + key + "=" + option.text();
  }
  for (const auto& [key, option] : choices.appended) {
    name += "\n+" + key + "=" + option;
  }
  static std::mutex mutex;
  static std::map<std::pair<const Schema*, std::string>, std::shared_ptr<const Composed>> known;
  constexpr std::size_t most = 100;
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find({&schema, name}); at != known.end()) {
      return *at->second;
    }
  }
  auto composed = std::make_shared<const Composed>(compose_tree(root, choices, find));
  const std::lock_guard lock(mutex);
  if (known.size() < most) {
    known[{&schema, name}] = composed;
  }
  return *composed;
}

class Run {
 public:
  Run(std::span<const Word> words, const HydraOptions& options)
      : words_(words),
        options_(options),
        schema_(*Schema::get("verl", options.version)),
        errors_(schema_, out_.diagnostics) {
    find_ = [this](std::string_view path) -> const TreeFile* {
      if (options_.own_files) {
        if (const TreeFile* file = options_.own_files(path)) {
          return file;
        }
      }
      return schema_.tree_file(path);
    };
  }

  HydraRun read() {
    out_.facts.framework = "verl";
    out_.facts.closed = true;
    if (!words_.empty()) {
      out_.facts.anchor = words_.front().span();
    }
    name_ = options_.config_name.empty() ? std::string(root_of_program(options_.program))
                                         : options_.config_name;
    more_trees_ = options_.more_trees;
    read_words();
    if (name_.ends_with(".yaml")) {
      name_.resize(name_.size() - 5);
    }
    out_.facts.base = name_;
    compose();
    if (out_.composed) {
      for (const Item& item : values_) {
        apply(item);
      }
      check_fields();
      flatten_tree(tree_, out_.facts);
    } else {
      plain_facts();
    }
    return std::move(out_);
  }

  const std::string& meant() const { return meant_; }
  // A choice that no word makes, as if one did.
  void choose(std::string_view choice) {
    const std::size_t equals = choice.find('=');
    extra_.chosen[std::string(choice.substr(0, equals))] = Value(choice.substr(equals + 1));
  }

 private:
  void read_words() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      const std::string text = word.text();
      if (text.starts_with('-')) {
        const std::size_t equals = text.find('=');
        const std::string flag = text.substr(0, equals);
        if (one_of(flag, with_value)) {
          std::optional<Word> value;
          if (equals != std::string::npos) {
            value = word.slice(equals + 1);
          } else if (i + 1 < words_.size()) {
            value = words_[++i];
          }
          if (value) {
            hydra_flag(flag, *value);
          }
        } else if (flag == "--multirun" || flag == "-m") {
          multirun_ = true;
        } else if (!one_of(flag, without_value)) {
          errors_.add("HYD104", "override-syntax", word, word.place(),
                      fmt::format("`{}` is neither a flag of Hydra nor an override", word.shown()),
                      "");
        }
        continue;
      }
      Override parsed = parse_override(word);
      if (parsed.key.empty() && parsed.error.empty()) {
        out_.facts.closed = false;  // $@ and the like: any override, or none
        continue;
      }
      if (!parsed.error.empty()) {
        Span at = word.slice(parsed.error_at, parsed.error_at + 1).span();
        errors_.add("HYD104", "override-syntax", word, at && at.begin < at.end ? at : word.place(),
                    fmt::format("`{}` is no override: {}", word.shown(), parsed.error), parsed.key);
        continue;
      }
      items_.push_back({&word, std::move(parsed)});
    }
  }

  void hydra_flag(std::string_view flag, const Word& value) {
    more_trees_ = more_trees_ || flag == "--config-dir" || flag == "-cd";
    if (flag != "--config-name" && flag != "-cn") {
      return;
    }
    if (value.known()) {
      name_ = value.text();
    } else {
      name_.clear();
    }
    name_word_ = value;
  }

  bool is_group(std::string_view key) const {
    const std::string folder = std::string(key) + "/";
    const auto files = schema_.tree_files();
    const auto at =
        std::lower_bound(files.begin(), files.end(), folder,
                         [](const TreeFile& a, const std::string& b) { return a.path < b; });
    return at != files.end() && at->path.starts_with(folder);
  }

  // A folder of the user's own is a group too. It is asked for the option alone: a folder cannot be
  // told from a word that is a value.
  bool is_own_group(const Override& o) const {
    const std::string* option = o.value.if_string();
    return options_.own_files && option && !option->empty() &&
           options_.own_files(o.key + "/" + *option);
  }

  std::vector<std::string_view> options_of(std::string_view group) const {
    std::vector<std::string_view> out;
    const std::string folder = std::string(group) + "/";
    for (const TreeFile& file : schema_.tree_files()) {
      if (file.path.starts_with(folder)) {
        out.push_back(file.path.substr(folder.size()));
      }
    }
    return out;
  }

  // Group choices first, as Hydra does; then the tree.
  void compose() {
    GroupChoices choices = extra_;
    std::map<std::string, const Item*> chosen;
    for (const Item& item : items_) {
      const Override& o = item.parsed;
      if (o.key.starts_with("hydra.") || o.key.starts_with("hydra/")) {
        more_trees_ = more_trees_ || o.key == "hydra.searchpath";
        continue;
      }
      if ((!is_group(o.key) && !is_own_group(o)) || o.value.if_map()) {
        values_.push_back(item);
        continue;
      }
      const std::string key = o.name();
      if (o.kind == Override::Kind::force_add) {
        errors_.add("HYD108", "group-force-added", *item.word, o.key_word.place(),
                    fmt::format("`{}` is a group of files: it can be chosen with `{}=`, not "
                                "forced with `++`",
                                key, key),
                    key);
        continue;
      }
      if (o.sweep && !multirun_) {
        sweep(item);
        continue;
      }
      if (o.kind == Override::Kind::add) {
        choices.appended.emplace_back(key, o.value.text());
        chosen[key] = &item;
        continue;
      }
      if (o.value.is_unknown() || item.word->conditional) {
        unknown_choice_ = true;
        continue;
      }
      if (const auto before = chosen.find(key); before != chosen.end()) {
        Diagnostic& d = errors_.add("HYD107", "group-chosen-twice", *item.word, item.word->place(),
                                    fmt::format("`{}` is chosen twice", key), key);
        d.related.push_back({locate(before->second->word->place()), "chosen here first"});
        continue;
      }
      choices.chosen[key] = o.kind == Override::Kind::remove ? Value() : o.value;
      chosen[key] = &item;
    }
    if (name_.empty() || !find_(name_)) {
      if (!name_.empty()) {
        unknown_root();
      }
      return;
    }
    Composed composed = options_.own_files
                            ? compose_tree(name_, choices, find_, options_.own_places)
                            : composed_built_in(schema_, name_, choices, find_);
    for (const std::string& key : composed.unused) {
      unused_choice(*chosen[key], composed);
    }
    for (const Composed::Missing& missing : composed.missing) {
      missing_file(missing, chosen);
    }
    tree_ = std::move(composed.tree);
    out_.groups = std::move(composed.used);
    out_.composed = composed.missing.empty() && composed.unused.empty() && !unknown_choice_;
    if (unknown_choice_) {
      out_.facts.closed = false;
    }
  }

  void unknown_root() {
    out_.facts.closed = false;
    if (!name_word_) {
      return;
    }
    std::vector<std::string_view> names;
    for (const TreeFile& file : schema_.tree_files()) {
      if (file.path.find('/') == std::string_view::npos) {
        names.push_back(file.path);
      }
    }
    // A name of the user's own is theirs to know; a slip in one of verl's is worth a word.
    const std::string_view near = nearest(name_, names);
    if (near.empty()) {
      return;
    }
    Diagnostic& d = errors_.add("HYD111", "unknown-config-name", *name_word_, name_word_->place(),
                                fmt::format("verl {} has no configuration `{}`; did you mean `{}`?",
                                            schema_.version(), name_, near),
                                "");
    d.severity = Severity::warning;
  }

  void unused_choice(const Item& item, const Composed& composed) {
    if (more_trees_) {
      return;
    }
    const Override& o = item.parsed;
    Diagnostic& d = errors_.add(
        "HYD105", "group-not-in-defaults", *item.word, o.key_word.place(),
        fmt::format("`{}` is a group of files that `{}` does not choose from", o.name(), name_),
        o.name());
    std::vector<std::string> same;
    for (const auto& [key, option] : composed.used) {
      if (key.starts_with(o.key + "@")) {
        same.push_back(key);
      }
    }
    if (same.size() == 1) {
      d.help = fmt::format("did you mean `{}`?", same.front());
      errors_.fix(d, fmt::format("Write `{}`", same.front()), Safety::unsafe, o.key_word.span(),
                  same.front());
    } else if (!same.empty()) {
      d.help = "did you mean one of `" + join(same, "`, `") + "`?";
    }
  }

  void missing_file(const Composed::Missing& missing,
                    const std::map<std::string, const Item*>& chosen) {
    const auto by = chosen.find(missing.choice);
    if (by == chosen.end()) {
      if (chosen.empty() && name_word_) {
        out_.facts.closed = false;
      }
      // An option made of another choice: ${model_engine}_actor.
      for (const auto& [key, item] : chosen) {
        const std::string value = item->parsed.value.text();
        if (missing.file.find(value) != std::string::npos) {
          unknown_option(*item, item->parsed.key);
          return;
        }
      }
      return;
    }
    unknown_option(*by->second, by->second->parsed.key);
  }

  void unknown_option(const Item& item, const std::string& group) {
    if (more_trees_ || !reported_.insert(item.word).second) {
      return;
    }
    const Override& o = item.parsed;
    const std::vector<std::string_view> known = options_of(group);
    std::string list;
    for (std::string_view option : known) {
      list += (list.empty() ? "`" : ", `") + std::string(option) + "`";
    }
    Diagnostic& d = errors_.add(
        "HYD103", "unknown-group-option", *item.word, o.value_word.place(),
        fmt::format("`{}` is one of {}, got `{}`", o.name(), list, o.value.text()), o.name());
    const std::string_view near = nearest(o.value.text(), known);
    if (!near.empty()) {
      d.help = fmt::format("did you mean `{}`?", near);
      errors_.fix(d, fmt::format("Write `{}`", near), Safety::unsafe, o.value_word.span(),
                  std::string(near));
    }
  }

  void sweep(const Item& item) {
    errors_.add("HYD109", "sweep-without-multirun", *item.word, item.parsed.value_word.place(),
                fmt::format("`{}` gives several values, which needs `--multirun`; quote it if it "
                            "is one text",
                            item.word->shown()),
                item.parsed.key);
  }

  // ConfigLoaderImpl._apply_overrides_to_config, one override.
  void apply(const Item& item) {
    const Override& o = item.parsed;
    if (o.sweep && !multirun_) {
      sweep(item);
      return;
    }
    if (!o.package.empty()) {
      errors_.add("HYD105", "group-not-in-defaults", *item.word, o.key_word.place(),
                  fmt::format("`{}` is no group of files", o.key), o.key);
      return;
    }
    repeated(item);
    const HydraNode* now = find_node(tree_, o.key);
    switch (o.kind) {
      case Override::Kind::remove:
        remove(item, now);
        return;
      case Override::Kind::add:
        if (now && !o.value.if_map() && !o.value.if_list()) {
          const Resolved current = resolve_node(tree_, o.key);
          const std::string* text = now->value.if_string();
          const bool empty =
              !current.map &&
              (current.value.is_null() || current.value.is_unknown() || (text && *text == "???"));
          if (!empty) {
            exists(item);
            return;
          }
        }
        break;
      case Override::Kind::force_add:
        break;
      case Override::Kind::change:
        if (!now || !fits(*now, o.value)) {
          unknown_key(item);
          put(item);  // as it was meant, so that what follows is judged by that
          return;
        }
        break;
    }
    if (o.kind != Override::Kind::change) {
      added_.push_back(item);
    }
    put(item);
  }

  // A mapping merged into a mapping may not bring keys that are not there.
  static bool fits(const HydraNode& node, const Value& value) {
    const Map* map = value.if_map();
    if (!map || !node.is_map) {
      return true;
    }
    return std::all_of(map->begin(), map->end(), [&](const auto& entry) {
      const HydraNode* child = node.child(entry.first);
      return child && fits(*child, entry.second);
    });
  }

  void put(const Item& item) {
    const Override& o = item.parsed;
    HydraNode* node = &tree_;
    for (std::string_view part : split(o.key, '.')) {
      if (!node->is_map) {  // a plain value or a reference on the way gives way to a mapping
        *node = HydraNode{};
        node->is_map = true;
      }
      node = &node->make(part);
    }
    HydraNode fresh;
    fresh.origin = Origin::override_value;
    fresh.key_span = o.key_word.place();
    fresh.value_span = o.value_word.place();
    Value value = o.value;
    if (item.word->conditional) {
      value = maybe(*node, value, *item.word);
    }
    if (item.word->env_default) {
      fresh.note = "the environment may set another";
    }
    fresh.set(value);
    if (fresh.is_map && node->is_map) {
      merge_node(*node, fresh);
    } else {
      *node = fresh;
    }
  }

  static Value maybe(const HydraNode& node, const Value& value, const Word& word) {
    Unknown why{Reason::branch, word.shown(), word.condition, false, {}};
    if (!node.is_map && !value.is_unknown() && !node.value.is_unknown() && !value.if_map()) {
      why.domain = {value, node.value};
      why.not_null = !value.is_null() && !node.value.is_null();
    }
    return why;
  }

  void remove(const Item& item, const HydraNode* now) {
    const Override& o = item.parsed;
    const bool there = now && (now->is_map || !now->value.is_null());
    if (!there) {
      errors_.add("HYD106", "nothing-to-delete", *item.word, o.key_word.place(),
                  fmt::format("there is no `{}` to delete", o.key), o.key);
      return;
    }
    if (o.has_value && !o.value.is_unknown() && !now->is_map && !(o.value == now->value)) {
      errors_.add("HYD106", "nothing-to-delete", *item.word, item.word->place(),
                  fmt::format("`{}` is `{}`, not `{}`, and is not deleted", o.key,
                              now->value.text(), o.value.text()),
                  o.key);
      return;
    }
    const std::size_t dot = o.key.rfind('.');
    const std::string parent = dot == std::string::npos ? "" : o.key.substr(0, dot);
    const_cast<HydraNode*>(find_node(tree_, parent))
        ->erase(dot == std::string::npos ? o.key : o.key.substr(dot + 1));
  }

  void exists(const Item& item) {
    const Override& o = item.parsed;
    Diagnostic& d =
        errors_.add("HYD102", "override-key-exists", *item.word, o.key_word.place(),
                    fmt::format("`+{}` adds a key that is there already", o.key), o.key);
    Span plus = o.key_word.span();
    if (plus && plus.begin > 0 && plus.source->text(plus.begin - 1, plus.begin) == "+") {
      plus.end = plus.begin;
      --plus.begin;
      errors_.fix(d, "Leave the `+` out", Safety::safe, plus, "");
    }
  }

  void unknown_key(const Item& item) {
    const Override& o = item.parsed;
    const std::optional<Lifetime> life = schema_.history(o.key);
    std::string message = fmt::format("`{}` has no key `{}`", name_, o.key);
    std::string better;
    Safety safety = Safety::unsafe;
    std::string help;
    if (const std::string other = searches_-- > 0 ? other_choice(o.key) : std::string();
        !other.empty()) {
      meant_ = meant_.empty() ? other : meant_;
      message += fmt::format(": it is there with `{}`", other);
    } else if (life && life->old_name) {
      better = life->replacement;
      safety = Safety::safe;
      message = fmt::format("`{}` is now called `{}`", o.key, better);
    } else if (life && !life->until.empty() && removed(*life)) {
      message = fmt::format("`{}` was removed in verl {}", o.key, life->until);
      help = life->note;
    } else if (life && !removed(*life) && !schema_.find(o.key)) {
      message = fmt::format("`{}` needs verl {} or later, this is {}", o.key, life->since,
                            schema_.version());
    } else {
      better = nearest_in_tree(o.key);
      const bool set_already = std::any_of(values_.begin(), values_.end(), [&](const Item& other) {
        return other.parsed.key == better;
      });
      if (set_already) {
        better.clear();  // then it was not meant
      }
      if (!better.empty()) {
        message += fmt::format("; did you mean `{}`?", better);
      } else {
        help = fmt::format("write `+{}=...` if the program reads it", o.key);
      }
    }
    Diagnostic& d = errors_.add("HYD101", "unknown-override-key", *item.word, o.key_word.place(),
                                message, o.key);
    d.help = help;
    if (!better.empty()) {
      errors_.fix(d, fmt::format("Write `{}`", better), safety, o.key_word.span(), better);
    }
  }

  bool removed(const Lifetime& life) const {
    const auto until = Version::parse(life.until), now = Version::parse(schema_.version());
    return until && now && *until <= *now;
  }

  // The choice of a group under which the key exists: "model_engine=megatron".
  std::string other_choice(const std::string& key) const {
    for (const char* group : {"model_engine", "engine", "optim"}) {
      const auto used = out_.groups.find(group);
      if (used == out_.groups.end()) {
        continue;
      }
      for (std::string_view option : options_of(group)) {
        if (option == used->second) {
          continue;
        }
        GroupChoices choices;
        choices.chosen[group] = Value(option);
        if (find_node(compose_tree(name_, choices, find_).tree, key)) {
          return fmt::format("{}={}", group, option);
        }
      }
    }
    return {};
  }

  std::string nearest_in_tree(const std::string& key) const {
    // From the last part that does not fit: a slip in one part is likelier than in several.
    const HydraNode* node = &tree_;
    std::string prefix;
    std::vector<std::string_view> parts = split(key, '.');
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const HydraNode* next = node->is_map ? node->child(parts[i]) : nullptr;
      if (next) {
        prefix += std::string(parts[i]) + ".";
        node = next;
        continue;
      }
      std::vector<std::string_view> names;
      for (const HydraNode::Entry& entry : node->entries) {
        names.push_back(entry.key);
      }
      const std::string_view near = nearest(parts[i], names);
      if (near.empty()) {
        break;
      }
      std::string found = prefix + std::string(near);
      for (std::size_t k = i + 1; k < parts.size(); ++k) {
        found += "." + std::string(parts[k]);
      }
      return find_node(tree_, found) ? found : std::string();
    }
    return {};
  }

  void repeated(const Item& item) {
    const auto [at, fresh] = seen_.emplace(item.parsed.key, &item);
    if (fresh || item.word->conditional || at->second->word->conditional) {
      return;
    }
    const bool same = at->second->parsed.value == item.parsed.value;
    Diagnostic& d =
        errors_.add("HYD112", "repeated-override", *at->second->word, at->second->word->place(),
                    fmt::format("`{}` is set again later, and the last one wins", item.parsed.key),
                    item.parsed.key);
    d.severity = same ? Severity::info : Severity::warning;
    d.related.push_back({locate(item.word->place()), "set again here"});
    at->second = &item;
  }

  void check_fields() {
    for (const Item& item : added_) {
      const std::string field = unknown_field(tree_, schema_, item.parsed.key, options_.has_field);
      if (field.empty()) {
        continue;
      }
      Diagnostic& d =
          errors_.add("HYD110", "unknown-field", *item.word, item.parsed.key_word.place(),
                      fmt::format("{}, and building it fails", field), item.parsed.key);
      const std::string near = nearest_in_tree(item.parsed.key);
      if (!near.empty() && near != item.parsed.key) {
        d.help = fmt::format("did you mean `{}`?", near);
      }
    }
  }

  // Without the root's tree an override is a fact by itself, and nothing else is known.
  void plain_facts() {
    out_.facts.closed = false;
    for (const Item& item : values_) {
      const Override& o = item.parsed;
      if (o.kind == Override::Kind::remove || o.sweep) {
        continue;
      }
      HydraNode node;
      node.origin = Origin::override_value;
      node.key_span = o.key_word.place();
      node.value_span = o.value_word.place();
      node.set(item.word->conditional
                   ? unknown(Reason::branch, item.word->shown(), item.word->condition)
                   : o.value);
      HydraNode root;
      root.is_map = true;
      HydraNode* at = &root;
      for (std::string_view part : split(o.key, '.')) {
        at = &at->make(part);
        at->is_map = true;
      }
      *at = std::move(node);
      flatten_tree(root, out_.facts);
    }
  }

  std::span<const Word> words_;
  const HydraOptions& options_;
  const Schema& schema_;
  HydraRun out_;
  HydraErrors errors_;
  FindTreeFile find_;
  std::string name_;
  std::optional<Word> name_word_;
  bool multirun_ = false, unknown_choice_ = false, more_trees_ = false;
  int searches_ = 20;  // of other trees for a key that is not in this one
  std::vector<Item> items_, values_, added_;
  std::map<std::string, const Item*> seen_;
  GroupChoices extra_;
  std::set<const Word*> reported_;
  std::string meant_;  // group=option under which a refused key exists
  HydraNode tree_;
};

}  // namespace

std::string_view root_of_program(std::string_view program) {
  if (program.ends_with(".py")) {
    program.remove_suffix(3);
  }
  const std::string name = replace_all(std::string(program), "/", ".");
  for (const Program& row : programs) {
    const bool whole = name == row.name;
    if (whole || name.ends_with("." + std::string(row.name))) {
      return row.root;
    }
  }
  return {};
}

HydraRun read_hydra_arguments(std::span<const Word> words, const HydraOptions& options) {
  Run first(words, options);
  HydraRun run = first.read();
  if (first.meant().empty()) {
    return run;
  }
  // The tree that the refused keys belong to was meant: what follows is judged by that, so that one
  // slip is one finding a key and no more.
  Run again(words, options);
  again.choose(first.meant());
  HydraRun meant = again.read();
  if (meant.composed) {
    run.facts = std::move(meant.facts);
    run.groups = std::move(meant.groups);
    std::erase_if(run.diagnostics, [](const Diagnostic& d) { return d.code == "HYD110"; });
    for (Diagnostic& d : meant.diagnostics) {
      if (d.code == "HYD110") {
        run.diagnostics.push_back(std::move(d));
      }
    }
  }
  return run;
}

}  // namespace shardlint
