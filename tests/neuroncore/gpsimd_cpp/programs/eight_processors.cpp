#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

torch::Tensor leaky(const torch::Tensor& x) {
  torch::Tensor y = get_dst_tensor();
  const size_t n = x.numel(), chunk = 512;
  float *buf[2];
  for (float *&one : buf) one = (float *)torch::neuron::tcm_malloc(chunk * sizeof(float));
  assert(buf[0] && buf[1]);
  auto in = x.tcm_accessor();
  auto out = y.tcm_accessor();
  size_t per = n / get_cpu_count(), lo = per * get_cpu_id();
  size_t hi = get_cpu_id() == get_cpu_count() - 1 ? n : lo + per;
  int which = 0;
  for (size_t i = lo; i < hi; i += chunk, which ^= 1) {
    size_t m = std::min(chunk, hi - i);
    in.tensor_to_tcm<float>(buf[which], i, m);
    for (size_t j = 0; j < m; j++) buf[which][j] = fmaxf(buf[which][j], 0.1f * buf[which][j]);
    out.tcm_to_tensor<float>(buf[which], i, m);
  }
  torch::neuron::tcm_free(buf[0]);
  torch::neuron::tcm_free(buf[1]);
  return y;
}

torch::Tensor softmax_rows(const torch::Tensor& x) {
  torch::Tensor y = get_dst_tensor();
  size_t rows = x.size(0), cols = x.size(1);
  float *row = (float *)torch::neuron::tcm_malloc(cols * sizeof(float));
  for (size_t r = get_cpu_id(); r < rows; r += get_cpu_count()) {
    x.tcm_accessor().tensor_to_tcm<float>(row, r * cols, cols);
    float top = row[0], sum = 0;
    for (size_t j = 1; j < cols; j++) top = row[j] > top ? row[j] : top;
    for (size_t j = 0; j < cols; j++) sum += row[j] = expf(row[j] - top);
    for (size_t j = 0; j < cols; j++) row[j] /= sum;
    y.tcm_accessor().tcm_to_tensor<float>(row, r * cols, cols);
  }
  torch::neuron::tcm_free(row);
  return y;
}

torch::Tensor quant(const torch::Tensor& x, double scale) {
  torch::Tensor y = get_dst_tensor();
  size_t n = x.numel(), per = (n + get_cpu_count() - 1) / get_cpu_count();
  size_t lo = std::min(n, per * get_cpu_id()), hi = std::min(n, lo + per);
  float *f = (float *)torch::neuron::tcm_malloc(1024 * 4);
  int8_t *q = (int8_t *)torch::neuron::tcm_malloc(1024);
  for (size_t i = lo; i < hi; i += 1024) {
    size_t m = std::min<size_t>(1024, hi - i);
    x.tcm_accessor().tensor_to_tcm<float>(f, i, m);
    for (size_t j = 0; j < m; j++) {
      float v = roundf(f[j] * (float)scale);
      q[j] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
    }
    y.tcm_accessor().tcm_to_tensor<int8_t>(q, i, m);
  }
  torch::neuron::tcm_free(f);
  torch::neuron::tcm_free(q);
  return y;
}

torch::Tensor axpy(const torch::Tensor& x, const torch::Tensor& z, double a) {
  torch::Tensor y = get_dst_tensor();
  size_t n = x.numel(), per = (n + get_cpu_count() - 1) / get_cpu_count();
  size_t lo = std::min(n, per * get_cpu_id()), hi = std::min(n, lo + per);
  using BF16 = c10::BFloat16;
  BF16 *p = (BF16 *)torch::neuron::tcm_malloc(2048), *q = (BF16 *)torch::neuron::tcm_malloc(2048);
  for (size_t i = lo; i < hi; i += 1024) {
    size_t m = std::min<size_t>(1024, hi - i);
    x.tcm_accessor().tensor_to_tcm<BF16>(p, i, m);
    z.tcm_accessor().tensor_to_tcm<BF16>(q, i, m);
    for (size_t j = 0; j < m; j++) p[j] = (float)p[j] * a + q[j];
    y.tcm_accessor().tcm_to_tensor<BF16>(p, i, m);
  }
  return y;
}
