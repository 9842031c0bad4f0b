// Megatron-LM: the files of its functional tests, which stand for command lines, and the nested
// files that --yaml-cfg takes.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/yaml/dialects.h"

namespace shardlint::yaml {
namespace {

constexpr std::string_view arguments_key = "MODEL_ARGS";

// MODEL_ARGS, MODEL_ARGS_2 ...: one run each.
bool is_run(std::string_view key) {
  if (!key.starts_with(arguments_key)) {
    return false;
  }
  const std::string_view rest = key.substr(arguments_key.size());
  return rest.empty() || (rest[0] == '_' && rest.size() > 1 &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// Runs of another program (NeMo) have keys that are no flags.
bool has_flags(const Node& run) {
  return std::any_of(run.entries().begin(), run.entries().end(),
                     [](const Pair& pair) { return key_text(*pair.key).starts_with("--"); });
}

bool is_test(const Node& root) {
  return std::any_of(root.entries().begin(), root.entries().end(), [](const Pair& pair) {
    return is_run(key_text(*pair.key)) && pair.value->is_mapping() && has_flags(*pair.value);
  });
}

Certainty recognise(const Node& root, std::string_view) {
  const bool nested = has_mapping(root, "model_parallel") && has_mapping(root, "language_model");
  return is_test(root) || nested ? Certainty::sure : Certainty::none;
}

// A scalar's text and, where it stands in the file as it is, the place of each character.
struct Placed {
  std::string text;
  Span whole;
  std::optional<std::uint32_t> begin;  // of text[0]

  Piece piece(std::size_t from, std::size_t to) const {
    Piece out;
    out.text = text.substr(from, to - from);
    out.span = whole;
    out.verbatim = begin.has_value();
    if (begin) {
      out.span.begin = *begin + static_cast<std::uint32_t>(from);
      out.span.end = *begin + static_cast<std::uint32_t>(to);
    }
    return out;
  }
};

Placed placed(const Node& node) {
  const Node& real = node.real();
  Placed out{real.text, real.span, std::nullopt};
  const std::string_view written = real.span.text();
  if (written == real.text) {
    out.begin = real.span.begin;
  } else if (written.size() == real.text.size() + 2 &&
             written.substr(1, real.text.size()) == real.text) {
    out.begin = real.span.begin + 1;
  }
  return out;
}

// The end of $NAME or ${...} at a dollar, or 0 when it is none.
std::size_t variable_end(std::string_view text, std::size_t dollar) {
  const auto name = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (text.substr(dollar, 2) == "${") {
    const std::size_t close = text.find('}', dollar);
    return close == std::string_view::npos ? 0 : close + 1;
  }
  std::size_t end = dollar + 1;
  while (end < text.size() && name(text[end])) {
    ++end;
  }
  return end > dollar + 1 ? end : 0;
}

// One word; variables of the environment are unknown pieces.
Word word_of(const Placed& value, std::size_t from, std::size_t to) {
  Word word;
  word.written = value.piece(from, to).span;
  const std::string_view text = std::string_view(value.text).substr(0, to);
  for (std::size_t at = from; at < to;) {
    const std::size_t dollar = std::min(text.find('$', at), to);
    const std::size_t end = dollar < to ? variable_end(text, dollar) : 0;
    const std::size_t known = end ? dollar : to;
    if (known > at) {
      word.pieces.push_back(value.piece(at, known));
    }
    if (end) {
      Piece piece = value.piece(dollar, end);
      piece.unknown = std::make_shared<const Unknown>(
          Unknown{Reason::environment, piece.text, piece.span, false, {}});
      piece.text = std::string(1, Word::unknown_mark);
      piece.verbatim = false;
      word.pieces.push_back(std::move(piece));
    }
    at = end ? end : to;
  }
  return word;
}

Word unknown_word(const Node& node, std::string detail) {
  Word word;
  word.written = node.span;
  word.open = true;
  Piece piece;
  piece.text = std::string(1, Word::unknown_mark);
  piece.span = node.span;
  piece.verbatim = false;
  piece.unknown = std::make_shared<const Unknown>(
      Unknown{Reason::dynamic, std::move(detail), node.span, false, {}});
  word.pieces.push_back(std::move(piece));
  return word;
}

// What the test's shell script makes of the text before it reaches the program: quotes removed,
// runs of blanks one blank.
Placed after_xargs(Placed value) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const char c = value.text[i];
    if (quote) {
      quote == c ? void(quote = 0) : out.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '\\' && i + 1 < value.text.size()) {
      out.push_back(value.text[++i]);
    } else if (c != ' ' && c != '\t' && c != '\n') {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  while (out.ends_with(' ')) {
    out.pop_back();
  }
  if (out != value.text) {
    value.text = std::move(out);
    value.begin.reset();
  }
  return value;
}

// true: the flag alone. [a b]: several words. Text with blanks, bars or parentheses: one word.
void add_value(const Node& node, std::vector<Word>& words) {
  if (!node.is_scalar()) {
    words.push_back(unknown_word(node, node.is_null() ? "no value" : "a list or mapping"));
    return;
  }
  const Node& real = node.real();
  const Value meaning = resolve_scalar(real.text, real.style, real.tag, Mode::core12);
  const bool* flag = meaning.if_bool();  // not ==: to Python 1 is True
  if ((flag && *flag) || real.text == "true") {
    return;
  }
  const Placed value = after_xargs(placed(node));
  const std::string& text = value.text;
  const bool bracketed =
      text.size() > 2 && text.front() == '[' && text.find(']') == text.size() - 1;
  if (bracketed) {
    for (std::size_t at = 1; at + 1 < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size() - 1);
      if (end > at) {
        words.push_back(word_of(value, at, end));
      }
      at = end + 1;
    }
    return;
  }
  const bool one = text.find_first_of(" |()") != std::string::npos;
  if (!one && text.find_first_of(";&<>`") != std::string::npos) {
    words.push_back(unknown_word(node, "text that the shell would interpret"));
    return;
  }
  words.push_back(word_of(value, 0, text.size()));
}

void add_environment(const Node& root, Facts& facts) {
  const Node* variables = root.find("ENV_VARS");
  for (const Pair& pair : variables ? variables->entries() : std::vector<Pair>()) {
    if (pair.value->is_scalar() || pair.value->is_null()) {
      const Placed value = placed(*pair.value);
      const Word word = word_of(value, 0, value.text.size());
      facts.facts.push_back({"env." + key_text(*pair.key), word.value(), pair.key->span,
                             pair.value->span, Origin::environment, ""});
    }
  }
}

void add_launcher(const Node& root, const std::string& run, Facts& facts) {
  const Node* all = root.find("MODEL_ENV_VARS");
  const Node* mine = all ? all->find(run) : nullptr;
  const Pair* gpus = mine ? mine->entry("GPUS_PER_NODE") : nullptr;
  if (gpus) {
    facts.facts.push_back({"nproc_per_node", to_value(*gpus->value, Mode::core12), gpus->key->span,
                           gpus->value->span, Origin::set, ""});
  }
}

void read_test(const Node& root, Reading& into) {
  const Node* mode = root.find("MODE");
  for (const Pair& pair : root.entries()) {
    const std::string run = key_text(*pair.key);
    if (!is_run(run) || !pair.value->is_mapping() || !has_flags(*pair.value)) {
      continue;
    }
    ArgumentList list;
    list.mode = mode ? std::string(mode->scalar()) : "pretraining";
    list.facts.framework = "megatron-lm";
    list.facts.closed = true;
    list.facts.anchor = pair.key->span;
    list.facts.instance = run;
    add_environment(root, list.facts);
    add_launcher(root, run, list.facts);
    for (const Pair& entry : pair.value->entries()) {
      const Placed flag = placed(*entry.key);
      list.words.push_back(word_of(flag, 0, flag.text.size()));
      add_value(*entry.value, list.words);
    }
    into.arguments.push_back(std::move(list));
  }
  if (into.arguments.size() == 1) {
    into.arguments.front().facts.instance.clear();
  }
}

// Keys keep their sections, model_parallel.x: upstream checks such files by rules of their own.
// Its loader is PyYAML's safe one, to which the ${NAME} syntax is plain text.
void read_nested(const Node& root, Reading& into) {
  Facts facts;
  facts.framework = "megatron-lm";
  facts.base = "yaml-cfg";
  if (!root.entries().empty()) {
    facts.anchor = root.entries().front().key->span;
  }
  flatten({&root, Mode::pyyaml11, false, false}, root, "", facts);
  into.configurations.push_back(std::move(facts));
}

void read(const Node& root, std::string_view, Reading& into) {
  is_test(root) ? read_test(root, into) : read_nested(root, into);
}

Repeats repeats(const Node& root) {
  return is_test(root) ? Repeats::both : Repeats::last_wins;
}

}  // namespace

const Dialect megatron_lm_dialect{"megatron-lm", recognise, read, repeats};

}  // namespace shardlint::yaml
