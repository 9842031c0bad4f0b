#pragma once
// The effective configuration: what every key is once the framework's own steps have run, and how
// it came to be so.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/config.h"
#include "facts/value.h"
#include "shardlint/lint.h"

namespace shardlint {

// One value in the life of a key.
struct EffectiveStep {
  Value value;
  Origin origin = Origin::set;
  Location where;  // where a person wrote it; no file: nobody did
  // Of a default the flag or class that declares it, of a rewrite the step's id, else a note.
  std::string by;
  std::string
      upstream;  // "NVIDIA/Megatron-LM d98e8a64 path:lines" of a default or a step, or empty
};

struct EffectiveKey {
  std::string key, canonical;           // canonical: empty when it has no such name
  std::vector<EffectiveStep> chain;     // never empty; the last one is in force
  std::optional<UnknownInput> unknown;  // why the value in force is not known
  const Value& value() const { return chain.back().value; }
  const EffectiveStep* written() const;  // the last that a person wrote, or null
  bool changed() const;                  // someone wrote it, and something else is in force
};

// One configuration of a file. Nothing points into the file's text.
struct Effective {
  std::string file, instance, framework, version;
  bool measured = true;              // version: asked for; false: the newest known was assumed
  std::string version_place;         // "uv.lock:12" where a file names it; else empty
  bool closed = false;               // false: what is absent may be set by something else
  std::vector<EffectiveKey> keys;    // sorted
  std::vector<std::string> refused;  // "CODE name": errors, at which upstream would have stopped
  const EffectiveKey* find(std::string_view key) const;
};

// Every configuration that the file holds. Throws Error when it cannot be read or holds none.
std::vector<Effective> resolve_file(const std::string& path, const Options& options);
// A Megatron-LM argument list.
std::vector<Effective> resolve_arguments(std::span<const std::string> arguments,
                                         const Options& options);

}  // namespace shardlint
