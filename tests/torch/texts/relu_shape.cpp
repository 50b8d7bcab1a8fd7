#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor same(torch::Tensor x) { return torch::zeros(x.sizes(), torch::kFloat); }
torch::Tensor second(torch::Tensor, torch::Tensor x) { return x; }
NEURON_LIBRARY(NAME, m) {
  m.def("element", &same, "element");
  m.def("backward", &second, "backward");
  m.def("tcm", &same, "tcm");
  m.def("eight", &same, "eight");
}
