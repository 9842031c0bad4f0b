#pragma once
// The flags of Megatron-Bridge's scripts and the keys that each writes.

#include <span>
#include <string_view>

namespace shardlint {

enum class BridgeScript { training, performance_flat, performance_recipes, other };
BridgeScript bridge_script(std::string_view path);

enum class BridgeValue { integer, real, text, flag_text, boolean, choice, list, on };

// `value`: a literal in place of the flag's own value; "" takes the flag's. A row whose value is a
// boolean flag writes only when it is true.
struct BridgeWrite {
  std::string_view key, value;
};
struct BridgeFlag {
  std::string_view brief, full;  // -tp, --tensor_model_parallel_size
  BridgeValue kind;
  std::span<const BridgeWrite> writes;
  std::string_view choices;  // separated by blanks
};

// Null when the script has no such flag, or it writes nothing.
const BridgeFlag* find_bridge_flag(BridgeScript script, std::string_view flag);

}  // namespace shardlint
