#include "lint/overlay.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/strings.h"
#include "frontend/yaml/scalar.h"
#include "schema/schema.h"

namespace shardlint {
namespace {

struct Gpu {
  std::string_view name;
  ComputeCapability capability;
};

// NVIDIA's table of compute capabilities, the parts that train language models.
constexpr std::array gpus = {
    Gpu{"t4", {7, 5}},    Gpu{"v100", {7, 0}},   Gpu{"a100", {8, 0}},  Gpu{"a30", {8, 0}},
    Gpu{"a800", {8, 0}},  Gpu{"a10", {8, 6}},    Gpu{"a40", {8, 6}},   Gpu{"a6000", {8, 6}},
    Gpu{"l4", {8, 9}},    Gpu{"l40", {8, 9}},    Gpu{"l40s", {8, 9}},  Gpu{"h100", {9, 0}},
    Gpu{"h200", {9, 0}},  Gpu{"h800", {9, 0}},   Gpu{"h20", {9, 0}},   Gpu{"gh200", {9, 0}},
    Gpu{"b200", {10, 0}}, Gpu{"gb200", {10, 0}}, Gpu{"b300", {10, 3}}, Gpu{"gb300", {10, 3}},
};

std::pair<std::string_view, std::string_view> assignment(std::string_view text,
                                                         std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error(fmt::format("{} takes NAME=VALUE; got `{}`", option, text));
  }
  return {trim(text.substr(0, equals)), text.substr(equals + 1)};
}

void add_gpu(Facts& facts, std::string_view gpu, std::string_view framework) {
  const auto capability = compute_capability(gpu);
  if (!capability) {
    throw Error(
        fmt::format("--gpu `{}` is no GPU that is known; say its compute capability, for "
                    "example sm_90",
                    gpu));
  }
  const auto add = [&](std::string key, Value value) {
    facts.facts.push_back({std::move(key), std::move(value), {}, {}, Origin::override_value, ""});
  };
  add("device.name", gpu);
  add("device_capability", capability->major);
  if (framework == "megatron-bridge") {
    add("device.compute_capability", List{capability->major, capability->minor});
  } else {
    add("device.compute_capability", capability->major);
  }
  add("device.cuda_available", true);
}

}  // namespace

std::optional<ComputeCapability> compute_capability(std::string_view gpu) {
  std::string name = lower(gpu);
  if (name.starts_with("sm_") || name.starts_with("sm")) {
    std::string digits = name.substr(name.starts_with("sm_") ? 3 : 2);
    while (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
      digits.pop_back();
    }
    const auto number = to_integer(digits);
    if (number && *number >= 30 && *number < 1000) {
      return ComputeCapability{static_cast<int>(*number / 10), static_cast<int>(*number % 10)};
    }
    return {};
  }
  if (const auto parts = split(name, '.'); parts.size() == 2) {
    const auto major = to_integer(parts[0]), minor = to_integer(parts[1]);
    if (major && minor) {
      return ComputeCapability{static_cast<int>(*major), static_cast<int>(*minor)};
    }
  }
  const auto it =
      std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& g) { return g.name == name; });
  return it == gpus.end() ? std::nullopt : std::optional(it->capability);
}

Facts overlay(const Options& options, std::string_view framework) {
  Facts facts;
  facts.closed = options.world == Options::World::closed;
  for (const std::string& text : options.set) {
    const auto [key, value] = assignment(text, "--set");
    facts.facts.push_back(
        {std::string(key),
         yaml::resolve_scalar(value, yaml::Node::Style::plain, "", yaml::Mode::omegaconf),
         {},
         {},
         Origin::override_value,
         "--set"});
  }
  for (const std::string& text : options.env) {
    const auto [name, value] = assignment(text, "--env");
    facts.facts.push_back(
        {fmt::format("env.{}", name), Value(value), {}, {}, Origin::environment, "--env"});
  }
  if (options.world_size) {
    facts.facts.push_back(
        {"world_size", *options.world_size, {}, {}, Origin::override_value, "--world-size"});
  }
  if (!options.gpu.empty()) {
    add_gpu(facts, options.gpu, framework);
  }
  return facts;
}

std::string target_version(const Options& options, std::string_view framework) {
  std::string found;
  for (const std::string& target : options.targets) {
    const std::size_t sign = target.find("==");
    if (sign == std::string::npos) {
      throw Error(fmt::format("--target takes FRAMEWORK==VERSION; got `{}`", target));
    }
    const std::string_view name = std::string_view(target).substr(0, sign);
    const auto known = Schema::frameworks();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view close = nearest(name, known);
      throw Error(fmt::format("--target: `{}` is not a framework that is known{}", name,
                              close.empty() ? "" : fmt::format("; did you mean `{}`?", close)));
    }
    if (name == framework) {
      found = target.substr(sign + 2);
    }
  }
  return found;
}

}  // namespace shardlint
