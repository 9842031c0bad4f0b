// The half of stage 1 that looks at tensors and objects: exact tiling, complete sets of parts.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/strings.h"
#include "checkpoint/check_parts.h"
#include "checkpoint/tiling.h"

namespace shardlint::checkpoint {
namespace {

std::string file_of(const Checkpoint& checkpoint, const Chunk& chunk) {
  return checkpoint.path(chunk.place.file);
}

void check_tiling(const Checkpoint& checkpoint, const Tensor& tensor,
                  std::vector<Finding>& findings) {
  std::vector<Box> boxes;
  boxes.reserve(tensor.chunks.size());
  for (const Chunk& chunk : tensor.chunks) {
    boxes.push_back({chunk.offsets, chunk.sizes});
  }
  const Tiling tiling = tile(tensor.shape, boxes);
  const bool described = checkpoint.archives.empty();  // by a .metadata file
  const std::string description =
      described ? checkpoint.directory + "/.metadata" : checkpoint.directory;
  for (const std::size_t i : tiling.outside) {
    findings.push_back({Fault::chunk_outside,
                        file_of(checkpoint, tensor.chunks[i]),
                        {},
                        tensor.name,
                        "its piece of " + text_of(boxes[i].sizes) + " at " +
                            text_of(boxes[i].offsets) + " leaves the shape " +
                            text_of(tensor.shape),
                        {}});
  }
  for (const auto& [a, b] : tiling.overlaps) {
    findings.push_back({Fault::chunk_overlap,
                        file_of(checkpoint, tensor.chunks[b]),
                        {},
                        tensor.name,
                        "its pieces of " + text_of(boxes[a].sizes) + " at " +
                            text_of(boxes[a].offsets) + " and of " + text_of(boxes[b].sizes) +
                            " at " + text_of(boxes[b].offsets) + " overlap",
                        {}});
  }
  if (tiling.overlaps.empty() && tiling.covered < tiling.wanted) {
    findings.push_back({Fault::chunk_hole,
                        description,
                        {},
                        tensor.name,
                        "its pieces hold " + std::to_string(tiling.covered) + " of " +
                            std::to_string(tiling.wanted) + " elements",
                        {}});
  }
}

// Megatron saves an object in parts `key/shard_<offsets>_<shape>`, both joined with dots.
struct PartName {
  std::string key;
  Shape offsets, shape;
};
std::optional<PartName> part_name(std::string_view name) {
  const std::size_t slash = name.rfind("/shard_");
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::vector<std::string_view> halves = split(name.substr(slash + 7), '_');
  if (halves.size() != 2) {
    return std::nullopt;
  }
  PartName made{std::string(name.substr(0, slash)), {}, {}};
  for (auto [text, into] :
       {std::pair(halves[0], &made.offsets), std::pair(halves[1], &made.shape)}) {
    for (const std::string_view number : split(text, '.')) {
      const std::optional<long long> value = to_integer(number);
      if (!value || *value < 0) {
        return std::nullopt;
      }
      into->push_back(*value);
    }
  }
  return made.offsets.size() == made.shape.size() ? std::optional(made) : std::nullopt;
}

void check_objects(const Checkpoint& checkpoint, std::vector<Finding>& findings) {
  struct Set {
    Shape shape;
    std::set<Shape> offsets;
  };
  std::map<std::string, Set> sets;
  const std::string description = checkpoint.directory + "/.metadata";
  for (const Item& item : checkpoint.items) {
    if (const std::optional<PartName> part = part_name(item.name)) {
      Set& set = sets[part->key];
      if (!set.offsets.empty() && set.shape != part->shape) {
        findings.push_back({Fault::object_set,
                            description,
                            {},
                            part->key,
                            "its parts were saved as sets of " + text_of(set.shape) + " and of " +
                                text_of(part->shape),
                            {}});
      }
      set.shape = part->shape;
      set.offsets.insert(part->offsets);
    }
  }
  for (const auto& [key, set] : sets) {
    const std::optional<std::uint64_t> wanted = volume(set.shape);
    if (wanted && *wanted != set.offsets.size()) {
      findings.push_back({Fault::object_set,
                          description,
                          {},
                          key,
                          std::to_string(set.offsets.size()) + " of its " +
                              std::to_string(*wanted) + " parts are there",
                          {}});
    }
  }
}

}  // namespace

std::vector<Finding> check_pieces(const Checkpoint& checkpoint) {
  std::vector<Finding> findings;
  if (checkpoint.has_metadata) {
    for (const Tensor& tensor : checkpoint.tensors) {
      check_tiling(checkpoint, tensor, findings);
    }
    check_objects(checkpoint, findings);
  }
  return findings;
}

}  // namespace shardlint::checkpoint
