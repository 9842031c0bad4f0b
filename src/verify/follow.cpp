#include "verify/follow.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/strings.h"

namespace shardlint::verify {
namespace {

constexpr std::size_t most_questions = 500;  // to the rules, about one log

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number behind `label`: "number of nan iterations:   0 |".
std::optional<double> number_after(std::string_view line, std::string_view label) {
  const auto at = line.find(label);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = trim(line.substr(at + label.size()));
  return to_double(lower(rest.substr(0, rest.find_first_of(" |\t,"))));
}

std::optional<LossLine> megatron_line(std::string_view line) {
  const auto at = line.find(" iteration ");
  if (at == std::string_view::npos) {
    return {};
  }
  const std::vector<std::string_view> cells = split(line.substr(at + 11), '|');
  const auto slash = cells[0].find('/');
  const auto iteration = to_integer(trim(cells[0].substr(0, slash)));
  if (!iteration || slash == std::string_view::npos) {
    return {};
  }
  LossLine out;
  out.iteration = static_cast<long>(*iteration);
  out.of = static_cast<long>(to_integer(trim(cells[0].substr(slash + 1))).value_or(0));
  out.nan_iterations =
      static_cast<long>(number_after(line, "number of nan iterations:").value_or(0));
  for (const std::string_view cell : cells) {
    const auto colon = cell.rfind(':');
    const std::string_view name = trim(cell.substr(0, colon));
    if (colon != std::string_view::npos && name.ends_with("loss")) {
      if (const auto value = to_double(lower(trim(cell.substr(colon + 1))))) {
        // A NaN in any of them counts; otherwise the language model's goes first.
        if (out.name.empty() || (name == "lm loss" && std::isfinite(out.loss)) ||
            !std::isfinite(*value)) {
          out.name = name;
          out.loss = *value;
        }
      }
    }
  }
  return out.name.empty() && out.nan_iterations == 0 ? std::nullopt : std::optional(out);
}

// "step:3 - actor/pg_loss:0.12 - actor/grad_norm:1.5"
std::optional<LossLine> verl_line(std::string_view line) {
  const auto at = line.find("step:");
  if (at == std::string_view::npos || !has(line, " - ")) {
    return {};
  }
  LossLine out;
  bool first = true;
  for (std::string_view rest = line.substr(at); !rest.empty();) {
    const auto end = rest.find(" - ");
    const std::string_view cell = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 3);
    const auto colon = cell.rfind(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    const std::string_view name = trim(cell.substr(0, colon));
    const std::string value = lower(trim(cell.substr(colon + 1)));
    if (std::exchange(first, false)) {
      const auto step = to_integer(value);
      if (!step) {
        return {};
      }
      out.iteration = static_cast<long>(*step);
    } else if (const auto number = to_double(value); number && name.ends_with("loss")) {
      if (out.name.empty() || !std::isfinite(*number)) {
        out.name = name;
        out.loss = *number;
      }
    }
  }
  return out.name.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

std::optional<LossLine> loss_line(std::string_view line) {
  if (line.size() > 65536) {
    return {};
  }
  const auto found = megatron_line(line);
  return found ? found : verl_line(line);
}

std::optional<TestSummary> test_summary(std::string_view line) {
  const auto in = line.rfind(" in ");
  if (in == std::string_view::npos || line.size() > 1000) {
    return {};
  }
  const auto seconds = line.find_first_not_of("0123456789.", in + 4);
  if (seconds == std::string_view::npos || seconds == in + 4 || line[seconds] != 's') {
    return {};
  }
  TestSummary out;
  bool any = false;
  std::string_view counts = line.substr(0, in);
  if (const auto equals = counts.rfind("= "); equals != std::string_view::npos) {
    counts.remove_prefix(equals + 2);
  }
  for (const std::string_view part : split(counts, ',')) {
    const std::vector<std::string_view> words = split(trim(part), ' ');
    const auto count = words.size() == 2 ? to_integer(words[0]) : std::nullopt;
    if (!count) {
      continue;
    }
    const std::string_view what = words[1];
    long* into = what == "passed"                      ? &out.passed
                 : what == "failed"                    ? &out.failed
                 : what == "error" || what == "errors" ? &out.errors
                 : what == "skipped"                   ? &out.skipped
                                                       : nullptr;
    if (into) {
      *into = static_cast<long>(*count);
      any = true;
    }
  }
  return any ? std::optional(out) : std::nullopt;
}

bool is_format_assertion(std::string_view line) {
  const bool error = has(line, "AssertionError") || has(line, "ValueError") ||
                     has(line, "RuntimeError") || has(line, "NotImplementedError");
  const std::string text = lower(line);
  return error && (has(text, "fsdp_dtensor") || has(text, "ckpt_format") ||
                   (has(text, "checkpoint") && has(text, "format")));
}

void LogReader::line(std::string_view line) {
  ++seen_.lines;
  if (const auto loss = loss_line(line)) {
    seen_.last_loss = loss;
    if (!seen_.first_bad_loss && (!std::isfinite(loss->loss) || loss->nan_iterations > 0)) {
      seen_.first_bad_loss = loss;
    }
    return;
  }
  if (const auto tests = test_summary(line)) {
    TestSummary sum = seen_.tests.value_or(TestSummary{});
    sum.passed += tests->passed;
    sum.failed += tests->failed;
    sum.errors += tests->errors;
    sum.skipped += tests->skipped;
    seen_.tests = sum;
    return;
  }
  const bool error = has(line, "Error") || has(line, "Exception") || has(line, "assert") ||
                     has(line, "not support");
  if (!error) {
    return;
  }
  if (seen_.first_error.empty() && (has(line, "Error:") || has(line, "Exception:"))) {
    seen_.first_error = std::string(trim(line)).substr(0, 500);
  }
  if (seen_.format_assertion.empty() && is_format_assertion(line)) {
    seen_.format_assertion = std::string(trim(line)).substr(0, 500);
  }
  if (explain_ && asked_ < most_questions) {
    ++asked_;
    auto found = explain_(line);
    const auto known = [&](const Diagnostic& d) { return d.code == found->code; };
    if (found && std::none_of(seen_.explained.begin(), seen_.explained.end(), known)) {
      seen_.explained.push_back(std::move(*found));
    }
  }
}

}  // namespace shardlint::verify
