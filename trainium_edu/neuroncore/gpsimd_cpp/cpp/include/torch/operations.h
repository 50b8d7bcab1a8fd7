// The tensor library's functions; no broadcasting, and nothing that the reference does not list.
#pragma once
#include "torch/tensor.h"

namespace at {

#define WHERE_ NEURON_EDU_WHERE
Tensor empty(IntArrayRef size, TensorOptions options, WHERE_);
Tensor full(IntArrayRef size, const Scalar &fill_value, TensorOptions options, WHERE_);
Tensor zeros(IntArrayRef size, TensorOptions options, WHERE_);
Tensor ones(IntArrayRef size, TensorOptions options, WHERE_);
Tensor eye(int64_t n, int64_t m, TensorOptions options, WHERE_);

#define ONE_(name)                                         \
  Tensor &name##_out(Tensor &result, const Tensor &self, WHERE_); \
  Tensor name(const Tensor &self, WHERE_);
ONE_(abs) ONE_(ceil) ONE_(floor) ONE_(sin) ONE_(cos) ONE_(tan) ONE_(log) ONE_(log2) ONE_(log10)
ONE_(exp) ONE_(bitwise_not)
#undef ONE_
Tensor bitwise_not(Tensor &result, const Tensor &self, WHERE_);

#define TWO_(name, A, B)                                                  \
  Tensor &name##_out(Tensor &result, const A &self, const B &other, WHERE_); \
  Tensor name(const A &self, const B &other, WHERE_);
TWO_(pow, Tensor, Scalar) TWO_(pow, Scalar, Tensor) TWO_(pow, Tensor, Tensor)
TWO_(mul, Tensor, Scalar) TWO_(mul, Tensor, Tensor)
TWO_(div, Tensor, Scalar) TWO_(div, Tensor, Tensor)
TWO_(bitwise_and, Tensor, Tensor) TWO_(bitwise_and, Tensor, Scalar) TWO_(bitwise_and, Scalar, Tensor)
TWO_(bitwise_or, Tensor, Tensor) TWO_(bitwise_or, Tensor, Scalar) TWO_(bitwise_or, Scalar, Tensor)
#undef TWO_

#define SCALED_(name, B)                                                                      \
  Tensor &name##_out(Tensor &result, const Tensor &self, const B &other, const Scalar &alpha = 1, \
                     WHERE_);                                                                 \
  Tensor name(const Tensor &self, const B &other, const Scalar &alpha = 1, WHERE_);
SCALED_(add, Scalar) SCALED_(add, Tensor) SCALED_(sub, Scalar) SCALED_(sub, Tensor)
#undef SCALED_

Tensor &clamp_out(Tensor &result, const Tensor &self, const Scalar &minval, const Scalar &maxval,
                  WHERE_);
Tensor clamp(const Tensor &self, const Scalar &minval, const Scalar &maxval, WHERE_);
#undef WHERE_

}  // namespace at
