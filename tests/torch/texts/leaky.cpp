#include <torch/torch.h>
torch::Tensor leaky(const torch::Tensor& x, double slope) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0 ? in[i][j] : slope * in[i][j];
  return y;
}
torch::Tensor leaky_backward(const torch::Tensor& g, const torch::Tensor& x, double slope) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto grad = g.accessor<float, 2>();
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0 ? grad[i][j] : slope * grad[i][j];
  return y;
}
