#pragma once
// The machine under the ranks: memory, streams, events and what can be asked about it.
// device_cpu.cpp: host memory, every stream runs at once. device_cuda.cpp: one GPU a rank.
// Failures throw Error naming the call.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardlint::ranks {

class Event;

class Stream {
 public:
  explicit Stream(bool urgent = false);  // urgent: its kernels go first when both could run
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void wait_for(const Event& event);  // later work here starts after what the event recorded
  void synchronize();                 // the host waits
  void* native() const { return native_; }

 private:
  void* native_ = nullptr;
};

class Event {
 public:
  explicit Event(bool timed = false);
  ~Event();
  Event(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream);
  void synchronize() const;
  void* native() const { return native_; }
  double seconds() const { return seconds_; }

 private:
  void* native_ = nullptr;
  double seconds_ = 0;  // CPU: when it was recorded
};
double milliseconds_between(const Event& first, const Event& second);  // both timed and done

void use_device(int ordinal);              // for the calling thread
void* device_allocate(std::size_t bytes);  // contents are garbage (NaN on the CPU)
void device_release(void* memory) noexcept;
void copy_in(void* device, const void* host, std::size_t bytes, Stream& stream);
void copy_out(void* host, const void* device, std::size_t bytes, Stream& stream);  // waits
void copy_within(void* to, const void* from, std::size_t bytes, Stream& stream);
void copy_out_later(void* pinned_host, const void* device, std::size_t bytes, Stream& stream);
void clear(void* device, std::size_t bytes, Stream& stream);
void* pinned_allocate(std::size_t bytes);  // host memory that copies run to without waiting
void pinned_release(void* memory) noexcept;

struct DeviceFacts {
  int ordinal = 0;
  std::string name, capability, pci;
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0, free_bytes = 0;
  int ecc = -1;  // -1 = not known
};
struct LinkFacts {
  bool known = true;  // both devices are visible to this process
  bool peer_access = false;
  std::string kind = "unknown";
  int performance_rank = -1;  // -1 = not known
};
struct RuntimeFacts {
  std::string driver, cuda_runtime, nccl, cublaslt, nccl_path, cublaslt_path;
};

std::string backend_name();               // "cpu" or "gpu"
int device_count(std::string& why_none);  // 0 with the reason; the CPU backend has 64
DeviceFacts device_facts(int ordinal);
LinkFacts link_facts(const DeviceFacts& from, const DeviceFacts& to);
// Loads NCCL and cuBLASLt; an empty string, or why they cannot be used.
std::string load_libraries(RuntimeFacts& facts);
std::uint64_t device_used_bytes();  // of the calling thread's device, by everyone; 0 = not known

}  // namespace shardlint::ranks
