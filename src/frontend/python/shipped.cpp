#include "frontend/python/shipped.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace shardlint::python {
namespace {

using nlohmann::json;

constexpr std::string_view section_of_pairs = "\npairs:\n", section_of_recipes = "\nrecipes:\n";

// The line that starts at `at`, without its dash.
std::string_view row_at(std::size_t at) {
  const std::size_t end = shipped_recipes.find('\n', at);
  return shipped_recipes.substr(at + 2, end - at - 2);
}

std::optional<json> recipe_row(std::string_view name) {
  const std::string start = "\n- {\"name\":\"" + std::string(name) + "\"";
  const std::size_t at = shipped_recipes.find(start);
  return at == std::string_view::npos ? std::nullopt : std::optional(json::parse(row_at(at + 1)));
}

const std::vector<std::size_t>& pair_lines() {
  static const std::vector<std::size_t> lines = [] {
    std::vector<std::size_t> starts;
    std::size_t at = shipped_recipes.find(section_of_pairs) + section_of_pairs.size();
    const std::size_t end = shipped_recipes.find(section_of_recipes);
    while (at < end && at != 0) {
      starts.push_back(at);
      at = shipped_recipes.find('\n', at) + 1;
    }
    return starts;
  }();
  return lines;
}

Reason reason_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Reason::limit); ++i) {
    if (reason_name(static_cast<Reason>(i)) == name) {
      return static_cast<Reason>(i);
    }
  }
  return Reason::dynamic;
}

Value value_of(const json& value) {
  switch (value.type()) {
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return value.get<std::int64_t>();
    case json::value_t::number_float:
      return value.get<double>();
    case json::value_t::string:
      return value.get<std::string>();
    case json::value_t::array: {
      List list;
      for (const json& one : value) {
        list.push_back(value_of(one));
      }
      return list;
    }
    case json::value_t::object: {
      if (value.contains("unknown") && value.contains("not_null")) {
        Unknown unknown{reason_of(value["unknown"].get<std::string>()),
                        value["detail"].get<std::string>(),
                        {},
                        value["not_null"].get<bool>(),
                        {}};
        if (value.contains("domain")) {
          for (const json& one : value["domain"]) {
            unknown.domain.push_back(value_of(one));
          }
        }
        return unknown;
      }
      Map map;
      for (const auto& [key, one] : value.items()) {
        map.emplace_back(key, value_of(one));
      }
      return map;
    }
    default:
      return {};
  }
}

}  // namespace

std::string_view shipped_recipes_version() {
  constexpr std::string_view key = "\nversion: \"";
  const std::size_t at = shipped_recipes.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = at + key.size();
  return shipped_recipes.substr(begin, shipped_recipes.find('"', begin) - begin);
}

std::optional<ShippedRecipe> find_shipped_recipe(std::string_view name) {
  const std::string last(name.substr(name.rfind('.') + 1));
  std::vector<std::string> places;
  if (name.starts_with("megatron.bridge.diffusion.")) {
    places = {"diffusion/recipes."};
  } else if (name.starts_with("megatron.bridge.perf_recipes.")) {
    places = {"perf_recipes."};
  } else if (name.starts_with("megatron.bridge.recipes.")) {
    places = {"recipes."};
  } else if (name.find('.') == std::string_view::npos) {
    places = {"recipes.", "perf_recipes.", "diffusion/recipes."};
  }
  std::optional<json> row;
  for (const std::string& place : places) {
    row = row ? row : recipe_row(place + last);
  }
  if (row && row->contains("is")) {
    row = recipe_row((*row)["is"].get<std::string>());
  }
  if (!row) {
    return std::nullopt;
  }
  ShippedRecipe recipe;
  recipe.name = (*row)["name"].get<std::string>();
  recipe.version = shipped_recipes_version();
  std::vector<json> chain{*row};
  while (chain.back().contains("like")) {
    ensure(chain.size() < 1000, "the shipped recipes refer to each other in a circle");
    auto next = recipe_row(chain.back()["like"].get<std::string>());
    ensure(next.has_value(), "a shipped recipe refers to one that is not there");
    chain.push_back(std::move(*next));
  }
  std::set<std::size_t> indices;
  for (auto one = chain.rbegin(); one != chain.rend(); ++one) {
    if (one->contains("drop")) {
      for (const json& index : (*one)["drop"]) {
        indices.erase(index.get<std::size_t>());
      }
    }
    for (const json& index : (*one)["add"]) {
      indices.insert(index.get<std::size_t>());
    }
  }
  for (std::size_t index : indices) {
    const json pair = json::parse(row_at(pair_lines().at(index)));
    recipe.values.emplace_back(pair[0].get<std::string>(), value_of(pair[1]));
  }
  return recipe;
}

}  // namespace shardlint::python
