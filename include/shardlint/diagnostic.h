#pragma once
// What shardlint says about a configuration, a checkpoint or a verification run: one type for all
// of them. Plain data, no third-party types. Formats (text, JSON, SARIF, ...) are made from it.

#include <cstdint>
#include <string>
#include <vector>

namespace shardlint {

struct Position {
  std::uint32_t offset = 0;  // bytes from the start of the file
  std::uint32_t line = 1;    // from 1
  std::uint32_t column = 1;  // from 1, in Unicode code points
  auto operator<=>(const Position&) const = default;
};

// [begin, end) in a file. An empty file name means that the finding has no place in a file
// (the command line itself, a machine); a file of which only the name matters has begin == end.
struct Location {
  std::string file;
  Position begin, end;
  auto operator<=>(const Location&) const = default;
};

enum class Severity { info, warning, error };

// unknown: the inputs do not decide it; `unknowns` says which and why.
enum class Verdict { violation, unknown };

// safe: the job means the same or what was plainly meant. unsafe: a person should look.
// display: shown, never applied.
enum class Safety { safe, unsafe, display };

struct Edit {
  Location where;
  std::string text;
};

struct Fix {
  std::string title;
  Safety safety = Safety::unsafe;
  std::vector<Edit> edits;
};

struct Note {
  Location where;
  std::string text;
};

// The upstream statement that makes a finding true.
struct Evidence {
  std::string repo, commit, path, lines, kind;
};

// The key at the primary location. `origin`: set | default | override | env | computed | unknown.
struct KeyInfo {
  std::string canonical, path, value, origin;
};

struct UnknownInput {
  std::string key,
      reason;          // reason: env, interpolation, dynamic-python, sourced-file, fragment, ...
  std::string detail;  // a sentence: why, and what to supply
  Location where;
};

struct Diagnostic {
  std::string code;  // stable, for example CKP104
  std::string name;  // for example megatron-fsdp-checkpoint-format
  Severity severity = Severity::error;
  Verdict verdict = Verdict::violation;
  std::string message, help, url;
  Location where;
  KeyInfo key;
  std::string framework, framework_version;
  std::string case_id;   // which case of the rule
  std::string instance;  // which configuration of the file: a command, a function, a role
  std::vector<Note> related;
  std::vector<Note> flow;  // how the value got here, first step first
  std::vector<UnknownInput> unknowns;
  std::vector<Fix> fixes;
  std::vector<Evidence> evidence;
  std::string fingerprint;  // stable under line moves
};

// What would have been a finding, and what keeps it quiet.
struct Suppressed {
  Diagnostic diagnostic;
  std::string kind;    // inline | range | file | config | baseline
  std::string reason;  // as the user wrote it; may be empty
};

}  // namespace shardlint
