#pragma once
// Where reports go: standard output, and any number of files.

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace shardlint {

enum class Color { automatic, always, never };

struct Output {
  std::string format = "full";
  std::string file;  // empty: standard output
};

// Parses "FMT=PATH"; "-" is standard output. Throws Error.
Output parse_output(const std::string& text);

// NO_COLOR, FORCE_COLOR, TERM and whether `descriptor` is a terminal.
bool use_color(Color color, int descriptor);

// Renders and writes all of them. Throws Error when a file cannot be written.
void write_outputs(const std::vector<Output>& outputs, const Report& report, Look look,
                   Color color);

}  // namespace shardlint
