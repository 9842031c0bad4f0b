#pragma once
// YAML as the frameworks read it. A document is recognised by what it holds, or read as the
// framework that the user names:
//   megatron-bridge  partial override files (open); containers with _target_ such as the
//                    run_config.yaml of a checkpoint (closed)
//   megatron-lm      functional tests, MODEL_ARGS and ENV_VARS (argument lists, closed);
//                    --yaml-cfg files (open, base "yaml-cfg": upstream validates them by
//                    rules of their own)
//   verl             root files (open; closed when the tree is a composed one)
// Findings of its own: YML120 yaml-duplicate-key, YML121 yaml-several-documents.

#include <string>
#include <string_view>
#include <vector>

#include "facts/config.h"
#include "frontend/words.h"
#include "frontend/yaml/document.h"
#include "shardlint/diagnostic.h"

namespace shardlint::yaml {

// A command line that the file stands for; the argument-list front end makes Facts of it.
struct ArgumentList {
  std::vector<Word> words;
  Facts facts;       // framework, instance, closed, anchor; environment and launcher facts
  std::string mode;  // what the run is: pretraining, inference, rl
};

struct Reading {
  std::string framework;  // empty: no dialect that is known; the file is skipped
  std::vector<Facts> configurations;
  std::vector<ArgumentList> arguments;
  std::vector<Diagnostic> diagnostics;
};

// `framework`: the one that the user names, or empty.
Reading read_dialect(const Document& document, std::string_view path,
                     std::string_view framework = {});

// Whether a text that cannot be read would matter: it holds words that only these frameworks'
// configurations have. (A directory may hold templates that only look like YAML.)
bool mentions_frameworks(std::string_view text);

}  // namespace shardlint::yaml
