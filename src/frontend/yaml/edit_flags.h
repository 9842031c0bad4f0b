#pragma once
// Changes to a functional test's MODEL_ARGS, asked for by argparse destination: --ckpt-format for
// ckpt_format, a --no- flag instead of false, ENV_VARS for env.NAME.

#include <span>

#include "facts/config.h"
#include "frontend/yaml/edit.h"
#include "schema/schema.h"

namespace shardlint::yaml {

// `run`: the anchor of the argument list, its key in the file.
EditPlan edit_flags(const Document& document, const Span& run, std::span<const KeyChange> changes,
                    const Schema& schema);

}  // namespace shardlint::yaml
