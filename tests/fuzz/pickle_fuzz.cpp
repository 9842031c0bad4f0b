// The pickle machine and those that interpret its records: .metadata and data.pkl.
#include <string_view>

#include "checkpoint/globals.h"
#include "checkpoint/metadata.h"
#include "checkpoint/pickle.h"
#include "checkpoint/torch_record.h"

using namespace shardlint::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Checkpoint into;
  into.directory = "fuzz";
  parse_metadata(input, "fuzz/.metadata", into);
  try {
    const pickle::Pickle pickle = pickle::run(input);
    stored_tensor(pickle, pickle.root);
    storages(pickle);
    judge_globals(pickle, PickleRole::object, "fuzz", 0, "");
  } catch (const pickle::Fault&) {
    // a refusal is an answer
  }
  return 0;
}
