
torch::Tensor element(const torch::Tensor& x) {
  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0.0 ? in[i][j] : 0.0;
  return y;
}
torch::Tensor stream(const torch::Tensor& x) {
  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
  auto in = x.read_stream_accessor<float>();
  auto out = y.write_stream_accessor<float>();
  for (int64_t i = 0; i < x.numel(); i++) {
    float v = in.read();
    out.write(v > 0.0 ? v : 0.0);
  }
  return y;
}
torch::Tensor tcm(const torch::Tensor& x) {
  return by_copies(x, torch::zeros(x.sizes(), torch::kFloat), 0, x.numel(), 1024);
}
torch::Tensor tiny(const torch::Tensor& x) {
  return by_copies(x, torch::zeros(x.sizes(), torch::kFloat), 0, x.numel(), 8);
}
torch::Tensor backward(const torch::Tensor& g, const torch::Tensor& x) {
  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto grad = g.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0.0 ? grad[i][j] : 0.0;
  return y;
}
torch::Tensor five(const torch::Tensor& x) {
  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);
  auto a = x.read_stream_accessor<float>(), b = x.read_stream_accessor<float>();
  auto c = x.read_stream_accessor<float>(), d = x.read_stream_accessor<float>();
  auto e = x.read_stream_accessor<float>();
  for (int64_t i = 0; i < x.numel(); i++) a.read(), b.read(), c.read(), d.read(), e.read();
  return y;
}
