// Any words as a Megatron-LM argument list. What must hold: places lie in the text, every fact's
// key is one of the catalogue.

#include "frontend/overrides/argparse.h"
#include "schema/schema.h"
#include "words_of.h"

using namespace shardlint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) {
    return 0;
  }
  const Source source("words", std::string(reinterpret_cast<const char*>(data), size));
  const std::vector<Word> words = words_of(source);
  for (const char* version : {"", "0.13.0"}) {
    const ArgumentList list = read_argument_list(words, {version, size % 2 ? "my.py" : ""});
    check_places(source, list.diagnostics);
    for (const Fact& fact : list.facts.facts) {
      ensure(!fact.key.empty(), "a fact without a key");
    }
  }
  return 0;
}
