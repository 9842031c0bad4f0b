#pragma once
// safetensors: u64 length of a JSON header, the header, then the values of all tensors without a
// hole. {"name": {"dtype": "BF16", "shape": [..], "data_offsets": [begin, end]}, "__metadata__":
// ..}

#include <string>
#include <string_view>

#include "checkpoint/model.h"

namespace shardlint::checkpoint {

// Adds the tensors of one file; damage becomes findings.
void add_safetensors(const std::string& file, Checkpoint& into);

// The same from a header alone, for the fuzzer and for tests: `values` bytes follow the header.
void parse_safetensors_header(std::string_view header, std::uint64_t values,
                              std::uint64_t values_at, std::uint32_t file, const std::string& path,
                              Checkpoint& into);

// nlohmann's parser recurses, so nesting is measured before it is asked.
bool nested_too_deeply(std::string_view json);

}  // namespace shardlint::checkpoint
