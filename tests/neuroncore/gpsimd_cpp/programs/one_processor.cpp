#include <torch/torch.h>

torch::Tensor gelu(const torch::Tensor& x) {
  size_t num_elem = x.numel();
  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
  auto in = x.read_stream_accessor<float>();
  auto out = y.write_stream_accessor<float>();
  for (size_t i = 0; i < num_elem; i++) {
    float v = in.read();
    out.write(0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
  }
  out.close();
  return y;
}

torch::Tensor row_sum(const torch::Tensor& t) {
  auto acc = t.accessor<float, 2>();
  torch::Tensor out = torch::zeros({t.size(0)}, torch::kFloat);
  auto o = out.accessor<float, 1>();
  for (int i = 0; i < t.size(0); i++) {
    float s = 0;
    for (int j = 0; j < t.size(1); j++) s += acc[i][j];
    o[i] = s;
  }
  return out;
}

torch::Tensor hist(const torch::Tensor& t, double bins) {
  int n = (int)bins;
  torch::Tensor out = torch::zeros({n}, torch::kInt);
  auto o = out.accessor<int32_t, 1>();
  auto in = t.read_stream_accessor<uint8_t>();
  for (int64_t i = 0; i < t.numel(); i++) o[in.read() * n / 256]++;
  return out;
}

torch::Tensor scan(const torch::Tensor& t) {
  torch::Tensor out = torch::empty(t.sizes(), torch::kFloat);
  auto in = t.read_stream_accessor<float>();
  auto o = out.write_stream_accessor<float>();
  float s = 0;
  for (int64_t i = 0; i < t.numel(); i++) { s += in.read(); o.write(s); }
  return out;
}

torch::Tensor ordered(const torch::Tensor& t) {
  std::vector<float> v;
  auto in = t.read_stream_accessor<float>();
  for (int64_t i = 0; i < t.numel(); i++) v.push_back(in.read());
  std::sort(v.begin(), v.end());
  torch::Tensor out = torch::empty(t.sizes(), torch::kFloat);
  auto o = out.write_stream_accessor<float>();
  for (float x : v) o.write(x);
  o.close();
  return out;
}

torch::Tensor topk(const torch::Tensor& t, const torch::Scalar& k) {
  int n = k.toInt();
  auto in = t.accessor<float, 2>();
  torch::Tensor out = torch::full({t.size(0), n}, -INFINITY, torch::kFloat);
  auto o = out.accessor<float, 2>();
  float best[16];
  for (int64_t i = 0; i < t.size(0); i++) {
    for (int q = 0; q < n; q++) best[q] = -std::numeric_limits<float>::infinity();
    for (int64_t j = 0; j < t.size(1); j++) {
      float x = in[i][j];
      for (int q = 0; q < n; q++) if (x > best[q]) std::swap(x, best[q]);
    }
    for (int q = 0; q < n; q++) o[i][q] = best[q];
  }
  return out;
}

torch::Tensor lut(const torch::Tensor& codes, const torch::Tensor& table) {
  float *tcm = (float *)torch::neuron::tcm_malloc(sizeof(float) * table.numel());
  table.tcm_accessor().tensor_to_tcm<float>(tcm, 0, table.numel());
  torch::Tensor out = torch::empty(codes.sizes(), torch::kFloat);
  auto in = codes.read_stream_accessor<int8_t>();
  auto o = out.write_stream_accessor<float>();
  for (int64_t i = 0; i < codes.numel(); i++) o.write(tcm[in.read() + 128]);
  o.close();
  torch::neuron::tcm_free(tcm);
  return out;
}

torch::Tensor gather(const torch::Tensor& x, const torch::Tensor& index) {
  auto a = x.accessor<float, 2>();
  auto idx = index.accessor<int32_t, 1>();
  torch::Tensor out = torch::zeros({index.size(0), x.size(1)}, torch::kFloat);
  auto o = out.accessor<float, 2>();
  for (int i = 0; i < index.size(0); i++) {
    auto row = a[idx[i]];
    for (int j = 0; j < x.size(1); j++) o[i][j] = row[j];
  }
  return out;
}

torch::Tensor dropout(const torch::Tensor& x, double p, int64_t seed) {
  uint64_t s = (uint64_t)seed;
  torch::Tensor out = torch::empty(x.sizes(), torch::kFloat);
  auto in = x.read_stream_accessor<float>();
  auto o = out.write_stream_accessor<float>();
  for (int64_t i = 0; i < x.numel(); i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    float u = (float)(s >> 40) / 16777216.0f;
    float v = in.read();
    o.write(u < p ? 0.0f : v / (float)(1 - p));
  }
  o.close();
  return out;
}

torch::Tensor turned(const torch::Tensor& x) {
  torch::Tensor out = torch::empty({x.size(1), x.size(0)}, x.dtype());
  auto a = x.accessor<at::BFloat16, 2>();
  auto o = out.accessor<at::BFloat16, 2>();
  for (int64_t i = 0; i < x.size(0); i++)
    for (int64_t j = 0; j < x.size(1); j++) o[j][i] = a[i][j];
  return out;
}
