// What rules say of their fixes.
#include "rules/rule.h"

#include <algorithm>
#include <array>

namespace shardlint::rules {

bool reads(const Case& check, std::string_view key) {
  const auto in = [&](const Expr& expr) {
    const auto keys = keys_of(expr);
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  return in(check.when) || in(check.require) ||
         std::any_of(check.lets.begin(), check.lets.end(),
                     [&](const Let& let) { return in(let.value); });
}

std::span<const NoFixReason> no_fix_reasons() {
  // Words of rule files (docs/writing-rules.md); the sentences are read after "No fix: ".
  static constexpr std::array reasons = {
      NoFixReason{"number", "only you know the number that is meant"},
      NoFixReason{"name", "only you know the name or the text that is meant"},
      NoFixReason{"path", "only you know which file or folder is meant"},
      NoFixReason{"model", "every value that would hold is another model"},
      NoFixReason{"layout", "which sizes to change depends on your model, data and machines"},
      NoFixReason{"package", "it takes another release of a package, or one more package"},
      NoFixReason{"hardware", "it takes other hardware"},
      NoFixReason{"file", "what must change is in another file: a checkpoint, a model, data"},
      NoFixReason{"group",
                  "it takes another group of the configuration: model_engine=, engine=, optim="},
      NoFixReason{"command", "it takes another program, another recipe or a change of your code"},
      NoFixReason{"upstream", "no value of the configuration avoids this in these releases"},
      NoFixReason{"note", "nothing is wrong: it says what will happen"},
  };
  return reasons;
}

}  // namespace shardlint::rules
