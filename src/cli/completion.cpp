// shardlint generate-shell-completion SHELL. The scripts ask the program itself for a command's
// options (`shardlint COMMAND --describe`), so they never lag behind it.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/parse.h"

namespace shardlint {
namespace {

constexpr std::string_view bash =
    R"~(# bash completion for shardlint; put it where bash-completion looks, or source it
_shardlint() {
  local word=${COMP_WORDS[COMP_CWORD]} i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@ --help --version" -- "$word")
    return
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" != -- ] || return
  done
  if [[ $word == -* ]]; then
    local options
    options=$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --describe 2>/dev/null | cut -f1 | tr ',\n' '  ')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    compopt -o default
  fi
}
complete -F _shardlint shardlint
)~";

constexpr std::string_view zsh = R"~(#compdef shardlint
# zsh completion for shardlint; put it into a folder of $fpath as _shardlint
_shardlint() {
  local -a commands options
  if (( CURRENT == 2 )); then
    commands=(@DESCRIBED@)
    _describe command commands
    return
  fi
  if [[ $words[CURRENT] == -* ]]; then
    local names takes type help name
    while IFS=$'\t' read -r names takes type help; do
      for name in ${(s:,:)names}; do
        options+=("${name}:${help//:/\\:}")
      done
    done < <($words[1] $words[2] --describe 2>/dev/null)
    _describe -o option options
  else
    _files
  fi
}
if [ "$funcstack[1]" = _shardlint ]; then
  _shardlint "$@"
else
  compdef _shardlint shardlint
fi
)~";

constexpr std::string_view fish =
    R"~(# fish completion for shardlint; put it into ~/.config/fish/completions/shardlint.fish
function __shardlint_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    for line in ($words[1] $words[2] --describe 2>/dev/null)
        set -l parts (string split \t -- $line)
        for name in (string split , -- $parts[1])
            printf '%s\t%s\n' $name $parts[4]
        end
    end
end
@FISH@complete -c shardlint -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__shardlint_options)'
)~";

}  // namespace

int run_completion(Arguments arguments) {
  std::string shell;
  CLI::App app("Print a completion script.", "shardlint generate-shell-completion");
  app.add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  std::string names, described, fished;
  for (const Command& command : commands()) {
    const std::string summary = replace_all(std::string(command.summary), "'", "");
    names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
    described += fmt::format("\n      '{}:{}'", command.name, replace_all(summary, ":", "\\:"));
    fished += fmt::format("complete -c shardlint -n __fish_use_subcommand -f -a {} -d '{}'\n",
                          command.name, summary);
  }
  std::string script(shell == "bash" ? bash : shell == "zsh" ? zsh : fish);
  script = replace_all(std::move(script), "@COMMANDS@", names);
  script = replace_all(std::move(script), "@DESCRIBED@", described);
  fmt::print("{}", replace_all(std::move(script), "@FISH@", fished));
  return 0;
}

}  // namespace shardlint
