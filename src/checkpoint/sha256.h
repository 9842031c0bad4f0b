#pragma once
// SHA-256 of a file, as integrity.json records it.

#include <string>

namespace shardlint::checkpoint {

std::string sha256_of_file(const std::string& path);  // 64 hexadecimal digits; throws Error

}  // namespace shardlint::checkpoint
