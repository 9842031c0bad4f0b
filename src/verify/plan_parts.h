#pragma once
// The steps of make_plan: each takes what it understands of the settings, tells what became of
// them, and writes its part of the plan.

#include <cstdint>
#include <string_view>

#include "verify/plan.h"
#include "verify/settings.h"

namespace shardlint::verify {

struct Sizes {
  std::int64_t world = 0;          // 0: not known
  std::int64_t data_parallel = 0;  // 0: not known
};

bool is_strategy(std::string_view name);  // one of the four

void choose_strategy(Settings& s, const Config* config, Planned& out);
Sizes leave_out_other_axes(Settings& s);
void choose_reduction(Settings& s, Plan& plan);
void choose_overlap(Settings& s, Plan& plan, bool verl);
void choose_outer_group(Settings& s, const Sizes& sizes, Planned& out);
void choose_experts(Settings& s, Plan& plan);

void leave_out_arithmetic(Settings& s);
void choose_batches(Settings& s, const Sizes& sizes, Planned& out);
void choose_optimizer(Settings& s, Plan& plan);
void choose_checkpoint(Settings& s, Planned& out);
void choose_environment(Settings& s, const Config& config, Planned& out);

}  // namespace shardlint::verify
