// Collectives through NCCL: a communicator a group, created together by its ranks.

#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "ranks/comm.h"
#include "ranks/cuda_call.h"
#include "ranks/libraries.h"
#include "ranks/store.h"

namespace shardlint::ranks {

namespace {

std::mutex live_mutex;
std::set<NcclComm> live;
bool aborted = false;

void check(int code, const char* what) {
  if (code != nccl_success && code != nccl_in_progress) {
    throw Error(std::string("NCCL ") + what + ": " + nccl_library().error_string(code));
  }
}

std::string to_hex(const NcclId& id) {
  std::string text;
  for (const char byte : id.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[byte & 15];
  }
  return text;
}

NcclId from_hex(const std::string& text) {
  NcclId id{};
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < sizeof id.bytes && 2 * i + 1 < text.size(); ++i) {
    id.bytes[i] = static_cast<char>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return id;
}

int operation(Reduce reduce) {
  return reduce == Reduce::average ? nccl_average : nccl_sum;
}

}  // namespace

struct Comm::Group {
  NcclComm comm = nullptr;
};

Comm::Comm(Store& store, const std::string& key, int rank, int size)
    : rank_(rank), size_(size), group_(std::make_unique<Group>()) {
  if (size == 1) {
    return;
  }
  const NcclLibrary& nccl = nccl_library();
  NcclId id{};
  if (rank == 0) {
    check(nccl.get_unique_id(&id), "make an id");
    store.set(key, to_hex(id));
  } else {
    id = from_hex(store.get(key, store.deadline));
  }
  check(nccl.init_rank(&group_->comm, size, id, rank), ("join " + key).c_str());
  const std::lock_guard lock(live_mutex);
  live.insert(group_->comm);
}

Comm::~Comm() {
  if (group_->comm == nullptr) {
    return;
  }
  {
    const std::lock_guard lock(live_mutex);
    if (live.erase(group_->comm) == 0) {
      return;  // aborted
    }
  }
  nccl_library().destroy(group_->comm);
}

void Comm::all_gather(std::span<float> whole, Stream& stream) {
  if (size_ > 1) {
    const std::size_t part = whole.size() / static_cast<std::size_t>(size_);
    check(
        nccl_library().all_gather(whole.data() + static_cast<std::size_t>(rank_) * part,
                                  whole.data(), part, nccl_float32, group_->comm, stream.native()),
        "all_gather");
  }
}

void Comm::all_gather(std::span<bf16> whole, Stream& stream) {
  if (size_ > 1) {
    const std::size_t part = whole.size() / static_cast<std::size_t>(size_);
    check(
        nccl_library().all_gather(whole.data() + static_cast<std::size_t>(rank_) * part,
                                  whole.data(), part, nccl_bfloat16, group_->comm, stream.native()),
        "all_gather");
  }
}

void Comm::reduce_scatter(std::span<float> whole, std::span<float> part, Reduce reduce,
                          Stream& stream) {
  if (size_ > 1) {
    check(nccl_library().reduce_scatter(whole.data(), part.data(), part.size(), nccl_float32,
                                        operation(reduce), group_->comm, stream.native()),
          "reduce_scatter");
  } else if (whole.data() != part.data()) {
    copy_within(part.data(), whole.data(), whole.size_bytes(), stream);
  }
}

void Comm::reduce_scatter(std::span<bf16> whole, std::span<bf16> part, Reduce reduce,
                          Stream& stream) {
  if (size_ > 1) {
    check(nccl_library().reduce_scatter(whole.data(), part.data(), part.size(), nccl_bfloat16,
                                        operation(reduce), group_->comm, stream.native()),
          "reduce_scatter");
  } else if (whole.data() != part.data()) {
    copy_within(part.data(), whole.data(), whole.size_bytes(), stream);
  }
}

void Comm::all_reduce(std::span<float> data, Reduce reduce, Stream& stream) {
  if (size_ > 1) {
    check(nccl_library().all_reduce(data.data(), data.data(), data.size(), nccl_float32,
                                    operation(reduce), group_->comm, stream.native()),
          "all_reduce");
  }
}

void Comm::all_reduce(std::span<bf16> data, Reduce reduce, Stream& stream) {
  if (size_ > 1) {
    check(nccl_library().all_reduce(data.data(), data.data(), data.size(), nccl_bfloat16,
                                    operation(reduce), group_->comm, stream.native()),
          "all_reduce");
  }
}

void Comm::wait(Stream& stream) {
  for (int spins = 0;; ++spins) {
    const cudaError_t code = cudaStreamQuery(stream_of(stream));
    if (code == cudaSuccess) {
      return;
    }
    if (code != cudaErrorNotReady) {
      cuda(code, "wait for the device");
    }
    if (spins % 64 == 63) {
      if (group_->comm != nullptr) {
        const std::lock_guard lock(live_mutex);
        if (aborted) {
          throw Error("collective aborted");
        }
        int state = nccl_success;
        check(nccl_library().async_error(group_->comm, &state), "ask for errors");
        check(state, "collective");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

void abort_all_comms() noexcept {
  const std::lock_guard lock(live_mutex);
  aborted = true;
  for (const NcclComm comm : live) {
    nccl_library().abort(comm);
  }
  live.clear();
}

}  // namespace shardlint::ranks
