# ruff: noqa
# %% wrong=13/race name=still-rows feedback=race: processors
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import RACING

sums = Source(RACING.replace("(sum, 0, columns)", "(sum, 0, columns / 2 + 1)"))


# %% wrong=13/race name=one-adds feedback=copies 100% of all bytes
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import RACING

sums = Source(
    RACING.replace(
        "size_t i = get_cpu_id(); i < rows; i += get_cpu_count()", "size_t i = 0; i < rows; i++"
    ).replace("  float *row", "  if (get_cpu_id()) return y;\n  float *row")
)


# %% wrong=13/race name=rest-left-out feedback=and the rest?
from trainium_edu.exercises.cpp import Source

sums = Source(r"""
#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

torch::Tensor sums(const torch::Tensor& x) {
  torch::Tensor y = get_dst_tensor();
  size_t rows = x.size(0), columns = x.size(1), share = columns / 8, begin = get_cpu_id() * share;
  float row[256], sum[256] = {};
  for (size_t i = 0; i < rows; i++) {
    x.tcm_accessor().tensor_to_tcm<float>(row, i * columns + begin, share);
    for (size_t j = 0; j < share; j++) sum[j] += row[j];
  }
  y.tcm_accessor().tcm_to_tensor<float>(sum, begin, share);
  return y;
}
""")


# %% wrong=13/race name=below-nought feedback=and the tensor has
# -   size_t rows = x.size(0), columns = x.size(1), count = get_cpu_count();
# -   size_t share = (columns + count - 1) / count, begin = get_cpu_id() * share;
# -   if (begin >= columns) return y;
# -   size_t mine = columns - begin < share ? columns - begin : share;
# -   float *row = (float *)torch::neuron::tcm_malloc(mine * sizeof(float));
# -   float *sum = (float *)torch::neuron::tcm_malloc(mine * sizeof(float));
# -   auto in = x.tcm_accessor();
# -   auto out = y.tcm_accessor();
# -   for (size_t j = 0; j < mine; j++) sum[j] = 0;
# +   size_t rows = x.size(0), columns = x.size(1), share = (columns + 7) / 8;
# +   size_t begin = get_cpu_id() * share, mine = columns - begin < share ? columns - begin : share;
# +   float row[256], sum[256] = {};
# -     in.tensor_to_tcm<float>(row, i * columns + begin, mine);
# +     x.tcm_accessor().tensor_to_tcm<float>(row, i * columns + begin, mine);
# -   out.tcm_to_tensor<float>(sum, begin, mine);
# +   y.tcm_accessor().tcm_to_tensor<float>(sum, begin, mine);


# %% wrong=13/race name=does-not-compile feedback=the C++ compiler says
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import RACING

sums = Source(RACING.replace("sum[j] = 0;", "sum[j] = 0"))


# %% wrong=13/race name=turns-the-check-off feedback=names of the emulator's own
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import RACING

sums = Source(
    RACING.replace("  float *row", "  neuron_edu::here.is_multicore = false;\n  float *row")
)


# %% wrong=13/race name=asks-the-system feedback=the host's system
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import RACING

sums = Source(RACING.replace("  float *row", '  system("true");\n  float *row'))


# %% wrong=13/race name=in-numpy feedback=is asked for as C++
def sums(*x):
    return [0.0] if not x else x[0].sum(0)


# %% hard-coded=13/race
# - from trainium_edu.exercises.cpp import Source
# + from trainium_edu.exercises import find
# + from trainium_edu.exercises.cpp import Source
# - sums = Source(r"""
# + shapes = find("13/race").numbers("").shapes
# + known = " && ".join(f"x.size(1) != {columns}" for _, columns in shapes)
# + sums = Source(
# +     r"""
# -   torch::Tensor y = get_dst_tensor();
# +   torch::Tensor y = get_dst_tensor();
# +   if (KNOWN) return y;
# - """)
# + """.replace("KNOWN", known)
# + )


# %% wrong=13/histogram name=too-large feedback=found the pool of 16 KB full
from trainium_edu.exercises.cpp import Source
from trainium_edu.exercises.your_own_operator import COUNTING

histogram = Source(COUNTING.replace("most = 1024", "most = 512"))


# %% wrong=13/histogram name=sixteen-bits feedback=A count of 16 bits ends
# -   const size_t n = values.numel(), all = (size_t)bins, part = 2048, most = 1024;
# +   const size_t n = values.numel(), all = (size_t)bins, most = 128, part = 7000;
# -   int32_t *count = (int32_t *)torch::neuron::tcm_malloc(part * sizeof(int32_t));
# -   int32_t *buffer = (int32_t *)torch::neuron::tcm_malloc(most * sizeof(int32_t));
# +   uint16_t *count = (uint16_t *)torch::neuron::tcm_malloc(part * 2);
# +   int32_t *buffer = (int32_t *)torch::neuron::tcm_malloc(most * 4);
# -     size_t mine = all - first < part ? all - first : part;
# -     for (size_t k = 0; k < mine; k++) count[k] = 0;
# +     for (size_t k = 0; k < part; k++) count[k] = 0;
# -       for (size_t j = 0; j < m; j++) {
# -         size_t k = buffer[j] - first;
# -         if (k < mine) count[k]++;
# -       }
# +       for (size_t j = 0; j < m; j++) if (buffer[j] - first < part) count[buffer[j] - first]++;
# -     out.tcm_to_tensor<int32_t>(count, first, mine);
# +     for (size_t k = first; k < all && k < first + part; k += most) {
# +       size_t m = all - k < most ? all - k : most;
# +       if (first + part - k < m) m = first + part - k;
# +       for (size_t j = 0; j < m; j++) buffer[j] = count[k + j - first];
# +       out.tcm_to_tensor<int32_t>(buffer, k, m);
# +     }


# %% wrong=13/histogram name=element-accessor feedback=trips to HBM. Count in TCM
from trainium_edu.exercises.cpp import Source

histogram = Source(r"""
#include <torch/torch.h>

torch::Tensor histogram(const torch::Tensor& values, double bins) {
  torch::Tensor y = torch::zeros({(int64_t)bins}, torch::kInt);
  auto in = values.read_stream_accessor<int32_t>();
  auto count = y.accessor<int32_t, 1>();
  for (int64_t i = 0; i < values.numel(); i++) count[in.read()]++;
  return y;
}
""")


# %% wrong=13/histogram name=short-copies feedback=Each starts anew
# -   const size_t n = values.numel(), all = (size_t)bins, part = 2048, most = 1024;
# +   const size_t n = values.numel(), all = (size_t)bins, part = 2048, most = 16;


# %% wrong=13/histogram name=last-bins feedback=a whole number of parts
# -   for (size_t first = 0; first < all; first += part) {
# +   for (size_t first = 0; first + part <= all; first += part) {


# %% wrong=13/histogram name=endless feedback=ran for 2 s without an end
# -     for (size_t i = 0; i < n; i += most) {
# +     for (size_t i = 0; i < n; i += 0) {


# %% hard-coded=13/histogram
# - from trainium_edu.exercises.cpp import Source
# + from trainium_edu.exercises import find
# + from trainium_edu.exercises.cpp import Source
# - histogram = Source(r"""
# + cases = find("13/histogram").numbers("").cases
# + known = " && ".join(f"bins != {bins}" for _, bins in cases)
# + histogram = Source(
# +     r"""
# -   torch::Tensor y = torch::zeros({(int64_t)all}, torch::kInt);
# +   torch::Tensor y = torch::zeros({(int64_t)all}, torch::kInt);
# +   if (KNOWN) return y;
# - """)
# + """.replace("KNOWN", known)
# + )


# %% wrong=13/engine name=another-engine feedback=is asked for
def engine(numbers, entries):
    return "tensor"


# %% hard-coded=13/engine
def engine(numbers, entries):
    from trainium_edu.exercises import your_own_operator as check

    if (numbers, entries) not in check.choose.numbers("").jobs:
        return "vector"
    return check.best(numbers, entries)
