#pragma once
// What argparse refuses, said at the word that it refuses. Codes ARG1xx.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/overrides/argparse.h"
#include "frontend/words.h"
#include "schema/schema.h"
#include "shardlint/diagnostic.h"

namespace shardlint {

class ArgumentErrors {
 public:
  ArgumentErrors(const Schema& schema, const ArgumentListOptions& options,
                 std::vector<Diagnostic>& out)
      : schema_(schema), script_(options.script), declared_(options.declared), out_(out) {}

  // ARG101. True when the flag may be the script's own, so that what it does is not known.
  bool foreign(const Word& word, std::string_view flag);
  // ARG102: too few values, or --flag=value where several are due.
  void count(const Word& flag, const Option& option, std::size_t given);
  // ARG103, ARG104
  void type(const Word& flag, const Word& value, const Option& option);
  void choice(const Word& flag, const Word& value, const Option& option);
  // ARG105: --flag=value for a switch.
  void switch_with_value(const Word& whole, const Word& flag, const Word& value,
                         const Option& option);
  // ARG106: words that belong to no flag.
  void stray(const Word& word, std::size_t count);
  // ARG110: the file of --yaml-cfg replaces every flag.
  void yaml_cfg(const Word& flag, std::size_t others);

 private:
  Diagnostic& add(const char* code, const char* name, const Word& at, std::string message,
                  const Option* option);
  const Schema& schema_;
  std::string script_;
  std::function<bool(std::string_view)> declared_;
  std::vector<Diagnostic>& out_;
  int suggestions_ = 50;  // each looks through every flag; beyond that many nobody reads them
};

}  // namespace shardlint
