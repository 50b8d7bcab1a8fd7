#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

torch::Tensor part(const torch::Tensor& x, double kind) {
  torch::Tensor y = get_dst_tensor();
  int64_t n = x.numel(), id = get_cpu_id(), count = get_cpu_count();
  int64_t share = (n + count - 1) / count, begin = id * share;
  int64_t end = begin + share < n ? begin + share : n;
  float *buffer = (float *)torch::neuron::tcm_malloc(2048);
  auto in = x.tcm_accessor();
  auto out = y.tcm_accessor();
//before
  for (int64_t i = begin; i < end; i += 512) {
    int64_t size = end - i < 512 ? end - i : 512;
    in.tensor_to_tcm<float>(buffer, i, size);
    for (int64_t j = 0; j < size; j++) buffer[j] = 2 * buffer[j];
    out.tcm_to_tensor<float>(buffer, i, size);
  }
//after
  torch::neuron::tcm_free(buffer);
  return y;
}
