// The CPU as a device: host memory, and streams that have always just finished.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "ranks/device.h"

namespace shardlint::ranks {

Stream::Stream(bool) {}
Stream::~Stream() = default;
void Stream::wait_for(const Event&) {}
void Stream::synchronize() {}

Event::Event(bool) {}
Event::~Event() = default;
Event::Event(Event&& other) noexcept : seconds_(other.seconds_) {}
void Event::record(const Stream&) {
  seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
void Event::synchronize() const {}
double milliseconds_between(const Event& first, const Event& second) {
  return (second.seconds() - first.seconds()) * 1e3;
}

void use_device(int) {}

void* device_allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == nullptr) {
    throw Error("allocate " + std::to_string(bytes) + " bytes: out of memory");
  }
  std::memset(memory, 0xff, bytes);  // NaN in every type: what is read unwritten shows
  return memory;
}
void device_release(void* memory) noexcept {
  std::free(memory);
}
void copy_in(void* device, const void* host, std::size_t bytes, Stream&) {
  std::memcpy(device, host, bytes);
}
void copy_out(void* host, const void* device, std::size_t bytes, Stream&) {
  std::memcpy(host, device, bytes);
}
void copy_within(void* to, const void* from, std::size_t bytes, Stream&) {
  std::memmove(to, from, bytes);
}
void copy_out_later(void* host, const void* device, std::size_t bytes, Stream&) {
  std::memcpy(host, device, bytes);
}
void clear(void* device, std::size_t bytes, Stream&) {
  std::memset(device, 0, bytes);
}
void* pinned_allocate(std::size_t bytes) {
  return device_allocate(bytes);
}
void pinned_release(void* memory) noexcept {
  std::free(memory);
}

std::string backend_name() {
  return "cpu";
}
int device_count(std::string&) {
  return 64;
}

DeviceFacts device_facts(int ordinal) {
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.name = "CPU thread";
  facts.multiprocessors = 1;
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  std::uint64_t value = 0;
  while (meminfo >> key >> value >> unit) {
    if (key == "MemTotal:") {
      facts.memory_bytes = value * 1024;
    } else if (key == "MemAvailable:") {
      facts.free_bytes = value * 1024;
      break;
    }
  }
  return facts;
}
LinkFacts link_facts(const DeviceFacts&, const DeviceFacts&) {
  return {true, true, "memory", -1};
}
std::string load_libraries(RuntimeFacts&) {
  return "";
}
std::uint64_t device_used_bytes() {
  return 0;
}

}  // namespace shardlint::ranks
