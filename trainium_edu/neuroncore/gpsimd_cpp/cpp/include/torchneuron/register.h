// NEURON_LIBRARY(name, m) { m.def("operator", &shape_function, "kernel_function"); }
#pragma once
#include "neuron_edu/bind.h"

namespace neuron_edu {

struct Library {
  const char *name;
  template <class F> void def(const char *op, F *shape_function, const char *kernel_function) {
    add(bind(name, op, kernel_function, shape_function));
  }
};

struct Registered {
  Registered(const char *name, void (*fill)(Library &)) {
    Library library{name};
    fill(library);
  }
};

}  // namespace neuron_edu

#define NEURON_LIBRARY(name, m)                                                               \
  static void neuron_edu_fill_##name(neuron_edu::Library &);                                  \
  static neuron_edu::Registered neuron_edu_registered_##name(#name, &neuron_edu_fill_##name); \
  static void neuron_edu_fill_##name(neuron_edu::Library &m)
