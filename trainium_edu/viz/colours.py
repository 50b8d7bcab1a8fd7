"""What each colour means, the same in every picture: plain data, no plotting library.

Data colours are those of Okabe and Ito's colour-blind-safe set, mid-toned so that they read on
white and on dark.
"""

__all__ = ["COLOURS", "ENGINE", "FORMAT", "MEMORY", "ROUNDING", "STEP"]

COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#C9B800",
    "grey": "#8C8C8C",
}
#: One colour per engine, the same in every picture.
ENGINE = {
    "tensor": COLOURS["blue"],
    "vector": COLOURS["orange"],
    "scalar": COLOURS["green"],
    "gpsimd": COLOURS["pink"],
    "dma": COLOURS["sky"],
    "sync": COLOURS["grey"],
}
#: One colour for each part of what a NeuronCore keeps in memory.
MEMORY = {
    "weights": COLOURS["blue"],
    "gradients": COLOURS["orange"],
    "master": COLOURS["green"],
    "states": COLOURS["pink"],
    "activations": COLOURS["sky"],
    "inputs": COLOURS["grey"],
    "buffers": COLOURS["yellow"],
}
#: One colour for each part of a step's time.
STEP = {
    "Tensor Engine": COLOURS["blue"],
    "Vector Engine": COLOURS["orange"],
    "Scalar Engine": COLOURS["green"],
    "GpSimd Engine": COLOURS["pink"],
    "DMA": COLOURS["sky"],
    "other engines": COLOURS["green"],
    "weights to and from HBM": COLOURS["sky"],
    "tensor-parallel sums": COLOURS["orange"],
    "pipeline sends": COLOURS["yellow"],
    "pipeline bubble": COLOURS["grey"],
    "gradient sums": COLOURS["pink"],
    "optimiser": COLOURS["red"],
    "host": "ink",
    "compute": COLOURS["blue"],
    "hidden sums": COLOURS["pink"],
    "exposed sums": COLOURS["red"],
}
#: One colour per rounding mode, the same in every picture.
ROUNDING = {
    "exact": COLOURS["grey"],
    "nearest": COLOURS["red"],
    "stochastic": COLOURS["blue"],
    "toward_zero": COLOURS["pink"],
}
#: One colour per number format, the same in every picture.
FORMAT = {
    "fp32": "#6E7781",
    "tf32": COLOURS["pink"],
    "bf16": COLOURS["blue"],
    "fp16": COLOURS["orange"],
    "fp8_e5m2": COLOURS["red"],
    "fp8_e4m3": COLOURS["green"],
    "fp8_e4m3fn": COLOURS["yellow"],
    "fp8_e3m4": COLOURS["sky"],
}
