"""Which state of AWS's software the emulator follows, what is known not to work there, switches."""

from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["NKI_KNOWN_ISSUES", "SOFTWARE"]

_rounding = SOURCES["aws-rounding-modes"].says
_runtime = SOURCES["aws-runtime-guide"].says
_notes = SOURCES["nki-release-notes"].says
_newest = SOURCES["nki-release-notes-0.7"].says
_compiler, _guide = SOURCES["aws-compiler-notes"].says, SOURCES["aws-mixed-precision"].says
_RELEASE = "Neuron Kernel Interface (NKI) [0.6.0] (Neuron 2.32.0 Release)"

SOFTWARE = Record(
    "AWS's software as this emulator follows it",
    nki_version=_notes("0.6.0", "", _RELEASE, note="the newest read whole"),
    sdk_version=_notes("2.32.0", "", _RELEASE),
    newest_nki_version=_newest("0.7.0", "", "first entry", note="its new names: nki.coverage()"),
    newest_sdk_version=_newest("2.33.0", "", "first entry"),
    logical_core_degrees=SOURCES["aws-lnc"].says(
        (1, 2), "NeuronCores", "Logical NeuronCore configurations",
        note="only Trn2 and Trn3 have LNC"),
    stochastic_rounding_default=_runtime(False, "", "NEURON_RT_STOCHASTIC_ROUNDING_EN"),
    stochastic_rounding_seed_default=SOURCES["aws-torch-variables"].says(
        0, "", "NEURON_RT_STOCHASTIC_ROUNDING_SEED", note="the runtime guide names none"),
    auto_cast_default=_compiler(
        "none", "", "Neuron Compiler [2.22.12471.0] (Neuron 2.27.0 Release)", "from 2025-12-19"),
    auto_cast_default_before=_compiler(
        "matmult", "", "Neuron Compiler [2.20.9961.0] (Neuron 2.25.0 Release)",
        "of every release up to 2.26, the years of the scripts that lessons quote"),
    auto_cast_default_in_guide=_guide(
        "matmult to BF16", "", "Performance-accuracy tradeoffs"),
    auto_cast_default_in_table=_guide(
        "none, says the same page", "", "Should I downcast operations to smaller Data Types?"),
    auto_cast_type_default=SOURCES["aws-compiler-cli"].says(
        "bf16", "", "'compile' Command, Parameters"),
    quick_test=_rounding("1024 + 2048 x 0.5 in FP16", "", "Quick Tests"),
    quick_test_nearest=_rounding(1024, "", "Quick Tests", note="nearest-even"),
    quick_test_stochastic=_rounding(2056, "", "Quick Tests", note="one run, stochastic"),
)  # fmt: skip

_migration = SOURCES["nki-migration-0.7"].says
_GONE = "Migrating from NKI 0.6.0 to NKI 0.7.0, first paragraph"
_FIRST, _AGAIN = "NKI 0.3.0, Known Issues", "NKI 0.4.0, Known Issues, carried on by 0.5.0 and 0.6.0"
_FAILS = "AWS lists it as failing on hardware"

#: What AWS lists as failing on hardware, or removed; each fact's note is what to write instead.
NKI_KNOWN_ISSUES = Record(
    "NKI: works in a simulator, fails when compiled for Trainium",
    divide=_notes(f"{_FAILS}, which has no division", "", _AGAIN,
                  "Multiply by the reciprocal: nl.multiply(x, nl.reciprocal(y))"),
    mod=_notes(f"{_FAILS}, which has no modulo", "", _AGAIN,
               "Compute x - y * floor(x / y) with nl.reciprocal, nl.floor and nl.multiply"),
    fmod=_notes(f"{_FAILS}, which has no modulo", "", _AGAIN,
                "Compute x - y * trunc(x / y) with nl.reciprocal, nl.trunc and nl.multiply"),
    power=_notes(f"{_FAILS} with an exponent that is no tile", "", _AGAIN,
                 "Give a tile: nl.power(x, nl.full(x.shape, n, x.dtype)); nl.square(x) squares"),
    broadcasting=_notes(f"{_FAILS} where the operands' shapes differ", "", _AGAIN,
                        "Take nisa.tensor_scalar for one number per partition, or repeat the "
                        "smaller tile first (nl.broadcast_to)"),
    matmul=_notes(f"{_FAILS} without transpose_x=True", "", _AGAIN,
                  "Lay x out as [K, M] and call nl.matmul(x, y, transpose_x=True)"),
    store=_notes(f"{_FAILS} for a tile in PSUM", "", f"{_FIRST}, Data Movement",
                 "Copy it to SBUF first: nisa.tensor_copy"),
    copy=_notes("AWS listed it as failing on hardware for a tile in PSUM until NKI 0.6.0, whose "
                "reference does just that", "",
                "NKI 0.4.0, Known Issues, and NKI 0.6.0, New Features",
                "Nothing to do from 0.6.0 on; nisa.tensor_copy runs in older releases, too"),
    random_seed=_notes(f"{_FAILS} where nl.rand runs on another engine: it is then not seeded", "",
                       _AGAIN, "Seed and draw by nisa.set_rng_seed and nisa.rng, both on Vector"),
    reinterpret_cast=_notes("AWS lists the two together as not supported yet", "",
                            "NKI 0.5.0, Known Issues, carried on by 0.6.0",
                            "Gather the rows first, and reinterpret the tile that they come to"),
    dynamic_range=_migration("removed in NKI 0.7.0", "", _GONE,
                             "Write nl.fori_loop(lower, upper, body), body a function of i"),
    while_register=_migration("removed in NKI 0.7.0", "", _GONE,
                              "Write nl.while_loop(register, body), body returning the register"),
)  # fmt: skip
