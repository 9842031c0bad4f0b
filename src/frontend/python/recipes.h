#pragma once
// Which functions of a module return a configuration, and from object tree to Facts.

#include <string>
#include <utility>
#include <vector>

#include "facts/config.h"
#include "frontend/python/eval.h"

namespace shardlint::python {

struct Candidate {
  const Node* node = nullptr;
  bool annotated = false;  // -> ConfigContainer: it should give one
};

// Public functions of the top level whose annotation names ConfigContainer; in a module that deals
// with Megatron-Bridge also those without annotation that return something.
std::vector<Candidate> recipe_candidates(const Module& module, const Names& names,
                                         bool private_functions);

// An instance of ConfigContainer or of a class derived from it, or what a recipe that is not at
// hand returned.
bool is_configuration(const Val& value, const Names& names);

// The facts of configuration objects.
class Emitter {
 public:
  Emitter(Interpreter& interpreter, bool defaults)
      : interpreter_(interpreter), defaults_(defaults) {}
  void emit(const Val& configuration, Facts& facts);

 private:
  struct Ordered {
    std::uint32_t order;
    Fact fact;
  };
  void section(const Val& object, const std::string& prefix, int depth, bool certain);
  void field(const Val& owner, Name name, const std::string& key, int depth, bool certain);
  void chain(const Cell& cell, const std::string& key, const std::optional<Val>& usual);
  void environment(const Object& dict, const std::string& key, const Cell& cell);
  void lift_transformer();
  void opaque_model(const Object& model, const std::string& prefix);
  std::string inherited(const Write& write) const;
  Value value_of(const Val& value, int depth = 0) const;

  Interpreter& interpreter_;
  bool defaults_;
  std::vector<Ordered> made_;
  std::vector<const Object*> open_;    // sections being emitted
  std::vector<std::uint32_t> listed_;  // by name: the section that listed it last
  std::uint32_t sections_ = 0;
  // The fields of the model providers; filled when they are asked for.
  std::vector<std::pair<Name, const Key*>> provider_fields_;
  Facts* facts_ = nullptr;
};

}  // namespace shardlint::python
