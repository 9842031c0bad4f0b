#pragma once
// Recorded cases as configurations.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "facts/config.h"
#include "rules/engine.h"
#include "source/source.h"

namespace shardlint {

struct RecordedCase {
  Config config;
  std::vector<std::string> parse_errors;
  std::vector<std::string>
      built_errors;  // anchors of what a front end says of the objects' building
  const Schema* schema = nullptr;
  std::set<unsigned> stages;  // those that the recorder executed

  unsigned last_stage = ~0u;  // of a case that ran only so far
  bool follows_rewrites = true;
  bool executed(unsigned stage) const { return stage <= last_stage && stages.count(stage) > 0; }
  Value initial(const std::string& key) const;  // of a key that the case does not set
  bool counts(const std::string& key) const;    // whether changes of this key are compared
};

// JSON as the engine's values; objects that upstream printed ("<normal_>") stay strings.
Value recorded_value(const nlohmann::json& value);
// Equal up to how the recorder prints: dtypes by any of their names, 1 and 1.0, true and "True".
bool same_recorded(const Value& a, const Value& b);

class CaseReader {
 public:
  CaseReader() = default;
  explicit CaseReader(const nlohmann::json& header);
  RecordedCase read(const nlohmann::json& record);
  const rules::Program& program() const { return program_; }

 private:
  void read_megatron_lm(const nlohmann::json& record, RecordedCase& out);
  void read_megatron_bridge(const nlohmann::json& record, RecordedCase& out);
  void read_verl(const nlohmann::json& record, RecordedCase& out);
  void set(Config& config, const std::string& key, Value value);
  void close_environment(const nlohmann::json& record, Config& config);
  unsigned stage_number(std::string_view name) const;

  std::string framework_;
  const Schema* schema_ = nullptr;
  rules::Program program_;
  nlohmann::json bases_;
  std::set<unsigned> stages_;
  std::set<std::string> environment_;  // every env.NAME that some step reads
  std::shared_ptr<Sources> sources_;
};

}  // namespace shardlint
