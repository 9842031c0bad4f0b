#pragma once
// Pieces of source under a finding: numbered lines with carets and labels.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/report.h"
#include "source/source.h"

namespace shardlint {

// ANSI colours, or nothing at all.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(std::string_view style, std::string_view text) const;
  static constexpr std::string_view red = "1;31", yellow = "1;33", cyan = "1;36", blue = "1;34",
                                    bold = "1", green = "1;32";

 private:
  bool on_;
};

std::string_view severity_style(Severity severity);

// The files of a report, each read at most once.
class Texts {
 public:
  explicit Texts(const Report& report) : report_(report) {}
  const Source* find(const std::string& path);  // null: no text to show

 private:
  const Report& report_;
  Sources sources_;
  std::unordered_map<std::string, const Source*> found_;
};

// Everything that a finding points at, its own place first, then the related ones; one block a
// file, lines in order. Empty when the finding has no place.
std::string excerpt(const Diagnostic& diagnostic, Texts& texts, const Paint& paint);

}  // namespace shardlint
