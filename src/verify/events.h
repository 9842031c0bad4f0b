#pragma once
// The trainer's events (docs/verify-protocol.md): lines of a pipe in, plain data out. Nothing that
// is read is trusted: lines and totals have limits, and a line may be anything.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint::verify {

struct RankPlace {
  int rank = -1;
  std::string phase, detail;
  double idle = 0;  // seconds since it last moved on
};

struct Event {
  std::string kind;  // hello, phase, step, alive, check, error, report
  double t = 0;
  int rank = -1;
  std::string phase, detail;     // phase, step, error
  std::vector<RankPlace> ranks;  // alive
  std::string run;               // step
  int step = 0;
  std::optional<double> loss, grad_norm, ms;  // step; nothing when null or not a number
  std::string name, verdict, reason;          // check
  double seconds = 0;                         // check
  std::string error, message;                 // error: its kind and text
  std::string report;                         // report: the object as text
};

// Nothing when the line is not a JSON object with a known "event".
std::optional<Event> parse_event(std::string_view line);

// Splits what a pipe delivers into lines.
class Lines {
 public:
  static constexpr std::size_t longest = std::size_t{16} << 20;
  // Appends and hands out the lines that are complete; the rest waits. A line that grows past
  // `longest` is dropped and counts as overlong.
  std::vector<std::string> feed(std::string_view bytes);
  std::string rest();  // what is left at the end
  bool overlong() const { return overlong_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::string pending_;
  bool overlong_ = false;
  std::size_t bytes_ = 0;
};

// A log that keeps its beginning and its end, and says how much it left out.
class Log {
 public:
  explicit Log(std::size_t half = std::size_t{256} << 10) : half_(half) {}
  void add(std::string_view line);
  std::string text() const;
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t half_, bytes_ = 0, dropped_ = 0;
  std::string head_, tail_;
};

}  // namespace shardlint::verify
