#pragma once
// Where every rank of this process is, told as events on stdout, and the watchdog over it.
// docs/verify-protocol.md lists the events.

#include <functional>
#include <string>

namespace shardlint::ranks {

double seconds_since_start();

// One JSON object a line; safe from any thread. `fields` is the inside of the object, without
// braces, already JSON ("\"rank\":0"); name and time are added.
void emit(const std::string& event, const std::string& fields);
std::string quoted(const std::string& text);

// The calling thread becomes rank `rank` for what follows.
void become_rank(int rank);
int this_rank();  // -1 outside a rank's thread
void enter_phase(const std::string& phase, const std::string& detail = "");
void move_on(const std::string& detail);  // still moving, inside the phase
std::string current_phase(int rank);
double seconds_in(const std::string& phase);  // rank 0's time so far, for the report

struct Hang {
  int rank;
  std::string phase, detail;
  double idle;
};
struct Patience {
  double start, phase, total;  // seconds: until joined, without moving on, for everything
};
// Prints `alive` every `heartbeat` seconds; calls on_hang, once, when a rank stood still for too
// long or the whole took too long.
void start_watchdog(double heartbeat, const Patience& patience,
                    std::function<void(const Hang&)> on_hang);
void stop_watchdog();

}  // namespace shardlint::ranks
