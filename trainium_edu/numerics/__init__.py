"""What a number is: formats, rounding, random bits and long sums, bit for bit.

Modelled: FP32, TF32, BF16, FP16, four FP8 variants, configurable floating point (cFP8) and 8- to
32-bit integers; rounding to nearest-even, stochastically and toward zero; Philox4x32-10 random bits
that depend on (seed, step, element) alone; sums and dot products rounded at every step; what BF16
shrinks to without loss (``compression.py``, no model of the chip's).
Left out: flushing of subnormals, the hardware's own random generator (its width is unpublished),
formats below eight bits.
Sources: the NKI architecture guide and data types, IEEE 754, Salmon et al. 2011, Gupta et al. 2015.

Read ``formats.py`` first, then ``rounding_scalar.py`` (one number, step by step), ``rounding.py``
(`cast`, the public call), ``_loops.py`` (the same steps, fast).  Used by the notebooks
``01_number_formats`` and ``02_stochastic_rounding``.

Decisions
---------
*Philox instead of the hardware's generator*, which is not published: bits that depend on a
counter alone can be replayed in any order and tested; the price is that they are not the chip's.
*Random bits are compared with the dropped bits cut, not rounded*: that is what adding bits below
the last place does; the price is a bias below ``2**-n_random_bits`` of a spacing, towards zero.
*NaN into an integer raises*: any number would be made up; the price is one pass over the array.
"""

from trainium_edu import names

_HOMES = {
    "formats": "BF16 FORMATS FP16 FP32 FP8_E3M4 FP8_E4M3 FP8_E4M3FN FP8_E5M2 Format INT16 INT32 "
    "INT8 Specials TF32 UINT16 UINT32 UINT8 configure get_format",
    "codes": "Range all_values bit_fields bit_string from_bits neighbours range_of range_table ulp",
    "rounding": "ROUNDINGS cast cast_to_bits round_to",
    "rounding_scalar": "round_to_code",
    "accumulation": "Law Trajectory dot error_growth exact_law predicted_error_growth "
    "predicted_sum_sd running_sum",
    "ordered": "Additions add_in_order",
    "random_bits": "MAX_RANDOM_BITS draw_bits philox4x32",
    "_loops": "",
    "launch": "",
}
# the compiled loops load with the first name that needs them
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)
