#pragma once
// Reads the log of a training job, line by line, for what proves or disproves that it trained:
// test summaries, losses, assertions about checkpoint formats, errors that a rule knows.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint::verify {

struct LossLine {
  long iteration = 0, of = 0;  // of: 0 when the log does not say how many there will be
  std::string name;            // "lm loss", "actor/pg_loss"
  double loss = 0;             // may be NaN or infinite
  long nan_iterations = 0;     // that the framework counted and skipped
};
// Megatron's and verl's lines of progress.
std::optional<LossLine> loss_line(std::string_view line);

struct TestSummary {
  long passed = 0, failed = 0, errors = 0, skipped = 0;
};
// pytest's last line: "=== 2 passed, 1 skipped in 3.10s ===".
std::optional<TestSummary> test_summary(std::string_view line);

// Upstream refuses a checkpoint's format.
bool is_format_assertion(std::string_view line);

struct Followed {
  std::optional<TestSummary> tests;  // added up over ranks
  std::optional<LossLine> last_loss, first_bad_loss;
  std::string format_assertion;       // the first such line
  std::vector<Diagnostic> explained;  // what rules say about its errors, one for each rule
  std::string first_error;            // the first line that looks like one
  std::size_t lines = 0;
};

class LogReader {
 public:
  explicit LogReader(std::function<std::optional<Diagnostic>(std::string_view)> explain)
      : explain_(std::move(explain)) {}
  void line(std::string_view line);
  const Followed& seen() const { return seen_; }

 private:
  std::function<std::optional<Diagnostic>(std::string_view)> explain_;
  Followed seen_;
  std::size_t asked_ = 0;
};

}  // namespace shardlint::verify
