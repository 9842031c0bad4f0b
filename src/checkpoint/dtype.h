#pragma once
// Element types: torch's names, their sizes, and how the file formats spell them.

#include <cstdint>
#include <string_view>

namespace shardlint::checkpoint {

enum class DType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  float4_e2m1fn_x2,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  boolean,
  complex128,
  complex64,
  complex32,
  qint32,
  qint8,
  quint8,
  quint4x2,
  quint2x4,
  unknown,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;         // torch.<name>
  unsigned size;                 // bytes an element
  std::string_view storage;      // torch.<storage>; empty: an untyped storage
  std::string_view safetensors;  // as in a safetensors header; empty: none
};

const DTypeInfo& info(DType dtype);
DType dtype_named(std::string_view torch_name);
DType dtype_of_storage(std::string_view storage_class);
DType dtype_of_safetensors(std::string_view name);

inline std::string_view name_of(DType dtype) {
  return info(dtype).name;
}
inline unsigned size_of(DType dtype) {
  return info(dtype).size;
}
bool is_float(DType dtype);  // has NaN or an exponent: worth a value scan

}  // namespace shardlint::checkpoint
