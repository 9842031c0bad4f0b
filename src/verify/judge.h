#pragma once
// From how the trainer ended and what it reported to a verdict, an exit code and diagnostics at the
// configuration's lines. The report is not taken at its word: what is missing or not finite is not
// passed, whatever it says.

#include <string>
#include <vector>

#include "shardlint/diagnostic.h"
#include "verify/launch.h"
#include "verify/plan.h"
#include "verify/report.h"

namespace shardlint::verify {

struct Judgement {
  enum class Outcome { pass, fail, cannot_run, error } outcome = Outcome::error;
  std::string headline;       // one line: the verdict with rank, phase and seconds
  std::vector<Check> checks;  // one for each that was wanted, in the plan's order
  std::vector<Diagnostic> diagnostics;
  int exit_code = 2;  // 0 pass, 1 fail, 2 could not be done, 77 cannot run here, 128+n interrupted
};

// Settings that the trainer, having looked at the plan, leaves out after all: they are no longer
// exercised, whatever was hoped for.
void take_back(const Report& report, Planned& planned);

Judgement judge(const Launched& launched, const Report& report, const Planned& planned);

// Where a finding of that check belongs: the settings that it tests, else the configuration.
Location place_of(std::string_view check, const Planned& planned);

}  // namespace shardlint::verify
