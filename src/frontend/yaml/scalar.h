#pragma once
// What a scalar means to the program that reads the file. The readers disagree: 1e-4 is a string to
// PyYAML and a number to OmegaConf, 0o17 is a number to YAML 1.2 alone, yes is true to both
// Python readers and a string to YAML 1.2.

#include <string_view>

#include "facts/value.h"
#include "frontend/yaml/document.h"

namespace shardlint::yaml {

enum class Mode {
  omegaconf,  // OmegaConf's loader: PyYAML's with its own floats and no dates
  pyyaml11,   // yaml.safe_load
  core12,     // YAML 1.2 core schema
};

// A scalar with an explicit tag that its text does not fit, or with a tag of an application, is
// unknown (bad_type, dynamic).
Value resolve_scalar(std::string_view text, Node::Style style, std::string_view tag, Mode mode);

// The whole node: aliases replaced, merges done, of duplicate keys the last. Keys that are no
// strings become their text.
Value to_value(const Node& node, Mode mode);

}  // namespace shardlint::yaml
