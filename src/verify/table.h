#pragma once
// Reports for people.

#include <string>
#include <vector>

#include "verify/judge.h"
#include "verify/plan.h"
#include "verify/report.h"

namespace shardlint::verify {

// Columns as wide as their widest cell; what begins with a digit stands to the right, unless all
// are words.
enum class Align { numbers_right, left };
std::string render_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent,
                         Align align = Align::numbers_right);

std::string bytes_text(double bytes);  // 1.5 MiB
std::string setting_text(const Setting& setting);

// Everything: checks, figures, settings of the configuration, verdict last.
std::string render(const Judgement& judgement, const Report& report, const Planned& planned,
                   bool verbose);

// The settings alone, as --dry-run shows them.
std::string render_settings(const Planned& planned, bool verbose);

}  // namespace shardlint::verify
