// dtypes, scalars and shapes of the tensor library.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>
#include <type_traits>
#include <utility>

#include "neuron_edu/here.h"

namespace c10 {

// The first seven are the GPSIMD's; the others have names so that a refusal can name them.
enum class ScalarType : int {
  Float, BFloat16, Half, Int, Char, Short, Byte, Long, Double, Bool, Undefined
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float value) {
    uint32_t word;
    memcpy(&word, &value, 4);
    bits = value != value ? 0x7fc0 : (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  operator float() const {
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, 4);
    return value;
  }
};

uint16_t half_of(float value);
float of_half(uint16_t bits);

struct Half {
  uint16_t bits;
  Half() = default;
  Half(float value) : bits(half_of(value)) {}
  operator float() const { return of_half(bits); }
};

template <class T> struct TypeOf { static constexpr ScalarType value = ScalarType::Undefined; };
template <> struct TypeOf<float> { static constexpr ScalarType value = ScalarType::Float; };
template <> struct TypeOf<BFloat16> { static constexpr ScalarType value = ScalarType::BFloat16; };
template <> struct TypeOf<Half> { static constexpr ScalarType value = ScalarType::Half; };
template <> struct TypeOf<int32_t> { static constexpr ScalarType value = ScalarType::Int; };
template <> struct TypeOf<int8_t> { static constexpr ScalarType value = ScalarType::Char; };
template <> struct TypeOf<int16_t> { static constexpr ScalarType value = ScalarType::Short; };
template <> struct TypeOf<uint8_t> { static constexpr ScalarType value = ScalarType::Byte; };

class Scalar {
  double number_ = 0;
  int64_t whole_ = 0;
  bool is_whole_ = true;

 public:
  Scalar() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  Scalar(T value)
      : number_((double)value), whole_(std::is_integral<T>::value ? (int64_t)value : 0),
        is_whole_(std::is_integral<T>::value) {}
  Scalar(BFloat16 value) : Scalar((float)value) {}
  Scalar(Half value) : Scalar((float)value) {}
  template <class T> T to() const { return is_whole_ ? (T)whole_ : (T)number_; }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool isIntegral(bool = false) const { return is_whole_; }
  bool isFloatingPoint() const { return !is_whole_; }
};

// Sizes; unlike PyTorch's it holds them itself, so it may outlive the braces that it was made from.
class IntArrayRef {
  int64_t values_[neuron_edu::MAX_DIMS] = {};
  size_t size_ = 0;
  void add(int64_t value) {
    if (size_ >= (size_t)neuron_edu::MAX_DIMS)
      neuron_edu::refuse(nullptr, 0, "a tensor of an operator has at most %d dimensions",
                         neuron_edu::MAX_DIMS);
    values_[size_++] = value;
  }

 public:
  IntArrayRef() = default;
  IntArrayRef(std::initializer_list<int64_t> values) {
    for (int64_t value : values) add(value);
  }
  IntArrayRef(const int64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) add(values[i]);
  }
  template <class C, class = decltype(std::declval<const C &>().data())>
  IntArrayRef(const C &values) {
    for (auto value : values) add((int64_t)value);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t *data() const { return values_; }
  const int64_t *begin() const { return values_; }
  const int64_t *end() const { return values_ + size_; }
  NEURON_EDU_INLINE int64_t operator[](neuron_edu::Index i) const {
    if ((uint64_t)i.value >= size_) neuron_edu::outside(i, (int64_t)size_, -1);
    return values_[i.value];
  }
  int64_t front() const { return (*this)[0]; }
  int64_t back() const { return (*this)[(int64_t)size_ - 1]; }
  bool operator==(const IntArrayRef &other) const {
    return size_ == other.size_ && memcmp(values_, other.values_, size_ * sizeof(int64_t)) == 0;
  }
  bool operator!=(const IntArrayRef &other) const { return !(*this == other); }
};

class TensorOptions {
  ScalarType dtype_ = ScalarType::Float;

 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions dtype(ScalarType dtype) const { return TensorOptions(dtype); }
  ScalarType dtype() const { return dtype_; }
};

}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;
using c10::IntArrayRef;
using c10::Scalar;
using c10::ScalarType;
using c10::TensorOptions;
constexpr auto kFloat = ScalarType::Float, kBFloat16 = ScalarType::BFloat16,
               kHalf = ScalarType::Half, kInt = ScalarType::Int, kChar = ScalarType::Char,
               kShort = ScalarType::Short, kByte = ScalarType::Byte, kLong = ScalarType::Long,
               kDouble = ScalarType::Double, kBool = ScalarType::Bool;
constexpr auto kFloat32 = kFloat, kFloat16 = kHalf, kInt32 = kInt, kInt8 = kChar, kInt16 = kShort,
               kUInt8 = kByte, kInt64 = kLong, kFloat64 = kDouble;
}  // namespace at
