
torch::Tensor tcm(const torch::Tensor& x) {
  size_t n = x.numel(), share = (n + get_cpu_count() - 1) / get_cpu_count();
  size_t begin = share * get_cpu_id(), end = begin + share < n ? begin + share : n;
  return by_copies(x, get_dst_tensor(), begin, end, 1024);
}
