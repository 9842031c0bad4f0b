#pragma once
// Everything that can be wrong with a checkpoint: one name, one stable code, one sentence each.
// The table in docs/checkpoint-format.md is held to this one by a test.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shardlint/diagnostic.h"

namespace shardlint::checkpoint {

enum class Fault : std::uint8_t {
  // the directory
  no_metadata,
  metadata_temporary,
  commit_record_missing,
  file_missing,
  file_empty,
  file_orphan,
  file_pointer,
  file_sparse,
  file_size_outlier,
  torn_overwrite,
  mixed_saves,
  rank_files_missing,
  world_size_mixed,
  tracker_missing,
  tracker_invalid,
  tracker_names_absent,
  tracker_not_newest,
  iteration_unfinished,
  record_file_unreadable,
  records_disagree,
  format_retired,
  version_limits,
  // .metadata
  metadata_unreadable,
  unexpected_global,
  runs_code,
  metadata_field,
  storage_missing,
  storage_orphan,
  path_escapes,
  range_outside,
  range_shared,
  range_gap,
  chunk_outside,
  chunk_overlap,
  chunk_hole,
  chunk_index,
  planner_data,
  object_set,
  // what the tensors are for
  optimizer_without_model,
  optimizer_absent,
  optimizer_partial,
  moment_missing,
  optimizer_shape,
  optimizer_dtype,
  optimizer_step,
  layers_missing,
  experts_missing,
  // one item
  item_not_archive,
  archive_directory,
  archive_record,
  archive_incomplete,
  archive_compressed,
  archive_alignment,
  byte_order,
  item_pickle,
  item_shape,
  item_dtype,
  item_size,
  item_strides,
  item_device,
  item_transformed,
  // bytes
  checksum,
  checksum_absent,
  serialization_id,
  file_digest,
  nan_in_model,
  nan_in_optimizer,
  negative_second_moment,
  all_zero,
  denormal,
  identical_tensors,
  unreadable_bytes,
  // safetensors and Hugging Face directories
  safetensors_header,
  safetensors_layout,
  index_unreadable,
  index_file_missing,
  index_tensor_missing,
  index_duplicate,
  index_series,
  index_total,
  unconsolidated,
  config_disagrees,
  // a configuration against a checkpoint
  plan_format,
  plan_optimizer,
  plan_parallel,
  plan_shape,
  plan_strictness,
  plan_iteration,
  count  // of the others
};

struct FaultInfo {
  Fault fault;
  std::string_view code, name;
  Severity severity;
  std::string_view sentence;  // what it does to a restart, and what to do
};
const FaultInfo& info(Fault fault);
std::span<const FaultInfo> all_faults();

struct Finding {
  Fault fault;
  std::string file;                       // the damaged file as the user would open it
  std::optional<std::uint64_t> offset{};  // in that file
  std::string tensor{};                   // the tensor or key it is about, if any
  std::string message{};
  std::optional<Severity> severity{};  // where the case at hand differs from the table
};

Diagnostic to_diagnostic(const Finding& finding);

// Diagnostics in their final order; a fault that repeats in one file beyond `repeats` is counted
// in the message of the last one shown.
std::vector<Diagnostic> to_diagnostics(std::vector<Finding> findings, std::size_t repeats = 8);

}  // namespace shardlint::checkpoint
