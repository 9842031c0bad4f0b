// Stage 0 and the half of stage 1 that needs no more than names, sizes and times.
#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "checkpoint/check_parts.h"

namespace shardlint::checkpoint {
namespace {

constexpr std::int64_t second = 1'000'000'000;

struct Range {
  std::uint64_t offset, length;
  const std::string* name;
};

class FileCheck {
 public:
  FileCheck(const Checkpoint& checkpoint, const Survey& survey)
      : checkpoint_(checkpoint), survey_(survey) {}

  std::vector<Finding> run() {
    collect();
    commit_record();
    if (checkpoint_.has_metadata) {
      for (std::uint32_t i = 0; i < checkpoint_.files.size(); ++i) {
        one_file(i);
      }
      orphans();
      times();
      sizes();
    }
    return std::move(findings_);
  }

 private:
  void add(Fault fault, const std::string& file, std::string tensor, std::string message,
           std::optional<std::uint64_t> offset = {}, std::optional<Severity> severity = {}) {
    findings_.push_back({fault, file, offset, std::move(tensor), std::move(message), severity});
  }
  bool has(std::string_view name) const {
    return std::find(survey_.names.begin(), survey_.names.end(), name) != survey_.names.end();
  }
  bool is_dcp() const {
    return checkpoint_.format == Format::torch_dcp || checkpoint_.format == Format::fsdp_dtensor ||
           checkpoint_.format == Format::torch_dist;
  }

  void collect() {
    ranges_.resize(checkpoint_.files.size());
    for (const Tensor& tensor : checkpoint_.tensors) {
      for (const Chunk& chunk : tensor.chunks) {
        if (chunk.place.file < ranges_.size()) {
          ranges_[chunk.place.file].push_back(
              {chunk.place.offset, chunk.place.length, &tensor.name});
        }
      }
    }
    for (const Item& item : checkpoint_.items) {
      if (item.place.file < ranges_.size()) {
        ranges_[item.place.file].push_back({item.place.offset, item.place.length, &item.name});
      }
    }
  }

  void commit_record() {
    if (!is_dcp()) {
      return;
    }
    const bool data = std::any_of(survey_.names.begin(), survey_.names.end(),
                                  [](const std::string& n) { return n.ends_with(".distcp"); });
    const bool ranks = std::any_of(
        survey_.names.begin(), survey_.names.end(),
        [](const std::string& n) { return n.starts_with("__") && n.ends_with(".metadata"); });
    const bool described = has(".metadata") || ranks;
    const std::string& directory = checkpoint_.directory;
    for (const std::string& name : survey_.names) {
      if (name.ends_with(".metadata.tmp")) {
        add(Fault::metadata_temporary, join_path(directory, name), "",
            described ? "a later save died here, or was cleaned up badly"
                      : "the save died before it was complete",
            {}, described ? Severity::warning : Severity::error);
      }
    }
    if (!described && data) {
      add(Fault::no_metadata, directory, "",
          "there are data files but no .metadata" + still_running());
    } else if (!described) {
      add(Fault::no_metadata, directory, "", "there is no .metadata");
    }
    if (checkpoint_.format != Format::torch_dist &&
        (checkpoint_.item("common_state/shard_0_1") != nullptr || has("common.pt"))) {
      add(Fault::commit_record_missing, join_path(directory, "metadata.json"), "",
          "Megatron's torch_dist format wrote these files, but metadata.json is absent");
    }
  }

  std::string still_running() const {
    std::int64_t newest = 0;
    for (const std::string& name : survey_.names) {
      if (const std::optional<FileInfo> status =
              stat_file(join_path(checkpoint_.directory, name))) {
        newest = std::max(newest, status->modified_ns);
      }
    }
    struct timespec now {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - newest / second < 120
               ? "; files changed in the last two minutes, so the save may still be running"
               : "";
  }

  void one_file(std::uint32_t i) {
    const std::string path = checkpoint_.path(i);
    std::vector<Range>& ranges = ranges_[i];
    if (checkpoint_.files[i].empty() || ranges.empty()) {
      return;
    }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
      return std::tie(a.offset, a.length, *a.name) < std::tie(b.offset, b.length, *b.name);
    });
    const std::string first = *ranges.front().name;
    const std::string which =
        ranges.size() == 1 ? "this piece"
                           : "this and " + std::to_string(ranges.size() - 1) + " more pieces";
    if (!survey_.files[i]) {
      add(Fault::file_missing, path, first, "the file with " + which + " is not there");
      return;
    }
    const FileInfo& status = *survey_.files[i];
    if (status.size == 0) {
      add(Fault::file_empty, path, first, "the file with " + which + " is empty");
      return;
    }
    if (pointer(i, path, status)) {
      return;
    }
    if (status.allocated < status.size / 2 && status.size > (1 << 16)) {
      add(Fault::file_sparse, path, "",
          std::to_string(status.allocated) + " of " + std::to_string(status.size) +
              " bytes were ever written",
          {}, Severity::warning);
    }
    ranges_of(i, path, status);
  }

  // Git LFS and git-annex leave small text files in place of large ones.
  bool pointer(std::uint32_t i, const std::string& path, const FileInfo& status) {
    if (status.size > 1024) {
      return false;
    }
    const std::optional<std::string> text = read_small_file(checkpoint_.path(i), 1024);
    if (!text || (!text->starts_with("version https://git-lfs") &&
                  text->find("/annex/objects/") == std::string::npos)) {
      return false;
    }
    add(Fault::file_pointer, path, "",
        "is a placeholder of " +
            std::string(text->starts_with("version") ? "Git LFS" : "git-annex"));
    return true;
  }

  void ranges_of(std::uint32_t i, const std::string& path, const FileInfo& status) {
    const std::vector<Range>& ranges = ranges_[i];
    std::uint64_t end = 0, gaps = 0, gap_at = 0;
    const Range* last = nullptr;
    for (const Range& range : ranges) {
      const std::optional<std::uint64_t> stop = checked_add(range.offset, range.length);
      if (!stop || *stop > status.size) {
        add(Fault::range_outside, path, *range.name,
            "its " + std::to_string(range.length) + " bytes at " + std::to_string(range.offset) +
                " do not lie in a file of " + std::to_string(status.size),
            range.offset);
        continue;
      }
      if (range.length == 0 && checkpoint_.format != Format::safetensors &&
          checkpoint_.format != Format::legacy && checkpoint_.format != Format::fsdp_ranks &&
          checkpoint_.format != Format::torch_file) {
        add(Fault::range_outside, path, *range.name, "no bytes are recorded for it", range.offset);
      }
      if (last != nullptr && range.offset < end && range.length != 0 && shares_matter()) {
        add(Fault::range_shared, path, *range.name,
            "its bytes at " + std::to_string(range.offset) + " are also those of " + *last->name,
            range.offset);
      }
      if (range.offset > end && gaps++ == 0) {
        gap_at = end;
      }
      if (*stop >= end) {
        end = *stop;
        last = &range;
      }
    }
    if (const std::uint64_t unused = status.size - covered(ranges, status.size);
        is_dcp() && unused != 0) {
      add(Fault::range_gap, path, "", std::to_string(unused) + " bytes belong to no piece",
          gaps != 0 ? gap_at : end);
    }
  }

  // In an archive of torch.save several tensors may view one storage: tied weights.
  bool shares_matter() const { return is_dcp() || checkpoint_.format == Format::safetensors; }

  static std::uint64_t covered(const std::vector<Range>& ranges, std::uint64_t size) {
    std::uint64_t end = 0, sum = 0;
    for (const Range& range : ranges) {
      const std::uint64_t stop =
          std::min(checked_add(range.offset, range.length).value_or(size), size);
      if (stop > end) {
        sum += stop - std::max(end, range.offset);
        end = stop;
      }
    }
    return sum;
  }

  void orphans() {
    if (!is_dcp()) {
      return;
    }
    for (const std::string& name : survey_.names) {
      const bool known = std::find(checkpoint_.files.begin(), checkpoint_.files.end(), name) !=
                         checkpoint_.files.end();
      if (!name.ends_with(".distcp") || known) {
        continue;
      }
      const std::string path = join_path(checkpoint_.directory, name);
      const std::optional<FileInfo> status = stat_file(path);
      if (status && status->size != 0) {  // torch makes a file for ranks that have nothing to write
        add(Fault::file_orphan, path, "",
            std::to_string(status->size) + " bytes that nothing refers to");
      }
    }
  }

  void times() {
    if (!is_dcp()) {
      return;
    }
    const std::optional<FileInfo> description =
        stat_file(join_path(checkpoint_.directory, ".metadata"));
    std::vector<std::pair<std::int64_t, std::uint32_t>> when;
    for (std::uint32_t i = 0; i < survey_.files.size(); ++i) {
      if (survey_.files[i]) {
        when.emplace_back(survey_.files[i]->modified_ns, i);
      }
    }
    std::sort(when.begin(), when.end());
    if (description && !when.empty() && when.back().first > description->modified_ns + 2 * second) {
      add(Fault::torn_overwrite, checkpoint_.path(when.back().second), "",
          "was written " + span_text(when.back().first - description->modified_ns) +
              " after the .metadata that describes it, unless a copy changed the times");
    }
    if (const std::optional<FileInfo> last =
            stat_file(join_path(checkpoint_.directory, "metadata.json"));
        description && last && description->modified_ns > last->modified_ns + 2 * second) {
      add(Fault::torn_overwrite, join_path(checkpoint_.directory, ".metadata"), "",
          "was written " + span_text(description->modified_ns - last->modified_ns) +
              " after metadata.json, which is written last, unless a copy changed the times");
    }
    // One save writes all files within minutes; a file that is older by more is another save's.
    for (std::size_t i = when.size(); i-- > 1;) {
      if (const std::int64_t gap = when[i].first - when[i - 1].first; gap > 600 * second) {
        add(Fault::mixed_saves, checkpoint_.path(when[i - 1].second),
            first_name(when[i - 1].second),
            "was written " + span_text(gap) + " before " + checkpoint_.files[when[i].second] +
                " of the same checkpoint, unless a copy changed the times");
        break;
      }
    }
  }

  std::string first_name(std::uint32_t file) const {
    return ranges_[file].empty() ? "" : *ranges_[file].front().name;
  }

  static std::string span_text(std::int64_t nanoseconds) {
    const std::int64_t seconds = nanoseconds / second;
    return seconds < 120    ? std::to_string(seconds) + " seconds"
           : seconds < 7200 ? std::to_string(seconds / 60) + " minutes"
                            : std::to_string(seconds / 3600) + " hours";
  }

  void sizes() {
    if (!is_dcp() || checkpoint_.files.size() < 4) {
      return;
    }
    std::vector<std::uint64_t> all;
    for (const std::optional<FileInfo>& status : survey_.files) {
      all.push_back(status ? status->size : 0);
    }
    std::vector<std::uint64_t> sorted = all;
    std::nth_element(sorted.begin(),
                     sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const std::uint64_t median = sorted[sorted.size() / 2];
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const std::uint64_t due =
          ranges_[i].empty() ? 0 : ranges_[i].back().offset + ranges_[i].back().length;
      if (all[i] != 0 && all[i] < median / 4 && due > all[i]) {
        add(Fault::file_size_outlier, checkpoint_.path(i), "",
            std::to_string(all[i]) + " bytes, where half of the files have " +
                std::to_string(median) + " or more");
      }
    }
  }

  const Checkpoint& checkpoint_;
  const Survey& survey_;
  std::vector<std::vector<Range>> ranges_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_files(const Checkpoint& checkpoint, const Survey& survey) {
  return FileCheck(checkpoint, survey).run();
}

}  // namespace shardlint::checkpoint
