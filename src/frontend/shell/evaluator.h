#pragma once
// The evaluator's inside: one class, its members spread over files by what they are about.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/shell/shell.h"
#include "frontend/shell/state.h"
#include "frontend/shell/statements.h"
#include "frontend/shell/text.h"

namespace shardlint::shell {

enum class Truth { no, yes, unknown };
inline Truth negated(Truth t) {
  return t == Truth::unknown ? t : t == Truth::yes ? Truth::no : Truth::yes;
}
inline Truth truth(bool b) {
  return b ? Truth::yes : Truth::no;
}

// Output of a command substitution, or of the left side of a pipe.
struct Capture {
  Text text;
  bool unknown = false;
};

// The value of a parameter before it is put into words.
struct Parameter {
  bool set = false;
  bool from_environment = false;  // not set here; whoever starts the script may set it
  bool list = false;              // $@, ${A[@]}
  bool joined = false;            // $*, ${A[*]}
  std::vector<Field> fields;
};

// Collects the words that one written word expands to.
struct WordBuilder {
  bool split = true;  // false: assignment values, subjects of case: one text
  Span written;
  std::vector<Field> done;
  Field current;
  bool started = false;
  bool from_expansion = true;  // all of `current` came from unquoted expansions
  bool had_list = false;
  void finish(Notes& notes);
};

class Evaluator {
 public:
  Evaluator(Sources& sources, const Disk& disk, const Options& options);
  Evaluation run(const Source& source);

 private:
  enum class Flow { none, exited, returned, broken, continued };
  using Tokenized = std::vector<Token>;

  // evaluator.cpp: scripts, guards, messages
  Script& new_script(std::string text, Text origin, const Source* source, std::string path);
  Truth run_script(Script& script);
  bool step(std::size_t cost = 1);  // false: a guard stops everything
  void limit(std::string_view what, const Span& where);
  void report(const char* code, const char* name, Severity severity, Verdict verdict,
              std::string message, const Span& where, std::string help = {});
  Span span(std::uint32_t begin, std::uint32_t end) const;
  Text unknown(Reason reason, std::uint32_t begin, std::uint32_t end, std::string path = {});

  // run.cpp: statements
  Truth run(const Statement& statement);
  Truth sequence(const std::vector<Statement>& statements);
  Truth both_or_either(const Statement& statement);
  Truth pipeline(const Statement& statement);
  Truth if_clause(const Statement& statement, std::size_t from);
  Truth case_clause(const Statement& statement);
  Truth for_loop(const Statement& statement);
  Truth arithmetic_loop(const Statement& statement);
  Truth while_loop(const Statement& statement);
  Truth loop_body(const Statement& body, bool& stop);
  Truth subshell(const Statement& statement);
  Truth compound(const Statement& statement);
  // Runs every alternative on a copy and merges those that go on.
  void branch(const Span& condition, const std::vector<std::function<void()>>& alternatives);
  // Runs something whose condition holds; a body that only leaves the script is taken as a guard
  // against a missing argument and undone. False: it was.
  bool unless_guard(const std::function<void()>& body);
  void after_guard(const Statement& condition);
  bool launched_since(std::size_t commands) const;

  // command.cpp: simple commands
  Truth command(const Statement& statement);
  Truth run_words(std::vector<Field> words, const Span& where);
  Truth declare(std::string_view keyword, const Tokenized& tokens, std::size_t from);
  void assign(const Token& token, bool exported, bool local = false);
  void set_variable(const std::string& name, Variable value);
  void make_local(const std::string& name);
  std::optional<Text> input_of(const Tokenized& tokens);  // of << and <<<
  Text here_document(const HereDocument& document);
  void record(std::vector<Field> words, const Span& where);
  std::shared_ptr<const std::vector<Environment>> environment();

  // builtins.cpp
  std::optional<Truth> builtin(const std::string& name, std::vector<Field>& words,
                               const Span& where);
  Truth builtin_set(const std::vector<Field>& words);
  Truth builtin_read(const std::vector<Field>& words, const Span& where);
  Truth builtin_unset(const std::vector<Field>& words, const Span& where);
  Truth builtin_shift(const std::vector<Field>& words);
  Truth builtin_cd(const std::vector<Field>& words);
  Truth print(const std::vector<Field>& words, const Span& where);
  std::optional<Text> format(const std::vector<Field>& words, std::size_t from, const Span& where);
  void output(const Text& text, bool newline);
  std::optional<Truth> probe(const std::string& name, const std::vector<Field>& words);
  bool output_of_tool(const std::string& name, const std::vector<Field>& words, const Span& where);
  Text joined(const std::vector<Field>& words, std::size_t from);

  // follow.cpp: other scripts and strings that are run
  bool follow(std::vector<Field>& words, const Span& where);
  bool run_string(const Text& text, const Span& where, std::string what);
  bool run_file(const Field& word, std::vector<Field> arguments, const Span& where,
                std::string_view how, std::vector<Field> around);
  bool source_file(const std::vector<Field>& words, const Span& where);
  bool child(const std::function<void()>& body);
  std::optional<std::string> resolve(const Text& path, bool& reachable) const;
  Script* script_of(const std::string& path);
  Truth call_function(const std::string& name, const std::vector<Field>& words, const Span& where);
  bool batch(std::vector<Field>& words, const Span& where);

  // expand.cpp: words
  std::vector<Field> expand_word(const Token& token);
  std::vector<Field> expand_words(const Tokenized& tokens, std::size_t from);
  Text expand_whole(std::uint32_t begin, std::uint32_t end, bool assignment = false);
  void expand_range(WordBuilder& out, std::uint32_t begin, std::uint32_t end, bool assignment);
  void expand_quoted(WordBuilder& out, std::uint32_t begin, std::uint32_t end, bool here = false);
  std::uint32_t expand_dollar(WordBuilder& out, std::uint32_t at, std::uint32_t end, bool quoted);
  void put(WordBuilder& out, const Text& value, bool quoted);
  void put_list(WordBuilder& out, const std::vector<Field>& fields, bool quoted);
  std::string separators() const;
  void put_parameter(WordBuilder& out, const Parameter& value, bool quoted);
  Text substitution(std::uint32_t begin, std::uint32_t end, const Span& where, bool backtick);
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> braces(std::uint32_t begin,
                                                                           std::uint32_t end,
                                                                           int depth);

  // parameter.cpp: ${...}
  Parameter lookup(const std::string& name, const Span& where);
  Parameter special(char name, const Span& where);
  Parameter given(const Parameter& value, const std::string& name, const Span& where);
  Parameter subscript(Parameter value, const std::string& name, std::uint32_t begin,
                      std::uint32_t end, const Span& where);
  Parameter parameter(std::uint32_t begin, std::uint32_t end, const Span& where, bool quoted);
  Parameter defaulted(Parameter value, const std::string& name, char op, bool colon,
                      std::uint32_t begin, std::uint32_t end, const Span& where, bool quoted);
  Text changed(const Text& value, std::string_view op, std::uint32_t begin, std::uint32_t end,
               const Span& where);
  Text trimmed(const Text& value, const Text& pattern, bool front, bool longest, const Span& where);
  Text replaced(const Text& value, const Text& pattern, const Text& with, bool all, char anchor,
                const Span& where);
  std::optional<std::string> from_headers(std::string_view name, Span& where) const;

  // arithmetic.cpp
  std::optional<std::int64_t> arithmetic(const Text& expression, bool* env_default,
                                         std::shared_ptr<const Unknown>* why);
  std::optional<std::int64_t> number(const Text& text);
  Text arithmetic_text(std::uint32_t begin, std::uint32_t end, const Span& where);

  // condition.cpp
  Truth test(const std::vector<Field>& words, std::size_t from);
  Truth double_bracket(const Token& token);
  Truth unary(char op, const Text& operand);
  Truth binary(std::string_view op, const Text& left, const Text& right, bool pattern);
  Text assumed(const Text& text) const;

  Sources& sources_;
  const Disk& disk_;
  const Options& options_;
  Notes notes_;
  State state_;
  std::vector<std::unique_ptr<Script>> scripts_;
  std::map<std::string, Script*> files_;
  Script* script_ = nullptr;
  const std::string* root_path_ = nullptr;
  Evaluation out_;
  Flow flow_ = Flow::none;
  int flow_levels_ = 0;
  std::size_t steps_ = 0, held_ = 0;
  int depth_ = 0;
  bool stopped_ = false;
  bool assume_ = false;  // in a test: what is not given is empty
  Span condition_;       // of the unknown branch we are in
  std::vector<Call> chain_;
  std::vector<std::vector<Word>> around_;
  std::shared_ptr<const std::vector<Header>> headers_;
  std::vector<Environment> prefix_;
  Capture* capture_ = nullptr;
  std::optional<Text> input_;
  std::shared_ptr<const std::vector<Environment>> environment_;
  bool environment_changed_ = true;
  Truth last_status_ = Truth::yes;
  std::string absent_source_;  // the last sourced file that is not here: it may set any array

  friend class Arithmetic;
  friend class DoubleBracket;
};

// Whether `text` as a whole matches a pattern of * ? [...]; quoted characters stand for themselves.
Truth matches(const Text& pattern, const Text& text);

// Variables that a training program or its libraries read.
bool concerns_training(std::string_view name);
bool looks_like_script(std::string_view word);  // by its name

std::vector<Header> headers_of(const Source& source);
Span token_span(const Script& script, const Token& token);

}  // namespace shardlint::shell
