#include <torch/torch.h>
torch::Tensor half(const torch::Tensor& x, double by) {
  assert(by > 0);
  printf("by %g\n", by);
  return torch::mul(x, 0.5 * by);
}
