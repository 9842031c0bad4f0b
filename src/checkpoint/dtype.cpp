#include "checkpoint/dtype.h"

#include <algorithm>
#include <iterator>

namespace shardlint::checkpoint {
namespace {

// In the order of the enumeration.
constexpr DTypeInfo table[] = {
    {DType::float64, "float64", 8, "DoubleStorage", "F64"},
    {DType::float32, "float32", 4, "FloatStorage", "F32"},
    {DType::float16, "float16", 2, "HalfStorage", "F16"},
    {DType::bfloat16, "bfloat16", 2, "BFloat16Storage", "BF16"},
    {DType::float8_e4m3fn, "float8_e4m3fn", 1, "", "F8_E4M3"},
    {DType::float8_e4m3fnuz, "float8_e4m3fnuz", 1, "", "F8_E4M3FNUZ"},
    {DType::float8_e5m2, "float8_e5m2", 1, "", "F8_E5M2"},
    {DType::float8_e5m2fnuz, "float8_e5m2fnuz", 1, "", "F8_E5M2FNUZ"},
    {DType::float8_e8m0fnu, "float8_e8m0fnu", 1, "", "F8_E8M0"},
    {DType::float4_e2m1fn_x2, "float4_e2m1fn_x2", 1, "", ""},
    {DType::int64, "int64", 8, "LongStorage", "I64"},
    {DType::int32, "int32", 4, "IntStorage", "I32"},
    {DType::int16, "int16", 2, "ShortStorage", "I16"},
    {DType::int8, "int8", 1, "CharStorage", "I8"},
    {DType::uint64, "uint64", 8, "", "U64"},
    {DType::uint32, "uint32", 4, "", "U32"},
    {DType::uint16, "uint16", 2, "", "U16"},
    {DType::uint8, "uint8", 1, "ByteStorage", "U8"},
    {DType::boolean, "bool", 1, "BoolStorage", "BOOL"},
    {DType::complex128, "complex128", 16, "ComplexDoubleStorage", ""},
    {DType::complex64, "complex64", 8, "ComplexFloatStorage", "C64"},
    {DType::complex32, "complex32", 4, "", ""},
    {DType::qint32, "qint32", 4, "QInt32Storage", ""},
    {DType::qint8, "qint8", 1, "QInt8Storage", ""},
    {DType::quint8, "quint8", 1, "QUInt8Storage", ""},
    {DType::quint4x2, "quint4x2", 1, "QUInt4x2Storage", ""},
    {DType::quint2x4, "quint2x4", 1, "QUInt2x4Storage", ""},
    {DType::unknown, "unknown", 0, "", ""},
};
static_assert(std::size(table) == static_cast<std::size_t>(DType::unknown) + 1);

DType find(std::string_view word, std::string_view DTypeInfo::*column) {
  if (!word.empty()) {
    for (const DTypeInfo& row : table) {
      if (row.*column == word && row.dtype != DType::unknown) {
        return row.dtype;
      }
    }
  }
  return DType::unknown;
}

}  // namespace

const DTypeInfo& info(DType dtype) {
  return table[static_cast<std::size_t>(dtype)];
}
DType dtype_named(std::string_view name) {
  return find(name, &DTypeInfo::name);
}
DType dtype_of_storage(std::string_view name) {
  return find(name, &DTypeInfo::storage);
}
DType dtype_of_safetensors(std::string_view name) {
  return find(name, &DTypeInfo::safetensors);
}
bool is_float(DType dtype) {
  return dtype <= DType::float8_e5m2fnuz;
}

}  // namespace shardlint::checkpoint
