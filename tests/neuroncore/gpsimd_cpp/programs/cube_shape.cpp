#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor one(torch::Tensor x, double by) { return torch::empty(x.sizes(), torch::kFloat); }
torch::Tensor two(torch::Tensor g, torch::Tensor x, double by) { return x; }
torch::Tensor narrow(torch::Tensor x) {
  assert(x.dim() == 2);
  return torch::empty(x.sizes(), torch::kBFloat16);
}
NEURON_LIBRARY(NAME, m) {
  m.def("cube", &one, "cube");
  m.def("cube_backward", &two, "cube_backward");
  m.def("narrow", &narrow, "narrow");
}
