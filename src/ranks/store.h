#pragma once
// Where ranks find each other: a blackboard of small values. In memory for threads, a folder for
// processes of one host, TCP served by rank 0 otherwise.

#include <memory>
#include <string>

namespace shardlint::ranks {

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until it is there; throws Error after `seconds`, naming the key.
  virtual std::string get(const std::string& key, double seconds) = 0;
  virtual bool in_one_process() const { return false; }
  double deadline = 60;
};

std::unique_ptr<Store> make_memory_store();
std::unique_ptr<Store> make_file_store(const std::string& folder, int rank);
// Rank 0 listens at the port, or at one of the 16 after it: torchrun keeps the first for itself.
std::unique_ptr<Store> make_tcp_store(const std::string& host, int port, int rank, double seconds);

// Rank, size and local rank from the launcher's environment: torchrun, srun or Open MPI.
struct Place {
  int rank = 0, size = 1, local_rank = 0;
  std::string launcher;
};
Place place_from_environment();  // throws Error when there is none

}  // namespace shardlint::ranks
