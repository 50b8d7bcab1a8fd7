#include <torch/torch.h>
torch::Tensor cube(const torch::Tensor& x, double by) {
  torch::Tensor y = torch::mul(x, x);
  y = torch::mul(y, x);
  return torch::mul(y, by);
}
torch::Tensor cube_backward(const torch::Tensor& g, const torch::Tensor& x, double by) {
  torch::Tensor y = torch::mul(x, x);
  y = torch::mul(y, 3 * by);
  return torch::mul(g, y);
}
torch::Tensor narrow(const torch::Tensor& x) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kBFloat16);
  auto in = x.read_stream_accessor<float>();
  auto out = y.write_stream_accessor<at::BFloat16>();
  for (int i = 0; i < x.numel(); i++) out.write(in.read());
  return y;
}
