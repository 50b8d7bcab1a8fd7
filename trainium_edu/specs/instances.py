"""Chips and the instances that hold them: Trainium, Inferentia2, and the GPUs they are set against.

``TRN1`` and ``INF2`` are the specs that timing and checks take (``spec=TRN1``): the facts of one
NeuronCore-v2 (``TRN1.tensor_engine``, ``TRN1.sbuf``, ...) together with those of the chip.
"""

from trainium_edu.specs.fact import derive
from trainium_edu.specs.neuroncore import NEURONCORE_V2
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES, stated, successor

__all__ = ["CHIPS", "INF2", "INSTANCES", "TRN1", "TRN2", "ULTRACLUSTER"]

GiB, TERA = 2**30, 10**12
_arch = SOURCES["nki-trn1-arch"].says
_early = SOURCES["aws-trn1-page-early"].says
_middle = SOURCES["aws-trn1-page-middle"].says
_now = SOURCES["aws-trn1-page"].says
_inf2 = SOURCES["aws-inf2-page"].says
_news = SOURCES["aws-news-trn1-launch"].says
_memory = SOURCES["memory"].says
_DEVICE = "Trainium/Inferentia2 Architecture Guide for NKI, list of the device"
_TEXT_EARLY, _TEXT_NOW = "Trn1 Architecture", "Trn1/Trn1n Architecture"

_cores = _arch(2, "NeuronCores", _DEVICE)
_hbm = _arch(32 * GiB, "bytes", _DEVICE)
_core = NEURONCORE_V2


def _times(unit, locator, *inputs, note=""):
    return derive(unit, lambda a, b: a * b, *inputs, locator=locator, note=note)


def _chip(name):
    return stated(
        name,
        cores=_cores,
        hbm_bytes=_hbm,
        hbm_bytes_per_core=derive("bytes", lambda b, n: b // n, _hbm, _cores,
                                  locator="HBM of the chip / NeuronCores"),
        dma_bytes_per_s_from_engines=derive(
            "bytes/s", lambda c, n, b: c * n * b, _cores, _core.dma.engines,
            _core.dma.theoretical_bytes_per_s_per_engine,
            locator="NeuronCores * 16 engines * 27.2 GB/s"),
        dma_bytes_per_s_sustained=_times("bytes/s", "NeuronCores * sustained rate of one", _cores,
                                         _core.dma.bytes_per_s),
        peak_flops_from_cores=_times("FLOP/s", "NeuronCores * peak of each", _cores,
                                     _core.tensor_engine.peak_flops),
        peak_flops_from_array=_times("FLOP/s", "NeuronCores * rows * columns * 2 * clock", _cores,
                                     _core.tensor_engine.peak_flops_from_array),
        **dict(_core.items()),
    )  # fmt: skip


#: One Trainium chip, two NeuronCores-v2.
TRN1 = _chip("Trainium")
#: One Inferentia2 chip: the same cores, half the links.
INF2 = _chip("Inferentia2")
#: One Trainium2 chip, eight NeuronCores-v3.
TRN2 = successor(TRN1, "Trainium2", "Trainium2: where it differs from Trainium")
A100 = stated("NVIDIA A100 (40 GB)")
V100 = stated("NVIDIA V100 (32 GB)")
CHIPS = {"trainium": TRN1, "inferentia2": INF2, "a100": A100, "v100": V100}

_GBPS = 10**9


def _sizes(section):
    return f"{section}, table of instance sizes"


def _neuron(
    name, chip, page, chips, vcpus, host_gib, tflops, fp32_tflops, hbm_gib, hbm_gib_s, more
):
    table = _sizes(_TEXT_NOW if page is _now else "Inf2 Architecture")
    count = page(chips, "chips", table)
    return Record(
        name,
        chip=chip,
        chips=count,
        cores=_times("NeuronCores", "chips * NeuronCores per chip", count, _cores),
        vcpus=page(vcpus, "vCPUs", table),
        host_memory_bytes=page(host_gib * GiB, "bytes", table),
        peak_flops=page(tflops * TERA, "FLOP/s", table, note="BF16, FP16, TF32, FP8"),
        peak_flops_fp32=page(fp32_tflops * TERA, "FLOP/s", table),
        peak_flops_from_array=_times("FLOP/s", "chips * 2 * rows * columns * 2 * clock", count,
                                     TRN1.peak_flops_from_array),
        memory_bytes=page(hbm_gib * GiB, "bytes", table),
        memory_bytes_per_s=page(hbm_gib_s * GiB, "bytes/s", table, note="printed in GiB/sec"),
        **more,
    )  # fmt: skip


def _large(per_chip_gib_s, efa_gbps, efa_devices):
    efa = _now(efa_gbps * _GBPS, "bits/s", _sizes(_TEXT_NOW), note="EFA")
    devices = SOURCES["aws-multinode-setup"].says(
        efa_devices, "EFA devices", "How to prepare trn1.32xlarge for multi-node execution"
    )
    return {
        "network_bits_per_s": efa,
        "efa_devices": devices,
        "efa_bits_per_s_per_device": derive("bits/s", lambda a, b: a // b, efa, devices,
                                            locator="EFA bandwidth / devices"),
        "neuronlink_bytes_per_s_per_chip": _middle(
            per_chip_gib_s * GiB, "bytes/s", f"{_sizes(_TEXT_NOW)}, NeuronLink-v2 device-to-device",
            note="all links of a chip together; later editions lost the column's heading"),
        "topology": _now("4 x 4 torus", "", f"{_TEXT_NOW}, text and figure",
                         note="chip number row by row; cores 2i and 2i + 1 on chip i"),
    }  # fmt: skip


def _inferentia(name, chips, vcpus, host_gib, tflops, fp32_tflops, hbm_gib, hbm_gib_s):
    ring = {
        "neuronlink_bytes_per_s_per_chip": _inf2(
            192 * GiB, "bytes/s", f"{_sizes('Inf2 Architecture')}, NeuronLink-v2 chip-to-chip"
        ),
        "topology": _inf2(f"ring of {chips}", "", "Inf2 Architecture, figure", note="no EFA"),
    }
    return _neuron(name, INF2, _inf2, chips, vcpus, host_gib, tflops, fp32_tflops, hbm_gib,
                   hbm_gib_s, ring if chips > 1 else {})  # fmt: skip


def _gpu(name, chip, network_gbps, network_says, **more):
    count = SOURCES["gpu-instance-table"].says(8, "GPUs", f"row {name}")
    return Record(
        name,
        chip=chip,
        chips=count,
        peak_flops=_times("FLOP/s", "GPUs * peak of one", count, chip.peak_flops),
        memory_bytes=_times("bytes", "GPUs * memory of one", count, chip.memory_bytes),
        network_bits_per_s=network_says(network_gbps * _GBPS, "bits/s", "EFA bandwidth"),
        **{n: _times("FLOP/s", "GPUs * peak of one", count, getattr(chip, n)) for n in more},
    )  # fmt: skip


_ALL = (
    _neuron("trn1.2xlarge", TRN1, _now, 1, 8, 32, 190, 47.5, 32, 820, {
        "network_bits_per_s": _now(25 * _GBPS, "bits/s", _sizes(_TEXT_NOW), note='"up to"'),
        "network_bits_per_s_launch": _news(12_500_000_000, "bits/s", "table of sizes",
                                           note='"up to"'),
    }),
    _neuron("trn1.32xlarge", TRN1, _now, 16, 128, 512, 3040, 760, 512, 13_120, {
        **_large(384, 800, 8),
        "peak_flops_announced": _news(3.4e15, "FLOP/s", "New Trn1 Instance Highlights"),
        "peak_flops_launch": _early(3360 * TERA, "FLOP/s", _sizes(_TEXT_EARLY)),
        "peak_flops_fp32_launch": _early(840 * TERA, "FLOP/s", _sizes(_TEXT_EARLY)),
        "topology_early": _early("4D hypercube", "", "Trn1 Architecture, text",
                                 note='printed "4D-HyperCube"; the same page says 2D torus below'),
    }),
    _neuron("trn1n.32xlarge", TRN1, _now, 16, 128, 512, 3040, 760, 512, 13_120,
            _large(768, 1600, 16)),
    _inferentia("inf2.xlarge", 1, 4, 16, 190, 47.5, 32, 820),
    _inferentia("inf2.8xlarge", 1, 32, 128, 190, 47.5, 32, 820),
    _inferentia("inf2.24xlarge", 6, 96, 384, 1140, 285, 192, 4920),
    _inferentia("inf2.48xlarge", 12, 192, 768, 2280, 570, 384, 9840),
    _gpu("p4d.24xlarge", A100, 400, _memory, peak_flops_tf32=1, peak_flops_fp32=1),
    _gpu("p3dn.24xlarge", V100, 100, SOURCES["nextplatform-reinvent-2021"].says),
)  # fmt: skip
#: Every instance by its API name.
INSTANCES = {instance.name: instance for instance in _ALL}

_chips_30k = _early(30_000, "chips", "Trn1 Architecture, text")
ULTRACLUSTER = stated(
    "EC2 UltraCluster",
    chips_launch=_chips_30k,
    instances=derive("instances", lambda n, c: n // c,
                     _now(100_000, "chips", "Trn1/Trn1n Architecture, text"),
                     INSTANCES["trn1.32xlarge"].chips, locator="chips / chips per instance"),
    peak_flops_launch=_times("FLOP/s", "30 000 * 210 TFLOPS", _chips_30k, TRN1.peak_flops_launch),
    peak_flops_30k=_times("FLOP/s", "30 000 * 190 TFLOPS", _chips_30k, TRN1.peak_flops),
)  # fmt: skip
#: The next generation, for comparison only; its facts are not modelled.
TRN2_FABRIC = stated("Trn2, for comparison")
