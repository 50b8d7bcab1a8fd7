#include <torch/torch.h>
#define COPY(name, T, kind)                              \
  torch::Tensor name(const torch::Tensor& x) {           \
    torch::Tensor y = torch::empty(x.sizes(), kind);     \
    auto in = x.accessor<T, 1>();                        \
    auto out = y.accessor<T, 1>();                       \
    for (int i = 0; i < x.numel(); i++) out[i] = (T)(in[i] + (T)1); \
    return y;                                            \
  }
COPY(f32, float, torch::kFloat)
COPY(bf16, at::BFloat16, torch::kBFloat16)
COPY(f16, at::Half, torch::kHalf)
COPY(i32, int32_t, torch::kInt)
COPY(i8, int8_t, torch::kChar)
COPY(i16, int16_t, torch::kShort)
COPY(u8, uint8_t, torch::kByte)
