#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor same(torch::Tensor x, double) { return torch::zeros(x.sizes(), torch::kFloat); }
torch::Tensor second(torch::Tensor, torch::Tensor x, double) { return x; }
NEURON_LIBRARY(leaky_ops, m) {
  m.def("leaky", &same, "leaky");
  m.def("leaky_backward", &second, "leaky_backward");
}
