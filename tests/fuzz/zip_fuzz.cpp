// The zip reader, the examination of an item and the walk through a whole file of torch.save.
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/item.h"
#include "checkpoint/torch_file.h"

using namespace shardlint;
using namespace shardlint::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const int memory = ::memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(memory);
  if (::ftruncate(memory, 0) != 0 ||
      ::pwrite(memory, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  Tensor tensor{"w", DType::float32, {2, 4}, {{{0, 0}, {2, 4}, {}, false, false}}};
  try {
    const Window window{std::make_shared<const File>(path), 0, size};
    for (const Tensor* of :
         {static_cast<const Tensor*>(nullptr), static_cast<const Tensor*>(&tensor)}) {
      Expected expected{path, "w", of, of != nullptr ? &of->chunks[0] : nullptr, true};
      examine(window, expected);
    }
    Checkpoint into;
    into.directory = "/proc/self/fd";
    add_torch_file(std::to_string(memory), "", into);
  } catch (const Error&) {
    // the operating system's refusals, and reads beyond the window
  }
  return 0;
}
