#pragma once
// One JSON file that says what was run, on what, with which result: versions, topology, digest of
// the configuration, seeds, every figure, and the log.

#include <string>

#include "verify/judge.h"
#include "verify/launch.h"
#include "verify/plan.h"

namespace shardlint::verify {

std::string evidence(const Launched& launched, const Judgement& judgement, const Planned& planned,
                     const std::string& backend, const std::string& executable);

// True when the file is not there or is evidence of ours, which may be replaced.
bool may_replace_evidence(const std::string& path);

// The comparison as a picture: SVG, or HTML around it when the path ends in .html.
std::string plot(const Report& report, const std::string& path);

}  // namespace shardlint::verify
