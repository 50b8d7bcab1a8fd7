// The tensor library of Neuron's custom operators, emulated.
#pragma once
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>  // these three as PyTorch's own header brings them
#include <limits>
#include <vector>

#include "torch/operations.h"

namespace torch {
using namespace at;
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }

namespace neuron {
inline void *tcm_malloc(size_t nbytes, NEURON_EDU_WHERE) {
  return neuron_edu::take_tcm(nbytes, false, file, line);
}
inline void tcm_free(void *ptr, NEURON_EDU_WHERE) { neuron_edu::give_tcm(ptr, file, line); }
}  // namespace neuron
}  // namespace torch

torch::Tensor get_dst_tensor(NEURON_EDU_WHERE);
