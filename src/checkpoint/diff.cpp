// Two checkpoints compared tensor by tensor, whatever ranks they were written by. Both are read in
// slabs of C order, so memory is bounded and a digest of the values needs no second pass.
#include <cmath>
#include <map>

#include "base/error.h"
#include "checkpoint/open.h"
#include "checkpoint/reader.h"
#include "checkpoint/scan.h"
#include "checkpoint/slabs.h"
#include "checkpoint/tree.h"
#include "checkpoint/xxh64.h"
#include "shardlint/checkpoint.h"

namespace shardlint {
namespace checkpoint {
namespace {

constexpr std::uint64_t slab_bytes = 4 << 20;

struct Side {
  Tree tree;
  std::vector<Checkpoint> parts;
  std::map<std::string, std::pair<const Checkpoint*, const Tensor*>> tensors;
  FilePool files;
};

void open_side(const std::string& path, Side& side) {
  side.tree = resolve(path);
  for (const TreePart& part : side.tree.parts) {
    side.parts.push_back(open_checkpoint(part.directory));
    side.parts.back().role = part.role;
  }
  for (const Checkpoint& part : side.parts) {
    for (const Tensor& tensor : part.tensors) {
      side.tensors[side.parts.size() > 1 && !part.role.empty() ? part.role + ":" + tensor.name
                                                               : tensor.name] = {&part, &tensor};
    }
  }
  if (side.tensors.empty()) {
    throw Error("cannot compare " + path +
                ": no tensor can be read from it; run `shardlint checkpoint check` on it");
  }
}

class Comparison {
 public:
  Comparison(Side& a, Side& b) : a_(a), b_(b) {}

  std::vector<TensorDifference> run() {
    std::vector<TensorDifference> all;
    for (const auto& [name, in_a] : a_.tensors) {
      const auto in_b = b_.tensors.find(name);
      all.push_back(in_b == b_.tensors.end() ? only(name, "only-a", a_, in_a)
                                             : both(name, in_a, in_b->second));
    }
    for (const auto& [name, in_b] : b_.tensors) {
      if (!a_.tensors.contains(name)) {
        all.push_back(only(name, "only-b", b_, in_b));
      }
    }
    return all;
  }

 private:
  using Where = std::pair<const Checkpoint*, const Tensor*>;

  TensorDifference only(const std::string& name, const std::string& verdict, Side&,
                        const Where& where) {
    TensorDifference made;
    made.name = name;
    made.verdict = verdict;
    made.detail = std::string(name_of(where.second->dtype)) + " " + text_of(where.second->shape);
    return made;
  }

  TensorDifference both(const std::string& name, const Where& in_a, const Where& in_b) {
    const Tensor &a = *in_a.second, &b = *in_b.second;
    TensorDifference made;
    made.name = name;
    made.elements = volume(a.shape).value_or(0);
    if (a.shape != b.shape) {
      made.verdict = "shape";
      made.detail = text_of(a.shape) + " and " + text_of(b.shape);
      return made;
    }
    if (size_of(a.dtype) == 0 || size_of(b.dtype) == 0) {
      made.verdict = "unreadable";
      made.detail = "an element type that is not known";
      return made;
    }
    try {
      TensorReader from_a(*in_a.first, a, a_.files), from_b(*in_b.first, b, b_.files);
      values(a, b, from_a, from_b, made);
    } catch (const Error& error) {
      made.verdict = "unreadable";
      made.detail = error.what();
      return made;
    }
    if (a.dtype != b.dtype) {
      made.verdict = "dtype";
      made.detail = std::string(name_of(a.dtype)) + " and " + std::string(name_of(b.dtype));
    } else {
      made.verdict = made.digest_a == made.digest_b ? "equal" : "values";
    }
    return made;
  }

  static void values(const Tensor& a, const Tensor& b, TensorReader& from_a, TensorReader& from_b,
                     TensorDifference& made) {
    const unsigned size_a = size_of(a.dtype), size_b = size_of(b.dtype);
    Xxh64 digest_a, digest_b;
    std::vector<std::byte> bytes_a, bytes_b;
    for_each_slab(a.shape, slab_bytes / std::max(size_a, size_b),
                  [&](const Shape& offsets, const Shape& sizes) {
                    const std::uint64_t count = volume(sizes).value();
                    bytes_a.resize(count * size_a);
                    bytes_b.resize(count * size_b);
                    from_a.read(offsets, sizes, bytes_a);
                    from_b.read(offsets, sizes, bytes_b);
                    digest_a.add(bytes_a);
                    digest_b.add(bytes_b);
                    if (a.dtype == b.dtype && bytes_a == bytes_b) {
                      return;
                    }
                    for (std::uint64_t i = 0; i < count; ++i) {
                      const std::byte *at_a = bytes_a.data() + i * size_a,
                                      *at_b = bytes_b.data() + i * size_b;
                      if (a.dtype == b.dtype && std::equal(at_a, at_a + size_a, at_b)) {
                        continue;
                      }
                      const double x = element(a.dtype, at_a), y = element(b.dtype, at_b);
                      if (x == y) {
                        continue;
                      }
                      ++made.differing;
                      // A NaN on one side alone is an infinite difference; on both sides it is
                      // none.
                      const double difference = std::isnan(x) && std::isnan(y)   ? 0
                                                : std::isnan(x) || std::isnan(y) ? INFINITY
                                                                                 : std::abs(x - y);
                      const double scale = std::max(std::abs(x), std::abs(y));
                      made.largest_absolute = std::max(made.largest_absolute, difference);
                      made.largest_relative =
                          std::max(made.largest_relative, std::isinf(difference) ? INFINITY
                                                          : scale == 0           ? 0
                                                                       : difference / scale);
                    }
                  });
    made.digest_a = digest_a.text();
    made.digest_b = digest_b.text();
  }

  Side &a_, &b_;
};

}  // namespace
}  // namespace checkpoint

std::vector<TensorDifference> diff_checkpoints(const std::string& a, const std::string& b) {
  checkpoint::Side left, right;
  checkpoint::open_side(a, left);
  checkpoint::open_side(b, right);
  return checkpoint::Comparison(left, right).run();
}

}  // namespace shardlint
