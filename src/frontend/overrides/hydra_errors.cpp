#include "frontend/overrides/hydra_errors.h"

namespace shardlint {

Diagnostic& HydraErrors::add(const char* code, const char* name, const Word& word, const Span& at,
                             std::string message, std::string_view key) {
  Diagnostic d;
  d.code = code;
  d.name = name;
  d.message = std::move(message);
  d.where = locate(at ? at : word.place());
  d.framework = schema_.framework();
  d.framework_version = schema_.version();
  d.key.path = key;
  d.key.canonical = schema_.canonical(key);
  d.key.origin = "override";
  if (schema_.framework() == "verl") {
    // Composition is Hydra's; objects are built by one function of verl.
    const bool built = std::string_view(code) == "HYD110";
    d.evidence.push_back({std::string(schema_.repository()), std::string(schema_.commit()),
                          built ? "verl/utils/config.py" : "hydra", built ? "50" : "compose",
                          built ? "raise" : "compose"});
  }
  if (word.conditional) {  // refused on some paths only
    d.severity = Severity::warning;
    d.verdict = Verdict::unknown;
    d.unknowns.push_back({word.shown(), "branch", "it is there under a condition that is not known",
                          locate(word.condition)});
  }
  return out_.emplace_back(std::move(d));
}

void HydraErrors::fix(Diagnostic& d, std::string title, Safety safety, const Span& where,
                      std::string text) {
  if (where) {
    d.fixes.push_back({std::move(title), safety, {{locate(where), std::move(text)}}});
  }
}

}  // namespace shardlint
