#pragma once
// The rows of dialect.cpp's table; each framework's file defines its own.

#include "frontend/yaml/dialect.h"
#include "frontend/yaml/flatten.h"

namespace shardlint::yaml {

// How surely a document is this framework's.
enum class Certainty { none, shape, sure };

// Who reads the file decides what a repeated key means.
enum class Repeats {
  last_wins,  // PyYAML
  refused,    // OmegaConf: keys that are strings
  both        // both go on to the command line, where the last one counts
};

struct Dialect {
  std::string_view framework;
  Certainty (*recognise)(const Node& root, std::string_view path);
  void (*read)(const Node& root, std::string_view path, Reading& into);
  Repeats (*repeats)(const Node& root);
};

extern const Dialect megatron_bridge_dialect, megatron_lm_dialect, verl_dialect;

// The key's value is a mapping.
bool has_mapping(const Node& node, std::string_view key);

}  // namespace shardlint::yaml
