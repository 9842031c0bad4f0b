#include "verify/table.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace shardlint::verify {
namespace {

std::string figure(const Number& number, const char* unit = "", int digits = 2) {
  return number ? fmt::format("{:.{}f}{}", *number, digits, unit) : std::string("-");
}

std::string bytes_figure(const Number& number) {
  return number ? bytes_text(*number) : "-";
}

bool numeric(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) || cell == "-");
}

std::size_t width_of(const std::string& cell) {  // code points
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string checks_text(const Judgement& judgement) {
  std::vector<std::vector<std::string>> rows;
  for (const Check& check : judgement.checks) {
    rows.push_back({check.name, check.verdict == "not_here" ? "not here" : check.verdict,
                    fmt::format("{:.2f} s", check.seconds), check.reason});
  }
  std::string out = "checks\n" + render_table(rows, "  ");
  for (const Check& check : judgement.checks) {
    if (check.verdict != "fail") {
      continue;
    }
    for (const CheckRow& row : check.rows) {
      if (!row.ok) {
        out += fmt::format("    {}: {}: got {}, expected {}, difference {}, limit {}\n", check.name,
                           row.what, figure(row.value, "", 6), figure(row.expected, "", 6),
                           row.difference ? fmt::format("{:.3g}", *row.difference) : "-",
                           row.limit ? fmt::format("{:.3g}", *row.limit) : "-");
      }
    }
    for (const CheckFinding& finding : check.findings) {
      out += fmt::format("    {} {} {}\n", finding.file, finding.code, finding.message);
    }
  }
  return out;
}

std::string machine_text(const Report& report) {
  std::string out;
  if (!report.devices.empty()) {
    const Device& first = report.devices[0];
    out = fmt::format("{} x {}{}", report.devices.size(), first.name,
                      first.capability.empty() ? "" : " (" + first.capability + ")");
  }
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      out += (out.empty() ? "" : ", ") + std::string(name) + " " + value;
    }
  };
  add("driver CUDA", report.driver);
  add("NCCL", report.nccl);
  add("cuBLASLt", report.cublaslt);
  return out.empty() ? "" : "machine: " + out + "\n";
}

std::string figures_text(const Report& report) {
  std::string out;
  if (!report.runs.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"run", "first loss", "last loss", "step ms", "tokens/s", "exposed ms"}};
    for (const Run& run : report.runs) {
      rows.push_back({run.name, figure(run.loss.empty() ? Number() : run.loss.front(), "", 4),
                      figure(run.loss.empty() ? Number() : run.loss.back(), "", 4),
                      figure(run.median_ms), figure(run.tokens_per_s, "", 0),
                      figure(run.exposed_ms)});
    }
    out += "training\n" + render_table(rows, "  ");
  }
  if (!report.bandwidth.empty()) {
    std::vector<std::vector<std::string>> rows = {{"collective", "size", "median us", "bus GB/s"}};
    for (const Bandwidth& row : report.bandwidth) {
      rows.push_back({row.collective, bytes_figure(row.bytes), figure(row.median_us, "", 1),
                      figure(row.bus_gbs, "", 1)});
    }
    out += "collectives\n" + render_table(rows, "  ");
  }
  if (!report.memory.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"rank", "strategy", "model state", "expected", "peak"}};
    for (const Memory& row : report.memory) {
      rows.push_back({std::to_string(row.rank), row.strategy, bytes_figure(row.model_state),
                      bytes_figure(row.expected_model_state), bytes_figure(row.peak)});
    }
    out += "memory\n" + render_table(rows, "  ");
  }
  if (report.checkpoint_bytes) {
    out += fmt::format("checkpoint: {}, saved in {}, checked in {}, loaded in {}{}\n",
                       bytes_text(*report.checkpoint_bytes), figure(report.save_s, " s"),
                       figure(report.check_s, " s"), figure(report.load_s, " s"),
                       report.checkpoint_kept ? ", kept in " + report.checkpoint_directory : "");
  }
  if (!report.compare.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"strategy", "step ms", "tokens/s", "exposed ms", "peak", "model state"}};
    for (const Compared& row : report.compare) {
      rows.push_back({row.strategy, figure(row.median_ms), figure(row.tokens_per_s, "", 0),
                      figure(row.exposed_ms), bytes_figure(row.peak_bytes),
                      bytes_figure(row.model_state_bytes)});
    }
    out += "strategies compared\n" + render_table(rows, "  ");
  }
  return out;
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string render_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent,
                         Align align) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - width_of(row[i]), ' ');
      const bool last = i + 1 == row.size();
      line += align == Align::numbers_right && numeric(row[i]) && !last
                  ? pad + row[i]
                  : row[i] + (last ? "" : pad);
      line += last ? "" : "  ";
    }
    out += std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n";
  }
  return out;
}

std::string setting_text(const Setting& setting) {
  std::string where;
  if (!setting.where.file.empty()) {
    where = fmt::format("{}:{}: ", setting.where.file, setting.where.begin.line);
  }
  return fmt::format("{}{} = {}{}", where, setting.key, setting.value,
                     setting.how.empty() ? "" : ": " + setting.how);
}

std::string render_settings(const Planned& planned, bool verbose) {
  std::string out;
  for (const Use use : {Use::exercised, Use::scaled, Use::not_exercised}) {
    std::vector<const Setting*> rows;
    for (const Setting& setting : planned.settings) {
      if (setting.use == use) {
        rows.push_back(&setting);
      }
    }
    if (rows.empty()) {
      continue;
    }
    out += fmt::format("{} ({})\n", use_name(use), rows.size());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Setting* a, const Setting* b) { return a->limits > b->limits; });
    // What limits the verdict is always shown; the rest of a long list only on request.
    constexpr std::size_t most = 40;
    std::size_t shown = 0;
    for (const Setting* setting : rows) {
      if (verbose || setting->limits || shown < most) {
        out += (setting->limits ? "  ! " : "    ") + setting_text(*setting) + "\n";
        ++shown;
      }
    }
    if (shown < rows.size()) {
      out += fmt::format("    ... and {} more: --verbose, or the evidence file\n",
                         rows.size() - shown);
    }
  }
  for (const std::string& note : planned.notes) {
    out += "note: " + note + "\n";
  }
  return out;
}

std::string render(const Judgement& judgement, const Report& report, const Planned& planned,
                   bool verbose) {
  std::string out = machine_text(report);
  if (!judgement.checks.empty()) {
    out += checks_text(judgement);
  }
  out += figures_text(report);
  for (const auto& [what, why] : report.not_exercised) {
    out += "not exercised by the trainer: " + what + ": " + why + "\n";
  }
  for (const auto& [kind, simulated] : report.faults) {
    out += "fault " + kind + (simulated ? " (simulated)" : " (really injected)") + "\n";
  }
  if (!planned.settings.empty()) {
    out += "settings of the configuration\n" + render_settings(planned, verbose);
  }
  for (const Diagnostic& d : judgement.diagnostics) {
    out += d.where.file.empty()
               ? std::string("finding: ")
               : fmt::format("{}:{}:{}: ", d.where.file, d.where.begin.line, d.where.begin.column);
    out += d.code + " " + d.message + "\n";
  }
  out += "verdict: " + judgement.headline + "\n";
  return out;
}

}  // namespace shardlint::verify
