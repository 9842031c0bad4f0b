#include "checkpoint/reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "checkpoint/open.h"
#include "checkpoint/torch_record.h"
#include "checkpoint/zip.h"

namespace shardlint::checkpoint {
namespace {

// Copies the box common to chunk and region, row by row. Both are C-ordered.
class Copy {
 public:
  Copy(const File& file, const Values& values, const Chunk& chunk,
       std::span<const std::int64_t> offsets, std::span<const std::int64_t> sizes, unsigned item,
       std::span<std::byte> out)
      : file_(file),
        values_(values),
        item_(item),
        out_(out),
        from_strides_(values.strides),
        to_strides_(contiguous_strides(sizes)) {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t begin = std::max(offsets[d], chunk.offsets[d]);
      const std::int64_t end = std::min(offsets[d] + sizes[d], chunk.offsets[d] + chunk.sizes[d]);
      length_.push_back(std::max<std::int64_t>(end - begin, 0));
      from_ += static_cast<std::uint64_t>((begin - chunk.offsets[d]) * from_strides_[d]);
      to_ += static_cast<std::uint64_t>((begin - offsets[d]) * to_strides_[d]);
    }
  }

  // Returns the number of elements copied.
  std::uint64_t run() {
    const std::uint64_t elements = volume(length_).value_or(0);
    if (elements == 0) {
      return 0;
    }
    // Trailing dimensions that are whole on both sides make one row.
    axis_ = length_.size();
    row_ = 1;
    while (axis_ > 0) {
      if (static_cast<std::int64_t>(row_) != from_strides_[axis_ - 1] ||
          static_cast<std::int64_t>(row_) != to_strides_[axis_ - 1]) {
        break;
      }
      row_ *= static_cast<std::uint64_t>(length_[--axis_]);
    }
    step(0, from_, to_);
    return elements;
  }

 private:
  void step(std::size_t d, std::uint64_t from, std::uint64_t to) {
    if (d == axis_) {
      file_.read(values_.offset + from * item_, out_.subspan(to * item_, row_ * item_));
      return;
    }
    for (std::int64_t i = 0; i < length_[d]; ++i) {
      step(d + 1, from + static_cast<std::uint64_t>(i * from_strides_[d]),
           to + static_cast<std::uint64_t>(i * to_strides_[d]));
    }
  }

  const File& file_;
  const Values& values_;
  unsigned item_;
  std::span<std::byte> out_;
  Shape from_strides_, to_strides_, length_;
  std::uint64_t from_ = 0, to_ = 0, row_ = 1;
  std::size_t axis_ = 0;
};

}  // namespace

Values locate_values(const Checkpoint& checkpoint, const Tensor& tensor, const Chunk& chunk,
                     FilePool& files) {
  const auto refuse = [&](const std::string& why) {
    throw Error("cannot read " + tensor.name + " in " + checkpoint.path(chunk.place.file) + ": " +
                why);
  };
  if (chunk.place.file >= checkpoint.files.size() || checkpoint.files[chunk.place.file].empty()) {
    refuse("no file holds it");
  }
  const std::shared_ptr<const File> file = files.open(checkpoint.path(chunk.place.file));
  if (chunk.place.offset > file->size() || chunk.place.length > file->size() - chunk.place.offset) {
    refuse("the file ends before its bytes do");
  }
  if (chunk.transformed) {
    refuse("its bytes were transformed when they were saved");
  }
  if (chunk.raw) {
    const auto elements = volume(chunk.sizes);
    if (!elements || checked_mul(*elements, size_of(tensor.dtype)) != chunk.place.length) {
      refuse("its values are not all there");
    }
    return {true, chunk.place.offset, contiguous_strides(chunk.sizes)};
  }
  const Window window{file, chunk.place.offset, chunk.place.length};
  const ZipDirectory zip = read_zip(window);
  const ZipRecord* description = zip.find("data.pkl");
  if (!zip.usable || description == nullptr || description->compressed ||
      description->size > (1 << 20)) {
    refuse(zip.problems.empty() ? "its archive has no description" : zip.problems.front().message);
  }
  const std::string bytes = window.read(description->data, description->size);
  std::optional<StoredTensor> stored;
  try {
    const pickle::Pickle pickle = pickle::run(bytes);
    stored = stored_tensor(pickle, pickle.root);
  } catch (const pickle::Fault& fault) {
    refuse(fault.what());
  }
  if (!stored || stored->dtype != tensor.dtype || stored->shape != chunk.sizes ||
      stored->storage_offset != 0) {
    refuse("what is stored differs from what is recorded");
  }
  const ZipRecord* data = zip.find("data/" + stored->storage);
  if (data == nullptr || data->compressed || data->size < stored->extent().value_or(UINT64_MAX)) {
    refuse("its values are not all there");
  }
  return {true, chunk.place.offset + data->data, stored->strides};
}

Checkpoint open_for_reading(const std::string& directory) {
  Checkpoint checkpoint = open_checkpoint(directory);
  if (!checkpoint.has_metadata) {
    throw Error("cannot read " + directory + ": " +
                (checkpoint.findings.empty() ? "it is no checkpoint"
                                             : checkpoint.findings.front().message));
  }
  return checkpoint;
}

void read_region(const Checkpoint& checkpoint, const Tensor& tensor,
                 std::span<const std::int64_t> offsets, std::span<const std::int64_t> sizes,
                 std::span<std::byte> out, FilePool& files) {
  TensorReader(checkpoint, tensor, files).read(offsets, sizes, out);
}

void TensorReader::read(std::span<const std::int64_t> offsets, std::span<const std::int64_t> sizes,
                        std::span<std::byte> out) {
  const std::optional<std::uint64_t> wanted = volume(sizes);
  bool fits = offsets.size() == tensor_.shape.size() && sizes.size() == tensor_.shape.size() &&
              wanted.has_value();
  for (std::size_t d = 0; fits && d < sizes.size(); ++d) {
    fits = offsets[d] >= 0 && offsets[d] <= tensor_.shape[d] &&
           sizes[d] <= tensor_.shape[d] - offsets[d];
  }
  if (!fits || *wanted * size_of(tensor_.dtype) != out.size()) {
    throw Error("cannot read " + tensor_.name + ": the region does not lie in its shape " +
                text_of(tensor_.shape) + ", or the buffer has another size");
  }
  std::uint64_t copied = 0;
  for (std::size_t i = 0; i < tensor_.chunks.size(); ++i) {
    const Chunk& chunk = tensor_.chunks[i];
    bool meets = *wanted != 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      meets = meets && chunk.offsets[d] < offsets[d] + sizes[d] &&
              offsets[d] < chunk.offsets[d] + chunk.sizes[d];
    }
    if (meets) {
      if (!values_[i].located) {
        values_[i] = locate_values(checkpoint_, tensor_, chunk, files_);
      }
      copied += Copy(*files_.open(checkpoint_.path(chunk.place.file)), values_[i], chunk, offsets,
                     sizes, size_of(tensor_.dtype), out)
                    .run();
    }
  }
  if (copied != *wanted) {
    throw Error("cannot read " + tensor_.name + ": " + std::to_string(copied) + " of " +
                std::to_string(*wanted) + " elements of the region are stored");
  }
}

std::vector<std::byte> read_tensor(const Checkpoint& checkpoint, const Tensor& tensor,
                                   FilePool& files) {
  const std::optional<std::uint64_t> elements = volume(tensor.shape);
  if (!elements || *elements > (std::uint64_t{1} << 40)) {
    throw Error("cannot read " + tensor.name + ": it is too large");
  }
  std::vector<std::byte> out(*elements * size_of(tensor.dtype));
  read_region(checkpoint, tensor, Shape(tensor.shape.size(), 0), tensor.shape, out, files);
  return out;
}

}  // namespace shardlint::checkpoint
