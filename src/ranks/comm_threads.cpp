// Ranks on one host without a GPU: every group shares a piece of memory, anonymous between threads
// and a mapped file between processes. Each rank has a slot in it; a collective is a sequence of
// "write my slot, meet, read the others' slots, meet". Sums run in rank order.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strings.h"
#include "ranks/comm.h"
#include "ranks/store.h"

namespace shardlint::ranks {

namespace {

constexpr std::size_t slot_bytes = 1 << 20;
constexpr std::size_t header_bytes = 4096;
std::atomic<bool> aborted = false;

struct Header {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
  std::atomic<std::uint32_t> left;  // ranks that will not touch the memory again
};

float value_of(float value) {
  return value;
}
float value_of(bf16 value) {
  return to_float(value);
}
void put(float& into, float value) {
  into = value;
}
void put(bf16& into, float value) {
  into = to_bf16(value);
}

}  // namespace

struct Comm::Group {
  char* memory = nullptr;
  std::size_t bytes = 0;
  std::string file;  // to remove, on its maker
  bool mapped = false, owner = false;
  int rank = 0, size = 1;

  Header& header() { return *reinterpret_cast<Header*>(memory); }
  template <typename T>
  T* slot(int of) {
    return reinterpret_cast<T*>(memory + header_bytes + static_cast<std::size_t>(of) * slot_bytes);
  }

  void meet() {
    Header& at = header();
    const std::uint32_t round = at.round.load();
    if (at.arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(size)) {
      at.arrived = 0;
      at.round.fetch_add(1);
      return;
    }
    for (int spins = 0; at.round.load() == round; ++spins) {
      if (aborted) {
        throw Error("collective aborted");
      }
      if (spins < 200) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  template <typename T>
  float total(std::size_t i, Reduce reduce) {
    float sum = value_of(slot<T>(0)[i]);
    for (int r = 1; r < size; ++r) {
      sum += value_of(slot<T>(r)[i]);
    }
    return reduce == Reduce::average ? sum / static_cast<float>(size) : sum;
  }

  template <typename T>
  void all_gather(std::span<T> whole) {
    const std::size_t part = whole.size() / static_cast<std::size_t>(size);
    constexpr std::size_t room = slot_bytes / sizeof(T);
    for (std::size_t done = 0; done < part; done += room) {
      const std::size_t count = std::min(room, part - done);
      const T* mine = whole.data() + static_cast<std::size_t>(rank) * part + done;
      std::memcpy(slot<T>(rank), mine, count * sizeof(T));
      meet();
      for (int r = 0; r < size; ++r) {
        if (r != rank) {
          std::memcpy(whole.data() + static_cast<std::size_t>(r) * part + done, slot<T>(r),
                      count * sizeof(T));
        }
      }
      meet();
    }
  }

  template <typename T>
  void reduce_scatter(std::span<T> whole, std::span<T> part, Reduce reduce) {
    const std::size_t n = static_cast<std::size_t>(size), length = whole.size() / n;
    const std::size_t room = slot_bytes / sizeof(T) / n;
    for (std::size_t done = 0; done < length; done += room) {
      const std::size_t count = std::min(room, length - done);
      for (std::size_t to = 0; to < n; ++to) {
        std::memcpy(slot<T>(rank) + to * count, whole.data() + to * length + done,
                    count * sizeof(T));
      }
      meet();
      for (std::size_t i = 0; i < count; ++i) {
        put(part[done + i], total<T>(static_cast<std::size_t>(rank) * count + i, reduce));
      }
      meet();
    }
  }

  template <typename T>
  void all_reduce(std::span<T> data, Reduce reduce) {
    constexpr std::size_t room = slot_bytes / sizeof(T);
    for (std::size_t done = 0; done < data.size(); done += room) {
      const std::size_t count = std::min(room, data.size() - done);
      std::memcpy(slot<T>(rank), data.data() + done, count * sizeof(T));
      meet();
      for (std::size_t i = 0; i < count; ++i) {
        put(data[done + i], total<T>(i, reduce));
      }
      meet();
    }
  }
};

Comm::Comm(Store& store, const std::string& key, int rank, int size)
    : rank_(rank), size_(size), group_(std::make_unique<Group>()) {
  group_->rank = rank;
  group_->size = size;
  if (size == 1) {
    return;
  }
  const std::size_t bytes = header_bytes + static_cast<std::size_t>(size) * slot_bytes;
  group_->bytes = bytes;
  group_->owner = rank == 0;
  if (store.in_one_process()) {
    if (rank == 0) {
      group_->memory = static_cast<char*>(device_allocate(bytes));
      new (group_->memory) Header{};
      store.set(key, std::to_string(reinterpret_cast<std::uintptr_t>(group_->memory)));
    } else {
      const auto address = to_integer(store.get(key, store.deadline));
      group_->memory = reinterpret_cast<char*>(static_cast<std::uintptr_t>(*address));
    }
    return;
  }
  group_->mapped = true;
  std::string path;
  if (rank == 0) {
    path = "/dev/shm/shardlint-" + std::to_string(::getpid()) + "-" + replace_all(key, "/", ".");
  } else {
    path = store.get(key, store.deadline);
  }
  const int file = ::open(path.c_str(), rank == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
  if (file < 0 || (rank == 0 && ::ftruncate(file, static_cast<off_t>(bytes)) != 0)) {
    throw Error("open shared memory " + path + ": " + std::strerror(errno));
  }
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) {
    throw Error("map shared memory " + path + ": " + std::strerror(errno));
  }
  group_->memory = static_cast<char*>(mapped);
  if (rank == 0) {
    new (group_->memory) Header{};
    store.set(key, path);
  }
  group_->meet();  // everyone has it mapped: the name can go, so that no crash leaves it behind
  if (rank == 0) {
    ::unlink(path.c_str());
  }
}

Comm::~Comm() {
  if (group_->mapped) {
    ::munmap(group_->memory, group_->bytes);
  } else if (group_->memory != nullptr && !group_->owner) {
    group_->header().left.fetch_add(1);
  } else if (group_->memory != nullptr) {
    // Others may still be on their way out of the last meeting. After an abort some never come:
    // then the memory is left to the end of the process.
    const auto others = static_cast<std::uint32_t>(group_->size - 1);
    for (int waits = 0; group_->header().left.load() != others; ++waits) {
      if (aborted || waits > 50000) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    device_release(group_->memory);
  }
}

void Comm::all_gather(std::span<float> whole, Stream&) {
  if (size_ > 1) {
    group_->all_gather(whole);
  }
}
void Comm::all_gather(std::span<bf16> whole, Stream&) {
  if (size_ > 1) {
    group_->all_gather(whole);
  }
}
void Comm::reduce_scatter(std::span<float> whole, std::span<float> part, Reduce reduce,
                          Stream& stream) {
  if (size_ > 1) {
    group_->reduce_scatter(whole, part, reduce);
  } else if (whole.data() != part.data()) {
    copy_within(part.data(), whole.data(), whole.size_bytes(), stream);
  }
}
void Comm::reduce_scatter(std::span<bf16> whole, std::span<bf16> part, Reduce reduce,
                          Stream& stream) {
  if (size_ > 1) {
    group_->reduce_scatter(whole, part, reduce);
  } else if (whole.data() != part.data()) {
    copy_within(part.data(), whole.data(), whole.size_bytes(), stream);
  }
}
void Comm::all_reduce(std::span<float> data, Reduce reduce, Stream&) {
  if (size_ > 1) {
    group_->all_reduce(data, reduce);
  }
}
void Comm::all_reduce(std::span<bf16> data, Reduce reduce, Stream&) {
  if (size_ > 1) {
    group_->all_reduce(data, reduce);
  }
}
void Comm::wait(Stream&) {}

void abort_all_comms() noexcept {
  aborted = true;
}

}  // namespace shardlint::ranks
