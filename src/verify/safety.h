#pragma once
// What a verification will do to the machine, said before it is done; and the refusals.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/plan.h"

namespace shardlint::verify {

// Arithmetic over the plan; about, not exact.
struct Estimate {
  double parameters = 0;
  double memory_per_rank = 0;  // bytes at the worst moment: the unsharded run that parity needs
  double disk = 0;             // bytes below the checkpoint directory at the worst moment
  double seconds = 0;
};
Estimate estimate(const Plan& plan, std::string_view backend);

struct Doing {
  std::string backend, executable;
  std::vector<std::string> devices;  // names, when they are known
  std::string evidence, plot;        // files that will be written; empty: none
};

// A page: devices, memory, time, bytes and where, environment.
std::string announcement(const Planned& planned, const Estimate& estimate, const Doing& doing);

// Why nothing may be written to that directory, or empty: it holds a checkpoint already, cannot be
// written to, or has too little room. Empty `directory`: the temporary folder.
std::string objection_to_directory(const std::string& directory, double bytes);

// True on yes. Throws Error without a terminal.
bool ask(std::string_view question);

}  // namespace shardlint::verify
