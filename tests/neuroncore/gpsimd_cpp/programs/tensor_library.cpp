#include <torch/torch.h>
torch::Tensor one(const torch::Tensor& x, double which, double out) {
  torch::Tensor y = torch::empty(x.sizes(), x.scalar_type());
  switch ((int)which) {
    case 0: return out ? torch::abs_out(y, x), y : torch::abs(x);
    case 1: return out ? torch::ceil_out(y, x), y : torch::ceil(x);
    case 2: return out ? torch::floor_out(y, x), y : torch::floor(x);
    case 3: return out ? torch::sin_out(y, x), y : torch::sin(x);
    case 4: return out ? torch::cos_out(y, x), y : torch::cos(x);
    case 5: return out ? torch::tan_out(y, x), y : torch::tan(x);
    case 6: return out ? torch::log_out(y, x), y : torch::log(x);
    case 7: return out ? torch::log2_out(y, x), y : torch::log2(x);
    case 8: return out ? torch::log10_out(y, x), y : torch::log10(x);
    case 9: return out ? torch::exp_out(y, x), y : torch::exp(x);
  }
  return y;
}
#define BOTH(call, ...) out ? torch::call##_out(y, __VA_ARGS__), y : torch::call(__VA_ARGS__)
torch::Tensor two(const torch::Tensor& x, const torch::Tensor& z, torch::Scalar s, double which,
                  double out) {
  torch::Tensor y = torch::empty(x.sizes(), x.scalar_type());
  switch ((int)which) {
    case 0: return BOTH(pow, x, s);
    case 1: return BOTH(pow, s, x);
    case 2: return BOTH(pow, x, z);
    case 3: return BOTH(clamp, x, 0.25, s);
    case 4: return BOTH(add, x, s, 3);
    case 5: return BOTH(add, x, z, 0.5);
    case 6: return BOTH(sub, x, z);
    case 7: return BOTH(sub, x, s, 2);
    case 8: return BOTH(mul, x, s);
    case 9: return BOTH(mul, x, z);
    case 10: return BOTH(div, x, s);
    case 11: return BOTH(div, x, z);
  }
  return y;
}
torch::Tensor bits(const torch::Tensor& x, const torch::Tensor& z, torch::Scalar s, double which,
                   double out) {
  torch::Tensor y = torch::empty(x.sizes(), x.scalar_type());
  switch ((int)which) {
    case 0: return BOTH(bitwise_and, x, z);
    case 1: return BOTH(bitwise_and, x, s);
    case 2: return BOTH(bitwise_and, s, x);
    case 3: return BOTH(bitwise_or, x, z);
    case 4: return BOTH(bitwise_or, x, s);
    case 5: return BOTH(bitwise_or, s, x);
    case 6: return BOTH(bitwise_not, x);
  }
  return y;
}
torch::Tensor made(const torch::Tensor& x, double which) {
  torch::Tensor y = torch::empty({x.size(0), x.size(1)}, x.scalar_type());
  switch ((int)which) {
    case 0: return torch::full({x.size(0), x.size(1)}, 2.5, x.dtype());
    case 1: return torch::zeros({x.size(0), x.size(1)}, x.dtype());
    case 2: return torch::ones(x.sizes(), torch::dtype(x.scalar_type()));
    case 3: return torch::eye(x.size(0), x.size(1), x.options());
    case 4: y.fill_(7); return y;
    case 5: { torch::Tensor z = x; y = z; return y; }
  }
  return y;
}
