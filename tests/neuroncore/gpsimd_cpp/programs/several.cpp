#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>
#include <math.h>

torch::Tensor softmax(const torch::Tensor& x) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  const int64_t rows = x.size(0), n = x.size(1);
  float *row = (float *)torch::neuron::tcm_malloc(n * sizeof(float));
  if (row == nullptr) return y;
  auto in = x.tcm_accessor();
  auto out = y.tcm_accessor();
  for (int64_t i = 0; i < rows; i++) {
    in.tensor_to_tcm<float>(row, i * n, n);
    float most = row[0], sum = 0;
    for (int64_t j = 1; j < n; j++) most = row[j] > most ? row[j] : most;
    for (int64_t j = 0; j < n; j++) sum += row[j] = expf(row[j] - most);
    for (int64_t j = 0; j < n; j++) row[j] /= sum;
    out.tcm_to_tensor<float>(row, i * n, n);
  }
  torch::neuron::tcm_free(row);
  return y;
}

torch::Tensor turned(const torch::Tensor& x) {
  torch::Tensor y = torch::empty({x.size(1), x.size(0)}, torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int64_t i = 0; i < in.size(0); i++)
    for (int64_t j = 0; j < in.size(1); j++) out[j][i] = in[i][j];
  return y;
}

torch::Tensor corner(const torch::Tensor& x) {
  torch::Tensor y = torch::empty({1}, torch::kFloat);
  auto in = x.accessor<float, 8>();
  y.accessor<float, 1>()[0] = in[1][0][2][0][1][1][0][2];
  return y;
}

torch::Tensor narrow(const torch::Tensor& x) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kBFloat16);
  auto in = x.read_stream_accessor<float>();
  at::BFloat16 *buffer = (at::BFloat16 *)torch::neuron::tcm_malloc(2 * x.numel());
  for (int64_t i = 0; i < x.numel(); i++) buffer[i] = in.read();
  y.tcm_accessor().tcm_to_tensor<at::BFloat16>(buffer, 0, x.numel());
  return y;
}

torch::Tensor same(const torch::Tensor& x) { return torch::abs(x); }

torch::Tensor none() { return torch::full({2, 3}, 1.5, torch::kFloat); }
