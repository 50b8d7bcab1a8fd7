"""Which state of AWS's software the emulator follows, and the switches it documents."""

from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["SOFTWARE"]

_rounding = SOURCES["aws-rounding-modes"].says
_runtime = SOURCES["aws-runtime-guide"].says
_RELEASE = "Neuron Kernel Interface (NKI) [0.6.0] (Neuron 2.32.0 Release)"

SOFTWARE = Record(
    "AWS's software as this emulator follows it",
    nki_version=SOURCES["nki-release-notes"].says("0.6.0", "", _RELEASE),
    sdk_version=SOURCES["nki-release-notes"].says("2.32.0", "", _RELEASE),
    stochastic_rounding_default=_runtime(False, "", "NEURON_RT_STOCHASTIC_ROUNDING_EN"),
    stochastic_rounding_seed_default=SOURCES["aws-torch-variables"].says(
        0, "", "NEURON_RT_STOCHASTIC_ROUNDING_SEED", note="the runtime guide names none"),
    quick_test=_rounding("1024 + 2048 x 0.5 in FP16", "", "Quick Tests"),
    quick_test_nearest=_rounding(1024, "", "Quick Tests", note="nearest-even"),
    quick_test_stochastic=_rounding(2056, "", "Quick Tests", note="one run, stochastic"),
)  # fmt: skip
