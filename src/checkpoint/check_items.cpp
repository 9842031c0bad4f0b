// Stage 2: every item opened and compared with what is recorded of it.
#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/item.h"
#include "checkpoint/item_check.h"

namespace shardlint::checkpoint {

ItemResult ItemCheck::run() {
  list_units();
  in_parallel(units_.size(), [&](std::size_t i) { open_unit(units_[i]); });
  signatures();
  if (options_.deep) {
    raw_tasks();
    read_all();
    same_bytes();
  }
  return {std::move(findings_), total_};
}

void ItemCheck::add(Finding finding) {
  const std::lock_guard lock(mutex_);
  findings_.push_back(std::move(finding));
}

void ItemCheck::list_units() {
  for (std::uint32_t t = 0; t < checkpoint_.tensors.size(); ++t) {
    const Tensor& tensor = checkpoint_.tensors[t];
    for (std::uint32_t c = 0; c < tensor.chunks.size(); ++c) {
      const Chunk& chunk = tensor.chunks[c];
      if (chunk.transformed) {
        findings_.push_back({Fault::item_transformed,
                             checkpoint_.path(chunk.place.file),
                             chunk.place.offset,
                             tensor.name,
                             "was transformed by the writer",
                             {}});
      } else if (!chunk.raw && chunk.place.length != 0 && survey_.holds(chunk.place)) {
        units_.push_back({t, c, none, none});
      }
    }
  }
  for (std::uint32_t i = 0; i < checkpoint_.items.size(); ++i) {
    const Item& item = checkpoint_.items[i];
    if (!item.transformed && item.place.length != 0 && survey_.holds(item.place)) {
      units_.push_back({none, 0, i, none});
    }
  }
  for (std::uint32_t i = 0; i < checkpoint_.archives.size(); ++i) {
    units_.push_back({none, 0, none, i});
  }
  std::sort(units_.begin(), units_.end(),
            [&](const Unit& a, const Unit& b) { return order(a) < order(b); });
  index_raw();
}

std::pair<std::uint32_t, std::uint64_t> ItemCheck::order(const Unit& unit) const {
  const Place place = place_of(unit);
  return {place.file, place.offset};
}

Place ItemCheck::place_of(const Unit& unit) const {
  return unit.tensor != none ? checkpoint_.tensors[unit.tensor].chunks[unit.chunk].place
         : unit.item != none ? checkpoint_.items[unit.item].place
                             : Place{};
}

// Raw chunks by place, to name the tensor that a record of a whole file holds.
void ItemCheck::index_raw() {
  for (std::uint32_t t = 0; t < checkpoint_.tensors.size(); ++t) {
    for (std::uint32_t c = 0; c < checkpoint_.tensors[t].chunks.size(); ++c) {
      const Chunk& chunk = checkpoint_.tensors[t].chunks[c];
      if (chunk.raw && chunk.place.file < checkpoint_.files.size()) {
        raw_[{checkpoint_.files[chunk.place.file], chunk.place.offset}] = {t, c};
      }
    }
  }
}

std::string ItemCheck::path_of(std::uint32_t file, std::uint32_t archive) const {
  return archive != none ? join_path(checkpoint_.directory, checkpoint_.archives[archive])
                         : checkpoint_.path(file);
}

void ItemCheck::open_unit(const Unit& unit) {
  const Place place = place_of(unit);
  Expected expected;
  expected.file = path_of(place.file, unit.archive);
  if (unit.tensor != none) {
    expected.tensor = &checkpoint_.tensors[unit.tensor];
    expected.chunk = &expected.tensor->chunks[unit.chunk];
    expected.key = expected.tensor->name;
  } else if (unit.item != none) {
    expected.key = checkpoint_.items[unit.item].name;
  }
  try {
    const std::shared_ptr<const File> file = files_.open(expected.file);
    const Window window{file, place.offset, unit.archive != none ? file->size() : place.length};
    Examined examined = examine(window, expected);
    const std::lock_guard lock(mutex_);
    std::move(examined.findings.begin(), examined.findings.end(), std::back_inserter(findings_));
    if (unit.tensor != none && !examined.signature.empty()) {
      signatures_[examined.signature].insert(place.file);
    }
    if (examined.without_crc) {
      ++without_crc_;
      // The same file whichever thread came last.
      without_crc_file_ = std::max(without_crc_file_, expected.file);
    }
    for (const ValueRecord& value : examined.values) {
      Task task{unit.archive != none ? none : place.file,
                unit.archive,
                value.offset,
                value.size,
                value.crc,
                value.has_crc,
                value.dtype,
                unit.tensor,
                unit.chunk,
                unit.item};
      if (unit.archive != none) {
        if (const auto found = raw_.lower_bound({checkpoint_.archives[unit.archive], value.offset});
            found != raw_.end() && found->first.first == checkpoint_.archives[unit.archive] &&
            found->first.second < value.offset + value.size) {
          task.tensor = found->second.first;
          task.chunk = found->second.second;
        }
      }
      tasks_.push_back(task);
    }
  } catch (const Error& error) {
    add({Fault::unreadable_bytes, expected.file, {}, expected.key, error.what(), {}});
  }
}

// All items of one save come from one version of torch and have the same records.
void ItemCheck::signatures() {
  if (without_crc_ != 0) {
    findings_.push_back({Fault::checksum_absent,
                         without_crc_file_,
                         {},
                         "",
                         std::to_string(without_crc_) + " items have no checksums",
                         {}});
  }
  if (signatures_.size() < 2) {
    return;
  }
  const auto smallest = std::min_element(
      signatures_.begin(), signatures_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const std::uint32_t file : smallest->second) {
    findings_.push_back(
        {Fault::mixed_saves,
         checkpoint_.path(file),
         {},
         "",
         "its items were written by another version of torch than those of the other files",
         {}});
  }
}

ItemResult check_items(const Checkpoint& checkpoint, const Survey& survey,
                       const ItemOptions& options) {
  return ItemCheck(checkpoint, survey, options).run();
}

}  // namespace shardlint::checkpoint
