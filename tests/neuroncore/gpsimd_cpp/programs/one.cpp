#include <torch/torch.h>
torch::Tensor one(const torch::Tensor& x) {
  return torch::abs(x);
}
