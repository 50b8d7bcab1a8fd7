#include <torch/torch.h>
#include <stdio.h>
torch::Tensor say(const torch::Tensor& x) {
  printf("%d elements\n", (int)x.numel());
  return torch::zeros(x.sizes(), torch::kFloat);
}
