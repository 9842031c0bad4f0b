// Four small bar charts beside each other, one a figure, one bar a strategy.
#include <algorithm>

#include <fmt/core.h>

#include "verify/evidence.h"
#include "verify/table.h"

namespace shardlint::verify {
namespace {

struct Panel {
  const char* title;
  Number Compared::*value;
  bool bytes;
};
constexpr Panel panels[] = {
    {"step time, ms", &Compared::median_ms, false},
    {"tokens per second", &Compared::tokens_per_s, false},
    {"exposed communication, ms", &Compared::exposed_ms, false},
    {"peak memory per rank", &Compared::peak_bytes, true},
};
constexpr const char* colours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1"};

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string panel_svg(const Panel& panel, const std::vector<Compared>& rows, int left) {
  double most = 0;
  for (const Compared& row : rows) {
    most = std::max(most, (row.*panel.value).value_or(0));
  }
  std::string out =
      fmt::format("<text x=\"{}\" y=\"20\" font-weight=\"bold\">{}</text>\n", left, panel.title);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Number value = rows[i].*panel.value;
    const int y = 34 + static_cast<int>(i) * 36;
    const double width = value && most > 0 ? *value / most * 190 : 0;
    const std::string shown = !value           ? std::string("not measured")
                              : panel.bytes    ? bytes_text(*value)
                              : *value >= 1000 ? fmt::format("{:.0f}", *value)
                                               : fmt::format("{:.2f}", *value);
    out += fmt::format(
        "<text x=\"{0}\" y=\"{1}\">{2}</text>\n"
        "<rect x=\"{0}\" y=\"{3}\" width=\"{4:.1f}\" height=\"12\" fill=\"{5}\"/>\n"
        "<text x=\"{6:.1f}\" y=\"{7}\">{8}</text>\n",
        left, y + 8, escape(rows[i].strategy), y + 12, width, colours[i % std::size(colours)],
        left + width + 4, y + 22, shown);
  }
  return out;
}

}  // namespace

std::string plot(const Report& report, const std::string& path) {
  const int height = 50 + static_cast<int>(report.compare.size()) * 36 + 20;
  const int each = 280;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      20 + each * static_cast<int>(std::size(panels)), height);
  int left = 20;
  for (const Panel& panel : panels) {
    svg += panel_svg(panel, report.compare, left);
    left += each;
  }
  const std::string machine = report.devices.empty() ? report.backend
                                                     : fmt::format("{} x {}", report.devices.size(),
                                                                   report.devices[0].name);
  svg += fmt::format(
      "<text x=\"20\" y=\"{}\" fill=\"#555\">shardlint verify --compare: {} ranks, "
      "{}</text>\n</svg>\n",
      height - 8, report.ranks, escape(machine));
  if (!path.ends_with(".html") && !path.ends_with(".htm")) {
    return svg;
  }
  return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>shardlint verify --compare</title>\n" +
         svg;
}

}  // namespace shardlint::verify
