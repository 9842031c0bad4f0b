// Headers of safetensors files.
#include <string_view>

#include "checkpoint/safetensors.h"

using namespace shardlint::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Checkpoint into;
  const std::uint64_t values = size == 0 ? 0 : data[0] * 8;
  parse_safetensors_header({reinterpret_cast<const char*>(data) + (size != 0), size - (size != 0)},
                           values, 8 + size, 0, "fuzz.safetensors", into);
  return 0;
}
