#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor shape(torch::Tensor x, double by) { return x; }
NEURON_LIBRARY(ops, m) { m.def("half", &shape, "half"); }
