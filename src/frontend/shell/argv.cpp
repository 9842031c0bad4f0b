#include "frontend/shell/argv.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "frontend/shell/launcher.h"

namespace shardlint::shell {
namespace {

std::string place(const Span& span) {
  if (!span) {
    return "-";
  }
  const Location at = locate(span);
  return fmt::format("{}:{}:{}", at.file, at.begin.line, at.begin.column);
}

// Where the characters of a word stand, each run once.
std::string places(const Word& word) {
  std::string out;
  Span last;
  for (const Piece& piece : word.pieces) {
    if (!piece.span) {
      continue;
    }
    const bool joined = last && piece.span.source == last.source &&
                        piece.span.begin <= last.end + 1 && piece.span.begin >= last.begin;
    if (!joined) {
      out += (out.empty() ? "" : " + ") + place(piece.span);
    }
    last = piece.span;
  }
  return out.empty() ? place(word.written) : out;
}

void add_word(std::string& out, const Word& word) {
  std::string shown = word.shown();
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  std::string notes;
  for (const Piece& piece : word.pieces) {
    if (piece.unknown) {
      notes += fmt::format("; not known: {} ({})", piece.unknown->detail,
                           reason_name(piece.unknown->reason));
    }
  }
  if (word.conditional) {
    notes += "; only under the condition at " + place(word.condition);
  }
  if (word.open) {
    notes += "; may be no word or several";
  }
  if (word.env_default) {
    notes += "; a default, the environment may say otherwise";
  }
  out += fmt::format("    {:<50} {}{}\n", shown.empty() ? "''" : shown, places(word), notes);
}

void add_launch(std::string& out, const Launch& launch) {
  out += fmt::format("  launches {}{}\n", launch.module ? "-m " : "", launch.program);
  out += fmt::format("  framework {}\n", launch.framework.empty() ? "none" : launch.framework);
  for (const Fact& fact : launch.facts) {
    out += fmt::format("  {} = {}   {}{}\n", fact.key, fact.value.text(), place(fact.value_span),
                       fact.note.empty() ? "" : "; " + fact.note);
  }
  if (launch.passed_on) {
    out += fmt::format("  assumed: started without arguments, so that {} at {} adds nothing\n",
                       launch.passed_on.text(), place(launch.passed_on));
  }
  for (const Environment& each : launch.environment) {
    if (!each.exported) {
      out += fmt::format("  {} is set at {} but not exported\n", each.name, place(each.set_at));
    }
  }
}

}  // namespace

std::string explain(const Evaluation& evaluation, bool all) {
  std::string out;
  int number = 0;
  for (const Command& command : evaluation.commands) {
    Evaluation one;
    one.commands.push_back(command);
    const std::vector<Launch> launch = launches(one, true);
    if (launch.empty() && !all) {
      continue;
    }
    out += fmt::format("{}command {} at {}{}\n", out.empty() ? "" : "\n", ++number,
                       place(command.span), command.conditional ? ", not certain to run" : "");
    for (const Call& call : command.chain) {
      out += fmt::format("  by {} at {}\n", call.what, place(call.at));
    }
    if (!launch.empty()) {
      add_launch(out, launch[0]);
    }
    out += "  words\n";
    for (const Word& word : command.words) {
      add_word(out, word);
    }
  }
  if (out.empty()) {
    out = all ? "no command\n" : "no command that launches a program\n";
  }
  for (const Diagnostic& each : evaluation.diagnostics) {
    out += fmt::format("{} {}:{}:{}: {}\n", each.code, each.where.file, each.where.begin.line,
                       each.where.begin.column, each.message);
  }
  return out;
}

std::string explain_words(std::span<const std::string> words, Sources& sources, const Disk& disk,
                          const Options& options, bool all) {
  if (words.empty()) {
    throw Error("argv needs a script or a command");
  }
  if (disk.is_file(words[0]) && words[0].ends_with(".py") == false) {
    Options with = options;
    with.arguments.assign(words.begin() + 1, words.end());
    with.arguments_known = options.arguments_known || words.size() > 1;
    std::optional<std::string> text = disk.read(words[0]);
    if (!text) {
      throw Error("cannot read " + words[0]);
    }
    return explain(evaluate(sources.add(words[0], std::move(*text)), sources, disk, with), all);
  }
  // Quoted again, so that the evaluator sees the very words; a text that stands for a script
  // (bash -c '...') is still followed.
  std::string line;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) ||
             std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
    });
    line += line.empty() ? "" : " ";
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      line += c == '\'' ? "'\\''" : std::string(1, c);
    }
    line += '\'';
  }
  return explain(evaluate(sources.add("<arguments>", line + "\n"), sources, disk, options), all);
}

}  // namespace shardlint::shell
