#pragma once
// What a block of values looks like, at the speed of memory: the largest bit pattern without and
// with the sign tells whether anything in it deserves to be counted.

#include <cstdint>
#include <span>

#include "checkpoint/dtype.h"

namespace shardlint::checkpoint {

// Bit patterns of one tensor so far; patterns order as the absolute values do.
struct Extremes {
  std::uint64_t largest = 0;            // without the sign bit
  std::uint64_t largest_signed = 0;     // with it: above the sign bit alone means a negative value
  std::uint64_t smallest = UINT64_MAX;  // with it: equal to largest_signed when all are equal
  void merge(const Extremes& other);
};

// The float types whose values are judged; false: only the checksum is of interest.
bool is_scanned(DType dtype);

Extremes extremes(DType dtype, std::span<const std::byte> bytes);
bool has_not_finite(DType dtype, const Extremes& seen);
bool has_negative(DType dtype, const Extremes& seen);
bool all_zero(const Extremes& seen);
bool all_denormal(DType dtype, const Extremes& seen);

struct Counts {
  std::uint64_t elements = 0, nan = 0, infinite = 0, negative = 0, zero = 0;
  std::uint64_t first_bad = UINT64_MAX;  // index of the first NaN or infinity
  double minimum = 0, maximum = 0, sum = 0, sum_of_squares = 0;  // of the finite ones
  std::uint64_t finite = 0;
  void merge(const Counts& other, std::uint64_t elements_before);
};
// Exact and slower; any numeric type.
Counts count(DType dtype, std::span<const std::byte> bytes);

// One element as a number: what Python would print.
double element(DType dtype, const std::byte* at);

}  // namespace shardlint::checkpoint
