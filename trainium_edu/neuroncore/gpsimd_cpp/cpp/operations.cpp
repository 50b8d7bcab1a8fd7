// The tensor library: one loop for each function, in float32 for floats, in int64 for integers.
#include <math.h>

#include "torch/torch.h"

namespace neuron_edu {
at::Tensor fresh(const c10::IntArrayRef &, c10::ScalarType, bool is_filled, const char *file, int line);
}

using namespace at;
using neuron_edu::here;
using neuron_edu::refuse;

#define WHERE_ const char *file, int line

namespace {

// -- bits of half precision -----------------------------------------------------------------------

bool is_float(ScalarType dtype) { return dtype <= ScalarType::Half; }

// Call f with a pointer of the tensor's own type.
template <class F> void with_type(const Tensor &tensor, F f) {
  void *data = tensor.body()->data;
  switch (tensor.scalar_type()) {
    case ScalarType::Float: return f((float *)data);
    case ScalarType::BFloat16: return f((BFloat16 *)data);
    case ScalarType::Half: return f((Half *)data);
    case ScalarType::Int: return f((int32_t *)data);
    case ScalarType::Char: return f((int8_t *)data);
    case ScalarType::Short: return f((int16_t *)data);
    default: return f((uint8_t *)data);
  }
}

template <class T> using Wide = std::conditional_t<std::is_integral<T>::value, int64_t, float>;

void count(const Tensor &tensor, bool is_curve = false) {
  here.counts.library_elements += tensor.numel();
  if (is_curve) here.counts.library_curves += tensor.numel();
}

void check(const char *name, const Tensor &result, const Tensor &self, const char *file, int line) {
  if (neuron_edu::here.is_shape)
    refuse(file, line, "a shape function looks at data; when a graph is compiled there are none");
  if (here.is_multicore)
    refuse(file, line,
           "torch::%s on several processors: with multicore=True tensors can only be accessed "
           "through TCM accessors", name);
  if (!result.defined() || !self.defined())
    refuse(file, line, "torch::%s of a tensor that was never made", name);
  if (result.sizes() != self.sizes())
    refuse(file, line, "torch::%s of tensors of %lld and %lld elements: shapes must match, there is "
           "no broadcasting", name, (long long)result.numel(), (long long)self.numel());
  if (result.scalar_type() != self.scalar_type())
    refuse(file, line, "torch::%s of torch::%s and torch::%s; dtypes must be equal", name,
           neuron_edu::name_of(result.scalar_type()), neuron_edu::name_of(self.scalar_type()));
}

void only_floats(const char *name, const Tensor &self, const char *file, int line) {
  if (!is_float(self.scalar_type()))
    refuse(file, line, "torch::%s of torch::%s; it takes floating-point tensors", name,
           neuron_edu::name_of(self.scalar_type()));
}

void only_integers(const char *name, const Tensor &self, const char *file, int line) {
  if (is_float(self.scalar_type()))
    refuse(file, line, "torch::%s of torch::%s; it takes tensors of integers", name,
           neuron_edu::name_of(self.scalar_type()));
}

// Functions see a float of any kind as a float and an integer as an int64_t, some at a time: so the
// compiler makes two of each, and not one for each dtype.
template <class W>
__attribute__((noinline)) void load(W *to, const Tensor &tensor, int64_t first, int64_t count) {
  with_type(tensor, [&](auto *in) {
    for (int64_t i = 0; i < count; i++) to[i] = (W)in[first + i];
  });
}

template <class W>
__attribute__((noinline)) void store(const W *from, const Tensor &tensor, int64_t first, int64_t count) {
  with_type(tensor, [&](auto *out) {
    for (int64_t i = 0; i < count; i++) out[first + i] = (std::decay_t<decltype(*out)>)from[i];
  });
}

template <class W, class F>
void in_pieces(const Tensor &result, const Tensor &a, const Tensor &b, F f) {
  constexpr int64_t MOST = 256;
  W left[MOST], right[MOST];
  for (int64_t first = 0, n = a.numel(); first < n; first += MOST) {
    int64_t count = n - first < MOST ? n - first : MOST;
    load(left, a, first, count);
    load(right, b, first, count);
    for (int64_t i = 0; i < count; i++) left[i] = f(left[i], right[i]);
    store(left, result, first, count);
  }
}

template <class F> void pairs(const Tensor &result, const Tensor &a, const Tensor &b, F f) {
  is_float(a.scalar_type()) ? in_pieces<float>(result, a, b, f) : in_pieces<int64_t>(result, a, b, f);
}

template <class F> void each(const Tensor &result, const Tensor &self, F f) {
  pairs(result, self, self, [&](auto x, auto) { return f(x); });
}

}  // namespace

namespace c10 {
uint16_t half_of(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  uint32_t sign = (word >> 16) & 0x8000, size = word & 0x7fffffff;
  if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more
  if (size < 0x38800000) {                                   // subnormal: in steps of 2**-24
    float steps = fabsf(value) * 16777216.0f;
    return (uint16_t)(sign | (uint32_t)nearbyintf(steps));
  }
  uint32_t kept = size - 0x38000000;
  return (uint16_t)(sign | ((kept + 0xfff + ((kept >> 13) & 1)) >> 13));
}

float of_half(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = bits & 0x7fff;
  float value;
  uint32_t word;
  if (size >= 0x7c00)
    word = sign | 0x7f800000 | ((size & 0x3ff) << 13);
  else if (size >= 0x400)
    word = sign | ((size << 13) + 0x38000000);
  else {
    value = (float)size / 16777216.0f;
    memcpy(&word, &value, 4);
    word |= sign;
  }
  memcpy(&value, &word, 4);
  return value;
}
}  // namespace c10

namespace at {

// -- factories ------------------------------------------------------------------------------------

Tensor empty(IntArrayRef size, TensorOptions options, WHERE_) {
  return neuron_edu::fresh(size, options.dtype(), false, file, line);
}

Tensor full(IntArrayRef size, const Scalar &fill_value, TensorOptions options, WHERE_) {
  Tensor made = neuron_edu::fresh(size, options.dtype(), true, file, line);
  if (!here.is_shape) made.fill_(fill_value, file, line);
  return made;
}

Tensor zeros(IntArrayRef size, TensorOptions options, WHERE_) {
  return full(size, 0, options, file, line);
}

Tensor ones(IntArrayRef size, TensorOptions options, WHERE_) {
  return full(size, 1, options, file, line);
}

Tensor eye(int64_t n, int64_t m, TensorOptions options, WHERE_) {
  Tensor made = zeros({n, m}, options, file, line);
  if (!here.is_shape)
    with_type(made, [&](auto *out) {
      using T = std::remove_pointer_t<decltype(out)>;
      for (int64_t i = 0; i < n && i < m; i++) out[i * m + i] = (T)1.0f;
    });
  return made;
}

const Tensor &Tensor::fill_(const Scalar &value, WHERE_) const {
  if (here.is_shape) return *this;
  if (here.is_multicore && body_->slot >= 0)
    refuse(file, line, "fill_ on several processors: with multicore=True tensors can only be accessed"
           " through TCM accessors");
  int64_t n = numel();
  with_type(*this, [&](auto *out) {
    using T = std::remove_pointer_t<decltype(out)>;
    T filled = (T)value.to<Wide<T>>();
    for (int64_t i = 0; i < n; i++) out[i] = filled;
  });
  here.counts.bulks += 1;
  here.counts.bulk_bytes += n * element_size();
  return *this;
}

Tensor &Tensor::fill_(const Scalar &value, WHERE_) {
  ((const Tensor *)this)->fill_(value, file, line);
  return *this;
}

// -- one operand ----------------------------------------------------------------------------------

#define NEW_(like) empty((like).sizes(), (like).scalar_type(), file, line)
#define ONE_(name, rule, is_curve, expression)                              \
  Tensor &name##_out(Tensor &result, const Tensor &self, WHERE_) {          \
    check(#name, result, self, file, line);                                 \
    rule(#name, self, file, line);                                          \
    each(result, self, [](auto x) { return expression; });                  \
    count(self, is_curve);                                                  \
    return result;                                                          \
  }                                                                         \
  Tensor name(const Tensor &self, WHERE_) {                                 \
    Tensor result = NEW_(self);                                             \
    return name##_out(result, self, file, line);                            \
  }
static void any(const char *, const Tensor &, const char *, int) {}
ONE_(abs, any, false, x < 0 ? -x : x == 0 ? 0 : x)
ONE_(ceil, any, false, (decltype(x))::ceil((double)x))
ONE_(floor, any, false, (decltype(x))::floor((double)x))
ONE_(sin, only_floats, true, (decltype(x))::sin((double)x))
ONE_(cos, only_floats, true, (decltype(x))::cos((double)x))
ONE_(tan, only_floats, true, (decltype(x))::tan((double)x))
ONE_(log, only_floats, true, (decltype(x))::log((double)x))
ONE_(log2, only_floats, true, (decltype(x))::log2((double)x))
ONE_(log10, only_floats, true, (decltype(x))::log10((double)x))
ONE_(exp, only_floats, true, (decltype(x))::exp((double)x))
ONE_(bitwise_not, only_integers, false, ~(int64_t)x)
Tensor bitwise_not(Tensor &result, const Tensor &self, WHERE_) {  // as the reference prints it
  return bitwise_not_out(result, self, file, line);
}

// -- two operands ---------------------------------------------------------------------------------

template <class F>
static void apply(const char *name, Tensor &result, const Tensor &self, const Tensor &other, F f,
                  WHERE_) {
  check(name, result, self, file, line);
  check(name, self, other, file, line);
  pairs(result, self, other, f);
}
template <class F>
static void apply(const char *name, Tensor &result, const Tensor &self, const Scalar &other, F f,
                  WHERE_) {
  check(name, result, self, file, line);
  each(result, self, [&](auto x) { return f(x, other.to<decltype(x)>()); });
}
template <class F>
static void apply(const char *name, Tensor &result, const Scalar &self, const Tensor &other, F f,
                  WHERE_) {
  check(name, result, other, file, line);
  each(result, other, [&](auto x) { return f(self.to<decltype(x)>(), x); });
}
static const Tensor &tensor_among(const Tensor &a, const Tensor &) { return a; }
static const Tensor &tensor_among(const Tensor &a, const Scalar &) { return a; }
static const Tensor &tensor_among(const Scalar &, const Tensor &b) { return b; }

#define TWO_(name, A, B, rule, is_curve, expression)                                        \
  Tensor &name##_out(Tensor &result, const A &self, const B &other, WHERE_) {               \
    rule(#name, tensor_among(self, other), file, line);                                     \
    apply(#name, result, self, other, [](auto x, decltype(x) y) { return expression; }, file, \
          line);                                                                            \
    count(result, is_curve);                                                                \
    return result;                                                                          \
  }                                                                                         \
  Tensor name(const A &self, const B &other, WHERE_) {                                      \
    Tensor result = NEW_(tensor_among(self, other));                                        \
    return name##_out(result, self, other, file, line);                                     \
  }
#define POWER_ (decltype(x))::pow((double)x, (double)y)
TWO_(pow, Tensor, Scalar, any, true, POWER_)
TWO_(pow, Scalar, Tensor, any, true, POWER_)
TWO_(pow, Tensor, Tensor, any, true, POWER_)
TWO_(mul, Tensor, Scalar, any, false, x * y)
TWO_(mul, Tensor, Tensor, any, false, x * y)
TWO_(div, Tensor, Scalar, only_floats, false, x / y)
TWO_(div, Tensor, Tensor, only_floats, false, x / y)
TWO_(bitwise_and, Tensor, Tensor, only_integers, false, (int64_t)x & (int64_t)y)
TWO_(bitwise_and, Tensor, Scalar, only_integers, false, (int64_t)x & (int64_t)y)
TWO_(bitwise_and, Scalar, Tensor, only_integers, false, (int64_t)x & (int64_t)y)
TWO_(bitwise_or, Tensor, Tensor, only_integers, false, (int64_t)x | (int64_t)y)
TWO_(bitwise_or, Tensor, Scalar, only_integers, false, (int64_t)x | (int64_t)y)
TWO_(bitwise_or, Scalar, Tensor, only_integers, false, (int64_t)x | (int64_t)y)

#define SCALED_(name, B, sign)                                                                    \
  Tensor &name##_out(Tensor &result, const Tensor &self, const B &other, const Scalar &alpha,     \
                     WHERE_) {                                                                    \
    apply(#name, result, self, other,                                                             \
          [&](auto x, decltype(x) y) { return x sign alpha.to<decltype(x)>() * y; }, file, line); \
    count(result);                                                                                \
    return result;                                                                                \
  }                                                                                               \
  Tensor name(const Tensor &self, const B &other, const Scalar &alpha, WHERE_) {                  \
    Tensor result = NEW_(self);                                                                   \
    return name##_out(result, self, other, alpha, file, line);                                    \
  }
SCALED_(add, Scalar, +)
SCALED_(add, Tensor, +)
SCALED_(sub, Scalar, -)
SCALED_(sub, Tensor, -)

Tensor &clamp_out(Tensor &result, const Tensor &self, const Scalar &minval, const Scalar &maxval,
                  WHERE_) {
  check("clamp", result, self, file, line);
  each(result, self, [&](auto x) {
    auto low = minval.to<decltype(x)>(), high = maxval.to<decltype(x)>();
    auto least = x < low ? low : x;
    return least > high ? high : least;
  });
  count(self);
  return result;
}

Tensor clamp(const Tensor &self, const Scalar &minval, const Scalar &maxval, WHERE_) {
  Tensor result = NEW_(self);
  return clamp_out(result, self, minval, maxval, file, line);
}

}  // namespace at
