#pragma once
// Strict reading of a YAML mapping: every field is asked for by name, and what was not asked for
// is a fault.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/yaml/document.h"
#include "rules/load.h"

namespace shardlint::rules {

class Fields {
 public:
  // Faults go to `faults`. A node that is not a mapping is a fault and has no fields.
  Fields(const yaml::Node& node, std::string what, Pool& pool, std::vector<Fault>& faults);
  // Reports the fields nobody asked for.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  const yaml::Node* child(std::string_view name);     // null when absent
  const yaml::Node* required(std::string_view name);  // a fault when absent
  std::string_view text(std::string_view name);       // kept in the pool; empty when absent
  std::string_view required_text(std::string_view name);
  std::vector<std::string_view> texts(std::string_view name);  // one or a list
  // One of `choices`, as its index; `otherwise` when absent.
  std::size_t choice(std::string_view name, std::initializer_list<std::string_view> choices,
                     std::size_t otherwise);
  void fault(const yaml::Node& at, std::string message);
  const yaml::Node& node() const { return node_; }

 private:
  const yaml::Node& node_;
  std::string what_;
  Pool& pool_;
  std::vector<Fault>& faults_;
  std::vector<std::string_view> known_;
};

// The text of a scalar node, or a fault.
std::string_view scalar_text(const yaml::Node& node, Pool& pool, std::vector<Fault>& faults);

}  // namespace shardlint::rules
