#pragma once
// Values of single tensors, for `inspect --tensor`.

#include <string>
#include <vector>

#include "checkpoint/scan.h"

namespace shardlint::checkpoint {

struct TensorStatistics {
  std::string part, name, error;  // error: why the values could not be read
  std::string dtype, shape, digest;
  Counts counts;
};
// Tensors whose name matches the pattern (* and ?), in order.
std::vector<TensorStatistics> tensor_statistics(const std::string& path,
                                                const std::string& pattern);

}  // namespace shardlint::checkpoint
