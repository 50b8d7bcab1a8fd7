#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor shape(torch::Tensor x) {{
  {body}
}}
{register}
