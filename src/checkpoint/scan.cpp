#include "checkpoint/scan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "checkpoint/bytes.h"

namespace shardlint::checkpoint {
namespace {

// One binary for every machine: the loader picks the widest variant that the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_WIDTH __attribute__((target_clones("avx2", "default")))
#else
#define EVERY_WIDTH
#endif

struct FloatBits {
  unsigned bits;
  std::uint64_t sign, not_finite, normal;  // the sign bit; patterns from which on
};

FloatBits layout(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return {64, 0x8000000000000000, 0x7ff0000000000000, 0x0010000000000000};
    case DType::float32:
      return {32, 0x80000000, 0x7f800000, 0x00800000};
    case DType::float16:
      return {16, 0x8000, 0x7c00, 0x0400};
    case DType::bfloat16:
      return {16, 0x8000, 0x7f80, 0x0080};
    case DType::float8_e4m3fn:
      return {8, 0x80, 0x7f, 0};  // no infinity; one NaN a sign
    case DType::float8_e5m2:
      return {8, 0x80, 0x7c, 0};
    default:
      return {0, 0, 0, 0};
  }
}

// A macro, because variants for several processors cannot be made of a template.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define DEFINE_EXTREMES(NAME, TYPE, SIGN)                                         \
  EVERY_WIDTH Extremes NAME(const std::byte* bytes, std::size_t count) {          \
    TYPE largest = 0, most = 0, least = static_cast<TYPE>(~TYPE{0});              \
    for (std::size_t i = 0; i < count; ++i) {                                     \
      TYPE value;                                                                 \
      std::memcpy(&value, bytes + i * sizeof(TYPE), sizeof(TYPE));                \
      const TYPE magnitude =                                                      \
          static_cast<TYPE>(value & static_cast<TYPE>(~static_cast<TYPE>(SIGN))); \
      largest = largest > magnitude ? largest : magnitude;                        \
      most = most > value ? most : value;                                         \
      least = least < value ? least : value;                                      \
    }                                                                             \
    return {largest, most, count == 0 ? UINT64_MAX : least};                      \
  }
DEFINE_EXTREMES(extremes8, std::uint8_t, 0x80)
DEFINE_EXTREMES(extremes16, std::uint16_t, 0x8000)
DEFINE_EXTREMES(extremes32, std::uint32_t, 0x80000000)
DEFINE_EXTREMES(extremes64, std::uint64_t, 0x8000000000000000)
// NOLINTEND(bugprone-macro-parentheses)

double from_float16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// Eight bits with `mantissa` of them after the point and the given bias.
double from_float8(std::uint8_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7f) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  const int one = 1 << mantissa_bits;
  return sign * (exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                               : std::ldexp(one + mantissa, exponent - bias - mantissa_bits));
}

}  // namespace

void Extremes::merge(const Extremes& other) {
  largest = std::max(largest, other.largest);
  largest_signed = std::max(largest_signed, other.largest_signed);
  smallest = std::min(smallest, other.smallest);
}

bool is_scanned(DType dtype) {
  return layout(dtype).bits != 0;
}

Extremes extremes(DType dtype, std::span<const std::byte> bytes) {
  switch (layout(dtype).bits) {
    case 8:
      return extremes8(bytes.data(), bytes.size());
    case 16:
      return extremes16(bytes.data(), bytes.size() / 2);
    case 32:
      return extremes32(bytes.data(), bytes.size() / 4);
    case 64:
      return extremes64(bytes.data(), bytes.size() / 8);
    default:
      return {};
  }
}

bool has_not_finite(DType dtype, const Extremes& seen) {
  return seen.largest >= layout(dtype).not_finite;
}
bool has_negative(DType dtype, const Extremes& seen) {
  return seen.largest_signed > layout(dtype).sign;
}
bool all_zero(const Extremes& seen) {
  return seen.largest == 0 && seen.smallest != UINT64_MAX;
}
bool all_denormal(DType dtype, const Extremes& seen) {
  return seen.largest != 0 && seen.largest < layout(dtype).normal;
}

double element(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::float64:
      return load_le<double>(at);
    case DType::float32:
      return static_cast<double>(load_le<float>(at));
    case DType::float16:
      return from_float16(load_le<std::uint16_t>(at));
    case DType::bfloat16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(load_le<std::uint16_t>(at)) << 16));
    case DType::float8_e4m3fn: {
      const auto bits = load_le<std::uint8_t>(at);
      return (bits & 0x7f) == 0x7f ? NAN : from_float8(bits, 3, 7);
    }
    case DType::float8_e5m2: {
      const auto bits = load_le<std::uint8_t>(at);
      return (bits & 0x7f) > 0x7c    ? NAN
             : (bits & 0x7f) == 0x7c ? ((bits & 0x80) != 0 ? -INFINITY : INFINITY)
                                     : from_float8(bits, 2, 15);
    }
    case DType::float8_e4m3fnuz: {
      const auto bits = load_le<std::uint8_t>(at);
      return bits == 0x80 ? NAN : from_float8(bits, 3, 8);
    }
    case DType::float8_e5m2fnuz: {
      const auto bits = load_le<std::uint8_t>(at);
      return bits == 0x80 ? NAN : from_float8(bits, 2, 16);
    }
    case DType::float8_e8m0fnu: {
      const auto bits = load_le<std::uint8_t>(at);
      return bits == 0xff ? NAN : std::ldexp(1.0, bits - 127);
    }
    case DType::int64:
      return static_cast<double>(load_le<std::int64_t>(at));
    case DType::int32:
    case DType::qint32:
      return load_le<std::int32_t>(at);
    case DType::int16:
      return load_le<std::int16_t>(at);
    case DType::int8:
    case DType::qint8:
      return load_le<std::int8_t>(at);
    case DType::uint64:
      return static_cast<double>(load_le<std::uint64_t>(at));
    case DType::uint32:
      return load_le<std::uint32_t>(at);
    case DType::uint16:
      return load_le<std::uint16_t>(at);
    case DType::uint8:
    case DType::boolean:
    case DType::quint8:
      return load_le<std::uint8_t>(at);
    case DType::complex128:
      return load_le<double>(at);
    case DType::complex64:
      return static_cast<double>(load_le<float>(at));
    case DType::complex32:
      return from_float16(load_le<std::uint16_t>(at));
    case DType::float4_e2m1fn_x2:
    case DType::quint4x2:
    case DType::quint2x4:
    case DType::unknown:
      return NAN;
  }
  return NAN;
}

void Counts::merge(const Counts& other, std::uint64_t elements_before) {
  if (other.finite != 0) {
    minimum = finite == 0 ? other.minimum : std::min(minimum, other.minimum);
    maximum = finite == 0 ? other.maximum : std::max(maximum, other.maximum);
  }
  elements += other.elements, nan += other.nan, infinite += other.infinite,
      negative += other.negative;
  zero += other.zero, finite += other.finite, sum += other.sum,
      sum_of_squares += other.sum_of_squares;
  if (other.first_bad != UINT64_MAX) {
    first_bad = std::min(first_bad, other.first_bad + elements_before);
  }
}

Counts count(DType dtype, std::span<const std::byte> bytes) {
  Counts counts;
  const unsigned size = size_of(dtype);
  if (size == 0) {
    return counts;
  }
  counts.elements = bytes.size() / size;
  for (std::uint64_t i = 0; i < counts.elements; ++i) {
    const double value = element(dtype, bytes.data() + i * size);
    if (std::isnan(value) || std::isinf(value)) {
      counts.nan += std::isnan(value);
      counts.infinite += std::isinf(value);
      counts.first_bad = std::min(counts.first_bad, i);
      continue;
    }
    counts.minimum = counts.finite == 0 ? value : std::min(counts.minimum, value);
    counts.maximum = counts.finite == 0 ? value : std::max(counts.maximum, value);
    counts.negative += value < 0;
    counts.zero += value == 0;
    counts.sum += value;
    counts.sum_of_squares += value * value;
    ++counts.finite;
  }
  return counts;
}

}  // namespace shardlint::checkpoint
