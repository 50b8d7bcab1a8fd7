#include <stdint.h>
#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

torch::Tensor by_element(const torch::Tensor& x) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int64_t i = 0; i < x.size(0); i++)
    for (int64_t j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0 ? in[i][j] : 0;
  return y;
}

torch::Tensor by_stream(const torch::Tensor& x) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto in = x.read_stream_accessor<float>();
  auto out = y.write_stream_accessor<float>();
  for (int64_t i = 0; i < x.numel(); i++) {
    float value = in.read();
    out.write(value > 0 ? value : 0);
  }
  return y;
}

torch::Tensor by_tcm(const torch::Tensor& x) {
  torch::Tensor y = get_dst_tensor();
  const size_t size = 1024, count = x.numel();
  float *buffer = (float *)torch::neuron::tcm_malloc(size * sizeof(float));
  auto in = x.tcm_accessor();
  auto out = y.tcm_accessor();
  for (size_t i = 0; i < count; i += size) {
    size_t n = count - i < size ? count - i : size;
    in.tensor_to_tcm<float>(buffer, i, n);
    for (size_t j = 0; j < n; j++) buffer[j] = buffer[j] > 0 ? buffer[j] : 0;
    out.tcm_to_tensor<float>(buffer, i, n);
  }
  torch::neuron::tcm_free(buffer);
  return y;
}

torch::Tensor scaled(const torch::Tensor& x, double by, torch::Scalar plus) {
  torch::Tensor y = torch::mul(x, by);
  return torch::add(y, plus);
}
