#include "checkpoint/writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/checksum.h"
#include "checkpoint/file.h"
#include "checkpoint/metadata_writer.h"
#include "checkpoint/tiling.h"

namespace shardlint::checkpoint {
namespace {

[[noreturn]] void failed(const std::string& what, const std::string& path) {
  throw Error("cannot " + what + " " + path + ": " + std::strerror(errno));
}

// A file being written; only close() says that its bytes are on disk.
class Output {
 public:
  explicit Output(std::string path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) {
      failed("create", path_);
    }
  }
  ~Output() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put =
          ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
      if (put < 0 && errno != EINTR) {
        failed("write", path_);
      }
      bytes = bytes.subspan(put < 0 ? 0 : static_cast<std::size_t>(put));
    }
  }
  void close() {
    if (::fsync(descriptor_) != 0) {
      failed("sync", path_);
    }
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) {
      failed("close", path_);
    }
  }

 private:
  std::string path_;
  int descriptor_;
};

void sync_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || ::fsync(descriptor) != 0) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
    failed("sync", path);
  }
  ::close(descriptor);
}

void rename_to(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    failed("rename " + from + " to", to);
  }
}

std::string random_id() {
  std::random_device source;
  std::string text;
  for (const int length : {8, 4, 4, 4, 12}) {
    text += text.empty() ? "" : "-";
    for (int i = 0; i < length; ++i) {
      text += "0123456789abcdef"[source() & 15];
    }
  }
  text[14] = '4';  // version and variant of a random UUID
  text[19] = "89ab"[source() & 3];
  return text;
}

void check_plan(const WritePlan& plan) {
  std::vector<std::vector<Box>> boxes(plan.tensors.size());
  for (const WriteShard& shard : plan.shards) {
    if (shard.tensor >= plan.tensors.size() || shard.rank >= plan.ranks) {
      throw Error("cannot save: a shard of tensor " + std::to_string(shard.tensor) + " on rank " +
                  std::to_string(shard.rank) + ", which the plan does not have");
    }
    const WriteTensor& tensor = plan.tensors[shard.tensor];
    if (shard.offsets.size() != tensor.shape.size() || shard.sizes.size() != tensor.shape.size()) {
      throw Error("cannot save " + tensor.name + ": a shard with another number of dimensions");
    }
    boxes[shard.tensor].push_back({shard.offsets, shard.sizes});
  }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (size_of(plan.tensors[i].dtype) == 0 || !volume(plan.tensors[i].shape)) {
      throw Error("cannot save " + plan.tensors[i].name + ": unknown element type or size");
    }
    if (const Tiling tiling = tile(plan.tensors[i].shape, boxes[i]); !tiling.exact()) {
      throw Error("cannot save " + plan.tensors[i].name + ": its shards hold " +
                  std::to_string(tiling.covered) + " of " + std::to_string(tiling.wanted) +
                  " elements" + (tiling.overlaps.empty() ? "" : " and overlap") +
                  (tiling.outside.empty() ? "" : " and leave its bounds"));
    }
  }
}

// Empty shards of a tensor that has elements are not written: two of them would have one key. Of an
// empty tensor the first is kept, so that the tensor exists.
void drop_empty_shards(WritePlan& plan) {
  std::vector<bool> seen(plan.tensors.size());
  std::erase_if(plan.shards, [&](const WriteShard& shard) {
    const bool drop = volume(shard.sizes) == 0 &&
                      (seen[shard.tensor] || volume(plan.tensors[shard.tensor].shape) != 0);
    seen[shard.tensor] = true;
    return drop;
  });
}

}  // namespace

Save::Save(std::string directory, WritePlan plan)
    : directory_(std::move(directory)), plan_(std::move(plan)) {
  while (directory_.size() > 1 && directory_.back() == '/') {
    directory_.pop_back();
  }
  check_plan(plan_);
  drop_empty_shards(plan_);
  if (plan_.save_id.empty()) {
    plan_.save_id = random_id();
  }
  std::error_code ignored;
  if (std::filesystem::exists(directory_, ignored) &&
      !(std::filesystem::is_directory(directory_, ignored) &&
        std::filesystem::is_empty(directory_, ignored))) {
    throw Error("cannot save to " + directory_ + ": it exists and is not an empty directory");
  }
  partial_ = directory_ + ".partial-" + plan_.save_id;
  std::filesystem::create_directories(partial_, ignored);
  if (ignored) {
    throw Error("cannot create " + partial_ + ": " + ignored.message());
  }
  file_sizes_.resize(plan_.ranks);
  for (const WriteObject& object : plan_.objects) {
    objects_.push_back(leaf_archive(object.value));
    object_extents_.push_back({file_sizes_[0], objects_.back().size()});
    file_sizes_[0] += objects_.back().size();
  }
  for (const WriteShard& shard : plan_.shards) {
    const std::uint64_t length =
        tensor_archive(plan_.tensors[shard.tensor].dtype, shard.sizes, 0).length();
    extents_.push_back({file_sizes_[shard.rank], length});
    file_sizes_[shard.rank] += length;
  }
}

std::string Save::file_of(std::uint32_t rank) const {
  return "__" + std::to_string(rank) + "_0.distcp";
}

void Save::write_rank(std::uint32_t rank, const Fetch& fetch) const {
  ensure(rank < plan_.ranks, "a rank of the plan");
  if (file_sizes_[rank] == 0) {
    return;  // nothing refers to an empty file
  }
  Output file(join_path(partial_, file_of(rank)));
  if (rank == 0) {
    for (const std::string& object : objects_) {
      file.write(as_bytes(object));
    }
  }
  for (const WriteShard& shard : plan_.shards) {
    if (shard.rank != rank) {
      continue;
    }
    const std::span<const std::byte> bytes = fetch(shard);
    const ArchiveFrame frame =
        tensor_archive(plan_.tensors[shard.tensor].dtype, shard.sizes, crc32(0, bytes));
    if (bytes.size() != frame.data_size) {
      throw Error("cannot save " + plan_.tensors[shard.tensor].name + ": " +
                  std::to_string(bytes.size()) + " bytes given for a shard of " +
                  std::to_string(frame.data_size));
    }
    file.write(as_bytes(frame.head));
    file.write(bytes);
    file.write(as_bytes(frame.tail));
  }
  file.close();
}

std::string Save::metadata() const {
  std::vector<WrittenPiece> shards, objects;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    shards.push_back({file_of(plan_.shards[i].rank), extents_[i].offset, extents_[i].length});
  }
  for (const Extent& extent : object_extents_) {
    objects.push_back({file_of(0), extent.offset, extent.length});
  }
  return metadata_pickle(plan_, shards, objects, directory_);
}

void Save::commit() const {
  for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
    const std::string path = join_path(partial_, file_of(rank));
    const std::optional<FileInfo> written = stat_file(path);
    if (file_sizes_[rank] != (written ? written->size : 0)) {
      throw Error("cannot commit " + directory_ + ": " + path + " has " +
                  std::to_string(written ? written->size : 0) + " of " +
                  std::to_string(file_sizes_[rank]) + " bytes");
    }
  }
  const std::string temporary = join_path(partial_, ".metadata.tmp");
  Output file(temporary);
  const std::string bytes = metadata();
  file.write(as_bytes(bytes));
  file.close();
  rename_to(temporary, join_path(partial_, ".metadata"));
  sync_directory(partial_);
  rename_to(partial_, directory_);
  sync_directory(parent_path(directory_));
}

}  // namespace shardlint::checkpoint
