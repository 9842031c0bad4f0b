#include "checkpoint/fault.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/error.h"
#include "diagnostics/sort.h"

namespace shardlint::checkpoint {
namespace {

constexpr Severity error = Severity::error, warning = Severity::warning, note = Severity::info;

// In the order of the enumeration. Codes are never reused.
constexpr FaultInfo table[] = {
    {Fault::no_metadata, "CKD101", "no-metadata", error,
     "data files without the record that is written last: the save never finished, or is still "
     "running"},
    {Fault::metadata_temporary, "CKD102", "metadata-temporary", warning,
     "a save died while it replaced the record that makes a checkpoint valid"},
    {Fault::commit_record_missing, "CKD103", "commit-record-missing", error,
     "the file that this format writes last is absent, so the loader takes the directory for "
     "another format or for none"},
    {Fault::file_missing, "CKD104", "file-missing", error,
     "a file that holds part of the data is not there; loading fails on the ranks that need it"},
    {Fault::file_empty, "CKD105", "file-empty", error, "a file that should hold data has no bytes"},
    {Fault::file_orphan, "CKD106", "file-orphan", warning,
     "nothing refers to this file: it is left from a save by more ranks, and can be removed"},
    {Fault::file_pointer, "CKD107", "file-pointer", error,
     "a placeholder of Git LFS or git-annex stands where the data should be; fetch the file "
     "itself"},
    {Fault::file_sparse, "CKD108", "file-sparse", error,
     "the file was extended but its blocks were never written; the missing bytes read as zeros"},
    {Fault::file_size_outlier, "CKD109", "file-size-outlier", warning,
     "one rank's file is far smaller than those of its peers"},
    {Fault::torn_overwrite, "CKD110", "torn-overwrite", warning,
     "data is newer than the record that describes it: a later save into this directory broke off, "
     "and torch loads the mixture silently"},
    {Fault::mixed_saves, "CKD111", "mixed-saves", warning,
     "the files were not written by one save; torch loads such a mixture silently"},
    {Fault::rank_files_missing, "CKD112", "rank-files-missing", error,
     "files of some ranks are absent, so this format cannot be loaded"},
    {Fault::world_size_mixed, "CKD113", "world-size-mixed", error,
     "files of saves with different numbers of ranks lie in one directory"},
    {Fault::tracker_missing, "CKD114", "tracker-missing", error,
     "without the tracker file training starts from scratch, silently"},
    {Fault::tracker_invalid, "CKD115", "tracker-invalid", error,
     "the tracker file names no iteration; the loader stops"},
    {Fault::tracker_names_absent, "CKD116", "tracker-names-absent", error,
     "the tracker names a directory that is not there"},
    {Fault::tracker_not_newest, "CKD117", "tracker-not-newest", warning,
     "a newer complete checkpoint lies beside the one that the tracker names; work since then "
     "would be repeated"},
    {Fault::iteration_unfinished, "CKD118", "iteration-unfinished", error,
     "this iteration was not completely saved"},
    {Fault::record_file_unreadable, "CKD119", "record-file-unreadable", error,
     "a small file that describes the checkpoint cannot be read"},
    {Fault::records_disagree, "CKD120", "records-disagree", error,
     "two records of one save contradict each other"},
    {Fault::format_retired, "CKD121", "format-retired", warning,
     "current versions cannot load this format; convert it with the version that wrote it"},
    {Fault::version_limits, "CKD122", "version-limits", note,
     "only some versions can read this checkpoint"},
    {Fault::metadata_unreadable, "CKD123", "metadata-unreadable", error,
     "the record that describes the checkpoint is truncated or damaged"},
    {Fault::unexpected_global, "CKD124", "unexpected-global", error,
     "the pickle names an object that no checkpoint of this kind contains; nothing was imported or "
     "run here"},
    {Fault::runs_code, "CKD125", "runs-code", error,
     "loading this file with torch would run code that it names; do not load it"},
    {Fault::metadata_field, "CKD126", "metadata-field", error,
     "the record that describes the checkpoint lacks a field or gives it another type"},
    {Fault::storage_missing, "CKD127", "storage-missing", error,
     "a piece of a tensor is announced but no file is named for it"},
    {Fault::storage_orphan, "CKD128", "storage-orphan", error,
     "bytes are recorded for a piece that no tensor has"},
    {Fault::path_escapes, "CKD129", "path-escapes", error,
     "a path leads out of the checkpoint directory; it is not followed"},
    {Fault::range_outside, "CKD130", "range-outside", error,
     "the recorded bytes lie beyond the end of the file: the file is truncated or the record is "
     "wrong"},
    {Fault::range_shared, "CKD131", "range-shared", error,
     "two pieces claim the same bytes; torch loads one of them wrongly and says nothing"},
    {Fault::range_gap, "CKD132", "range-gap", note, "bytes of the file belong to no piece"},
    {Fault::chunk_outside, "CKD133", "chunk-outside", error, "a piece lies outside its tensor"},
    {Fault::chunk_overlap, "CKD134", "chunk-overlap", error,
     "two pieces cover the same elements; which of them wins is accidental and torch says nothing"},
    {Fault::chunk_hole, "CKD135", "chunk-hole", error,
     "some elements are in no piece; torch leaves them as they were and says nothing"},
    {Fault::chunk_index, "CKD136", "chunk-index", warning,
     "the recorded position of a piece is not in the list of pieces"},
    {Fault::planner_data, "CKD137", "planner-data", error,
     "the path of a key is absent or does not join to the key, so nested values cannot be rebuilt"},
    {Fault::object_set, "CKD138", "object-set", error,
     "an object that is saved in parts lacks some of them"},
    {Fault::optimizer_without_model, "CKD139", "optimizer-without-model", error,
     "optimizer state for a parameter that the checkpoint does not have"},
    {Fault::optimizer_absent, "CKD140", "optimizer-absent", warning,
     "there is no optimizer state: a resumed run starts it anew"},
    {Fault::optimizer_partial, "CKD141", "optimizer-partial", error,
     "only some parameters have optimizer state"},
    {Fault::moment_missing, "CKD142", "moment-missing", error,
     "one of the two moments of a parameter is absent"},
    {Fault::optimizer_shape, "CKD143", "optimizer-shape", error,
     "optimizer state and parameter differ in shape"},
    {Fault::optimizer_dtype, "CKD144", "optimizer-dtype", note,
     "a moment is stored in less than 32 bits"},
    {Fault::optimizer_step, "CKD145", "optimizer-step", warning,
     "the step counters of the optimizer differ between parameters"},
    {Fault::layers_missing, "CKD146", "layers-missing", error,
     "the numbers of the layers are not consecutive, or not as many as the saved arguments say"},
    {Fault::experts_missing, "CKD147", "experts-missing", error,
     "the numbers of the experts are not consecutive"},
    {Fault::item_not_archive, "CKD150", "item-not-archive", error,
     "the recorded bytes are not what torch.save writes"},
    {Fault::archive_directory, "CKD151", "archive-directory", error,
     "the directory at the end of the archive is absent or wrong: the item is cut or shifted"},
    {Fault::archive_record, "CKD152", "archive-record", error,
     "a record of the archive disagrees with the archive's directory"},
    {Fault::archive_incomplete, "CKD153", "archive-incomplete", error,
     "the archive lacks a record that torch.load needs"},
    {Fault::archive_compressed, "CKD154", "archive-compressed", warning,
     "a record is compressed; readers that map the file take its bytes for values"},
    {Fault::archive_alignment, "CKD155", "archive-alignment", note,
     "the data is not aligned as torch writes it, so mapping it is slow or impossible"},
    {Fault::byte_order, "CKD156", "byte-order", error,
     "the values are stored in the other byte order"},
    {Fault::item_pickle, "CKD157", "item-pickle", error,
     "the description inside the archive cannot be read"},
    {Fault::item_shape, "CKD158", "item-shape", error,
     "the stored piece has another shape than the record says"},
    {Fault::item_dtype, "CKD159", "item-dtype", error,
     "the stored piece has another element type than the record says; torch loads it silently with "
     "wrong values"},
    {Fault::item_size, "CKD160", "item-size", error,
     "the stored bytes are not as many as shape and element type need"},
    {Fault::item_strides, "CKD161", "item-strides", warning, "the stored piece is not contiguous"},
    {Fault::item_device, "CKD162", "item-device", warning,
     "the stored piece is tagged with a device other than the CPU"},
    {Fault::item_transformed, "CKD163", "item-transformed", note,
     "the bytes went through a transformation (compression) when they were saved; their content is "
     "not checked"},
    {Fault::checksum, "CKD170", "checksum", error,
     "the bytes are not those that were written; torch never compares the checksum and loads them"},
    {Fault::checksum_absent, "CKD171", "checksum-absent", note,
     "the writer recorded no checksums, so flipped bits cannot be seen"},
    {Fault::serialization_id, "CKD172", "serialization-id", error,
     "the identity that the writer derived from the checksums does not match them: records were "
     "replaced"},
    {Fault::file_digest, "CKD173", "file-digest", error,
     "the file differs from its SHA-256 in integrity.json"},
    {Fault::nan_in_model, "CKD174", "nan-in-model", error,
     "weights that are not finite; torch loads them and the loss is NaN from the first step"},
    {Fault::nan_in_optimizer, "CKD175", "nan-in-optimizer", warning,
     "optimizer state that is not finite"},
    {Fault::negative_second_moment, "CKD176", "negative-second-moment", error,
     "a sum of squares below zero: the state is damaged, its square root is NaN"},
    {Fault::all_zero, "CKD177", "all-zero", warning,
     "every weight is zero: never initialised, or overwritten"},
    {Fault::denormal, "CKD178", "denormal", warning,
     "every weight is a denormal number: bytes of another type were read as this one"},
    {Fault::identical_tensors, "CKD179", "identical-tensors", warning,
     "different keys hold the same bytes: a file was copied over another, or shards were swapped"},
    {Fault::unreadable_bytes, "CKD180", "unreadable-bytes", error,
     "the operating system could not read the bytes"},
    {Fault::safetensors_header, "CKD181", "safetensors-header", error,
     "the header of the file is damaged"},
    {Fault::safetensors_layout, "CKD182", "safetensors-layout", error,
     "the tensors do not fill the file exactly, so it is truncated or its header is wrong"},
    {Fault::index_unreadable, "CKD183", "index-unreadable", error,
     "the index of the weight files cannot be read"},
    {Fault::index_file_missing, "CKD184", "index-file-missing", error,
     "the index names a file that is not there"},
    {Fault::index_tensor_missing, "CKD185", "index-tensor-missing", error,
     "index and files do not name the same tensors"},
    {Fault::index_duplicate, "CKD186", "index-duplicate", error, "one tensor lies in two files"},
    {Fault::index_series, "CKD187", "index-series", error,
     "a file of the numbered series is absent"},
    {Fault::index_total, "CKD188", "index-total", warning,
     "the recorded total size is not the sum of the tensors"},
    {Fault::unconsolidated, "CKD189", "unconsolidated", warning,
     "shards of a distributed save that were not joined; transformers cannot load them"},
    {Fault::config_disagrees, "CKD190", "config-disagrees", error,
     "config.json describes another model than the weights"},
    {Fault::plan_format, "CKD201", "plan-format", error,
     "this job cannot load a checkpoint of this format"},
    {Fault::plan_optimizer, "CKD202", "plan-optimizer", error,
     "the job wants optimizer state that the checkpoint does not have"},
    {Fault::plan_parallel, "CKD203", "plan-parallel", error,
     "this format cannot be resharded to the job's parallel sizes"},
    {Fault::plan_shape, "CKD204", "plan-shape", error,
     "the job builds another model than the one that was saved"},
    {Fault::plan_strictness, "CKD205", "plan-strictness", warning,
     "with these settings keys that do not match are skipped without an error"},
    {Fault::plan_iteration, "CKD206", "plan-iteration", error,
     "the iteration that the job would load is not there"},
};
static_assert(std::size(table) == static_cast<std::size_t>(Fault::count));

}  // namespace

const FaultInfo& info(Fault fault) {
  const FaultInfo& row = table[static_cast<std::size_t>(fault)];
  ensure(row.fault == fault, "the table of faults is in the order of the enumeration");
  return row;
}

std::span<const FaultInfo> all_faults() {
  return table;
}

Diagnostic to_diagnostic(const Finding& finding) {
  const FaultInfo& row = info(finding.fault);
  Diagnostic made;
  made.code = row.code;
  made.name = row.name;
  made.severity = finding.severity.value_or(row.severity);
  made.message = finding.tensor.empty() ? finding.message : finding.tensor + ": " + finding.message;
  made.help = row.sentence;
  made.where.file = finding.file;
  if (finding.offset) {
    // A Position holds 32 bits; beyond them the message carries the offset alone.
    made.where.begin.offset =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*finding.offset, UINT32_MAX));
    made.where.end = made.where.begin;
  }
  made.instance = finding.tensor;
  return made;
}

std::vector<Diagnostic> to_diagnostics(std::vector<Finding> findings, std::size_t repeats) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.fault, a.tensor, a.offset) <
           std::tie(b.file, b.fault, b.tensor, b.offset);
  });
  std::vector<Diagnostic> made;
  for (std::size_t i = 0; i < findings.size();) {
    std::size_t end = i;
    while (end < findings.size() && findings[end].file == findings[i].file &&
           findings[end].fault == findings[i].fault) {
      ++end;
    }
    const std::size_t shown = end - i > repeats + 1 ? repeats : end - i;
    for (std::size_t k = i; k < i + shown; ++k) {
      made.push_back(to_diagnostic(findings[k]));
    }
    if (shown < end - i) {
      made.back().message +=
          " (and " + std::to_string(end - i - shown) + " more like this in the file)";
    }
    i = end;
  }
  sort_diagnostics(made);
  return made;
}

}  // namespace shardlint::checkpoint
