#pragma once
// String helpers without a domain.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardlint {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower(std::string_view text);
std::string replace_all(std::string text, std::string_view from, std::string_view to);

// Whole-string conversions; nothing is skipped or guessed.
std::optional<long long> to_integer(std::string_view text);
std::optional<double> to_double(std::string_view text);

// `*` matches any run of characters, `?` one.
bool glob_match(std::string_view pattern, std::string_view text);

// The first byte that is not part of valid UTF-8 (RFC 3629), or nothing.
std::optional<std::size_t> invalid_utf8(std::string_view text);

// FNV-1a, for fingerprints: stable across runs, machines and versions.
std::uint64_t stable_hash(std::string_view text);

}  // namespace shardlint
