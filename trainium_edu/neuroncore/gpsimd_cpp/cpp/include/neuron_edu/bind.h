// From the values of a call to a function's arguments; the compiler deduces the signature.
#pragma once
#include <tuple>

#include "torch/torch.h"

namespace neuron_edu {

at::Tensor tensor_of(const ArgumentSlot &, int number);

template <class A> struct Argument {
  static_assert(sizeof(A *) == 0,
                "an operator takes torch::Tensor, torch::Scalar, double and int64_t, nothing else");
};
template <> struct Argument<at::Tensor> {
  static constexpr char letter = 'T';
  static at::Tensor get(const ArgumentSlot &slot, int number) { return tensor_of(slot, number); }
};
template <class A> struct Number {
  static constexpr char letter = 's';
  static A get(const ArgumentSlot &slot, int) { return (A)slot.value; }
};
template <> struct Argument<at::Scalar> : Number<at::Scalar> {};
template <> struct Argument<double> : Number<double> {};
template <> struct Argument<int64_t> : Number<int64_t> {};

using Function = void (*)();

struct Entry {
  const char *library, *name, *kernel;
  Function function;
  at::Tensor (*run)(Function, const ArgumentSlot *);
  char signature[MAX_ARGUMENTS + 1];
};

void add(const Entry &);

template <class... A, size_t... I>
at::Tensor call(at::Tensor (*function)(A...), const ArgumentSlot *slots,
                std::index_sequence<I...>) {
  (void)slots;
  std::tuple<std::decay_t<A>...> values(Argument<std::decay_t<A>>::get(slots[I], (int)I)...);
  return function(std::get<I>(values)...);
}

template <class... A> at::Tensor run(Function function, const ArgumentSlot *slots) {
  return call((at::Tensor(*)(A...))function, slots, std::index_sequence_for<A...>{});
}

template <class... A>
Entry bind(const char *library, const char *name, const char *kernel, at::Tensor (*f)(A...)) {
  static_assert(sizeof...(A) <= MAX_ARGUMENTS, "an operator here takes at most 16 arguments");
  return {library, name, kernel, (Function)f, &run<A...>, {Argument<std::decay_t<A>>::letter..., 0}};
}
template <class R, class... A>
Entry bind(const char *, const char *, const char *, R (*)(A...)) {
  static_assert(sizeof(R *) == 0, "an operator's functions return a torch::Tensor");
  return {};
}

}  // namespace neuron_edu
