#pragma once
// The values in force at one point of a framework's program, as expressions see them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "facts/config.h"
#include "rules/expr_eval.h"
#include "rules/rule.h"
#include "schema/schema.h"

namespace shardlint::rules {

// What an absent key is. closed: its default. open: unknown. assumed: its default although the
// input is a fragment, to see what would happen if nothing else sets it.
enum class World { closed, open, assumed };

class State final : public Scope {
 public:
  State(Config& config, const Schema& schema, World world)
      : config_(config), schema_(schema), world_(world) {}

  Value key(std::string_view name) override;
  Value field(std::string_view section, std::string_view name) override;
  Value local(std::string_view name) override;
  Value is_instance(std::string_view key, std::string_view class_name) override;
  Value written(std::string_view key) override;

  // Before a step: its names, and forgetting what was read.
  void begin(const std::vector<Let>* lets);
  // Keys read since begin(), in order, with repeats.
  const std::vector<std::string_view>& reads() const { return reads_; }

  // Trial values for the enumeration of finite domains; they win over everything.
  std::map<std::string_view, Value> trial;

  // The key behind a let name that is a plain key, else the name itself; of a canonical name the
  // spelling that decides: written and true, else written, else the first.
  std::string_view target(std::string_view name_or_let) const;
  const Let* let(std::string_view name) const;
  const std::vector<Let>* lets() const { return lets_; }
  bool is_written(std::string_view key) const;

  // Sets a key of the configuration.
  void set(std::string_view key, Step step);
  const Config& config() const { return config_; }
  const Schema& schema() const { return schema_; }
  World world() const { return world_; }

 private:
  Value plain(std::string_view name);  // one spelling
  Value section(std::string_view name);
  Value absent(std::string_view name);
  bool is_composed_tree() const;
  Value absent_in_tree(std::string_view name) const;
  // Whether every class that the section could be, judging by the fields set in it, is a
  // `class_name`; unknown when some are.
  Value likely_instance(std::string_view section, std::string_view class_name) const;

  Config& config_;
  const Schema& schema_;
  World world_;
  const std::vector<Let>* lets_ = nullptr;
  std::vector<std::string_view> reads_;
  std::set<std::string> made_keys_;            // names put together here, kept for reads_
  std::vector<std::string_view> sorted_keys_;  // of the configuration; empty: to be made
  int depth_ = 0;
};

// Facts about the machine and the installation: env.NAME, world_size, device.*, software.* ...
// Never defaulted: unknown unless given.
bool is_machine_fact(std::string_view key);

}  // namespace shardlint::rules
