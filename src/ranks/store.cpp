#include "ranks/store.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

namespace shardlint::ranks {

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::microseconds(static_cast<long long>(seconds * 1e6));
}

[[noreturn]] void too_late(const std::string& key, double seconds) {
  throw Error("waited " + std::to_string(static_cast<int>(seconds)) + " s for \"" + key +
              "\" from another rank");
}

class MemoryStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  std::string get(const std::string& key, double seconds) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, after(seconds), [&] { return values_.contains(key); })) {
      too_late(key, seconds);
    }
    return values_[key];
  }
  bool in_one_process() const override { return true; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

// One file a key, written beside its place and renamed.
class FileStore final : public Store {
 public:
  FileStore(std::string folder, int rank) : folder_(std::move(folder)), owner_(rank == 0) {
    if (owner_ && ::mkdir(folder_.c_str(), 0700) != 0) {
      throw Error("make the store " + folder_ + ": " + std::strerror(errno));
    }
  }
  ~FileStore() override {
    if (owner_) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
    }
  }
  void set(const std::string& key, const std::string& value) override {
    write_atomically(folder_ + "/" + replace_all(key, "/", "."), value + "\n");
  }
  std::string get(const std::string& key, double seconds) override {
    const std::string path = folder_ + "/" + replace_all(key, "/", ".");
    for (const auto end = after(seconds); Clock::now() < end;) {
      if (std::ifstream in(path, std::ios::binary); in) {
        std::string text((std::istreambuf_iterator<char>(in)), {});
        if (!text.empty()) {
          text.pop_back();
          return text;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    too_late(key, seconds);
  }

 private:
  std::string folder_;
  bool owner_;
};

// --- TCP. A message is a letter, two lengths (network order) and their bytes. A connection opens
// with a greeting, so that a stranger at the port (torchrun's own store) is told apart.

constexpr char greeting[] = "shardlint-store-1";
constexpr std::uint32_t longest_message = 1u << 20;

bool send_all(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_text(int socket, const std::string& text) {
  const std::uint32_t size = htonl(static_cast<std::uint32_t>(text.size()));
  return send_all(socket, &size, 4) && send_all(socket, text.data(), text.size());
}

bool receive_text(int socket, std::string& text) {
  std::uint32_t size = 0;
  if (!receive_all(socket, &size, 4) || (size = ntohl(size)) > longest_message) {
    return false;
  }
  text.resize(size);
  return receive_all(socket, text.data(), size);
}

void set_timeout(int socket, double seconds) {
  timeval time{static_cast<time_t>(seconds),
               static_cast<suseconds_t>(
                   (seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e6)};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

class TcpServer {
 public:
  explicit TcpServer(int port) {
    for (int tried = port; tried <= port + 16 && listener_ < 0; ++tried) {
      const int candidate = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const bool six = candidate >= 0;
      listener_ = six ? candidate : ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int yes = 1, no = 0;
      ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      sockaddr_storage address{};
      socklen_t length = 0;
      if (six) {
        ::setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        auto* in6 = reinterpret_cast<sockaddr_in6*>(&address);
        in6->sin6_family = AF_INET6;
        in6->sin6_addr = in6addr_any;
        in6->sin6_port = htons(static_cast<std::uint16_t>(tried));
        length = sizeof *in6;
      } else {
        auto* in4 = reinterpret_cast<sockaddr_in*>(&address);
        in4->sin_family = AF_INET;
        in4->sin_port = htons(static_cast<std::uint16_t>(tried));
        length = sizeof *in4;
      }
      if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
          ::listen(listener_, 128) != 0) {
        ::close(listener_);
        listener_ = -1;
      }
    }
    if (listener_ < 0) {
      throw Error("listen at port " + std::to_string(port) +
                  " or the 16 after it: " + std::strerror(errno));
    }
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TcpServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) {
        ::shutdown(socket, SHUT_RDWR);
      }
      changed_.notify_all();
    }
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

 private:
  void accept_all() {
    while (!stopping_) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) {
        if (stopping_) {
          return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      workers_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) {
    char hello[sizeof greeting];
    set_timeout(socket, 10);
    if (receive_all(socket, hello, sizeof hello) &&
        std::memcmp(hello, greeting, sizeof hello) == 0 &&
        send_all(socket, greeting, sizeof greeting)) {
      set_timeout(socket, 0);
      std::string key, value;
      char kind = 0;
      while (receive_all(socket, &kind, 1) && receive_text(socket, key)) {
        if (kind == 's') {
          if (!receive_text(socket, value)) {
            break;
          }
          const std::lock_guard lock(mutex_);
          values_[key] = value;
          changed_.notify_all();
          if (!send_all(socket, "k", 1)) {
            break;
          }
        } else {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return stopping_ || values_.contains(key); });
          if (stopping_) {
            break;
          }
          value = values_[key];
          lock.unlock();
          if (!send_text(socket, value)) {
            break;
          }
        }
      }
    }
    const std::lock_guard lock(mutex_);
    std::erase(sockets_, socket);
    ::close(socket);
  }

  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::vector<int> sockets_;
  std::vector<std::thread> workers_;
  std::thread acceptor_;
};

int connect_once(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return -1;
  }
  int socket = -1;
  for (addrinfo* at = found; at != nullptr && socket < 0; at = at->ai_next) {
    socket = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (socket < 0) {
      continue;
    }
    set_timeout(socket, 0.5);
    char hello[sizeof greeting];
    if (::connect(socket, at->ai_addr, at->ai_addrlen) != 0 ||
        !send_all(socket, greeting, sizeof greeting) || !receive_all(socket, hello, sizeof hello) ||
        std::memcmp(hello, greeting, sizeof hello) != 0) {
      ::close(socket);
      socket = -1;
    }
  }
  ::freeaddrinfo(found);
  return socket;
}

class TcpStore final : public Store {
 public:
  TcpStore(const std::string& host, int port, int rank, double seconds) {
    // torchrun's own store sits at the first port and would answer slowly and strangely.
    const int first = std::getenv("TORCHELASTIC_RUN_ID") != nullptr ? port + 1 : port;
    if (rank == 0) {
      server_ = std::make_unique<TcpServer>(first);
    }
    for (const auto end = after(seconds); socket_ < 0 && Clock::now() < end;) {
      for (int tried = first; tried <= first + 16 && socket_ < 0; ++tried) {
        socket_ = connect_once(rank == 0 ? "localhost" : host, tried);
      }
      if (socket_ < 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
    if (socket_ < 0) {
      throw Error("reach rank 0 at " + host + ":" + std::to_string(port) +
                  " (or the 16 ports after it) in " + std::to_string(static_cast<int>(seconds)) +
                  " s");
    }
  }
  ~TcpStore() override { ::close(socket_); }
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    char ok = 0;
    set_timeout(socket_, deadline);
    if (!send_all(socket_, "s", 1) || !send_text(socket_, key) || !send_text(socket_, value) ||
        !receive_all(socket_, &ok, 1)) {
      throw Error("tell rank 0's store \"" + key + "\": connection lost");
    }
  }
  std::string get(const std::string& key, double seconds) override {
    const std::lock_guard lock(mutex_);
    set_timeout(socket_, seconds);
    std::string value;
    if (!send_all(socket_, "g", 1) || !send_text(socket_, key) || !receive_text(socket_, value)) {
      too_late(key, seconds);
    }
    return value;
  }

 private:
  std::unique_ptr<TcpServer> server_;
  std::mutex mutex_;
  int socket_ = -1;
};

}  // namespace

std::unique_ptr<Store> make_memory_store() {
  return std::make_unique<MemoryStore>();
}

std::unique_ptr<Store> make_file_store(const std::string& folder, int rank) {
  return std::make_unique<FileStore>(folder, rank);
}

std::unique_ptr<Store> make_tcp_store(const std::string& host, int port, int rank, double seconds) {
  return std::make_unique<TcpStore>(host, port, rank, seconds);
}

Place place_from_environment() {
  struct Row {
    const char *launcher, *rank, *size, *local;
  };
  static constexpr Row rows[] = {
      {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
      {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
      {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
  };
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    const auto value = to_integer(text == nullptr ? "" : text);
    if (!value || *value < 0 || *value > 1 << 20) {
      throw Error(std::string("environment: expected a number in ") + name);
    }
    return static_cast<int>(*value);
  };
  for (const Row& row : rows) {
    if (std::getenv(row.rank) != nullptr && std::getenv(row.size) != nullptr) {
      const Place place{number(row.rank), number(row.size),
                        std::getenv(row.local) != nullptr ? number(row.local) : 0, row.launcher};
      if (place.size < 1 || place.rank >= place.size) {
        throw Error(std::string("environment: ") + row.rank + " is not below " + row.size);
      }
      return place;
    }
  }
  throw Error(
      "mode processes: none of RANK + WORLD_SIZE, SLURM_PROCID + SLURM_NTASKS, "
      "OMPI_COMM_WORLD_RANK + OMPI_COMM_WORLD_SIZE is set");
}

}  // namespace shardlint::ranks
