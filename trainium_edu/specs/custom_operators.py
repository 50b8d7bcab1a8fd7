"""Operators in C++ on the GpSimd Engine's processors: limits, published throughputs, prices.

A price is what one thing that a program does takes: an element of HBM, a copy between HBM and TCM,
a stretch of code.  Nobody published one, but three versions of one program were measured, and the
differences between them are prices: what is left (host, layers) is the same in all three.
"""

from trainium_edu.specs.fact import Kind, derive
from trainium_edu.specs.sources import SOURCES, stated

__all__ = ["CUSTOM_OPERATORS"]

_perf = SOURCES["aws-customop-perf"].says
_training = SOURCES["aws-customop-training"].says
_samples = SOURCES["aws-customop-samples"].says
_own = SOURCES["emulator"].says
_WHO = "neuroncore.engines.custom_op"

_processors = _own(8, "processors", "specs.neuroncore", note="as GpSimd Engine, processors")
_by_element = _perf(8.098649744235592, "iterations/s", "Performance with Element-wise Accessor",
                    kind=Kind.MEASURED)  # fmt: skip
_by_copy = _perf(220.73800131604054, "iterations/s", "Performance with TCM Accessor",
                 kind=Kind.MEASURED)  # fmt: skip
_by_eight = _perf(
    269.936119707143, "iterations/s", "Extending the example to utilize multiple GPSIMD cores",
    kind=Kind.MEASURED,
)  # fmt: skip
_on_host = _training(
    286.96994718801335, "iterations/s",
    "Training the MLP model on CPU, a figure with asterisks in it", kind=Kind.MEASURED,
)  # fmt: skip
_elements = _samples(
    32 * (4096 + 2048), "elements per iteration", "inference.py and model.py",
    note="a batch of 32, two layers of 4 096 and 2 048",
)  # fmt: skip
_named = _own(
    2.5, "elements named per element", _WHO,
    note="the program names t_in[i][j] once more where it is positive, which half of them are",
)  # fmt: skip
_chunk = _samples(1024, "elements per copy", "neuron-tcm/relu.cpp")
_copied = derive(
    "ns", lambda one, eight, n: (1 / one - 1 / eight) * 1e9 * n / (n - 1), _by_copy, _by_eight,
    _processors, locator="(1/220.7 - 1/269.9 s) * 8/7: what eight processors save is 7/8 of it",
    note="both operators of one iteration, through TCM, on one processor",
)  # fmt: skip
_start = _own(1300, "ns", _WHO, note="as any transfer's start (DMA, start_ns); a copy ends before"
              " the program goes on")  # fmt: skip
_rate = _own(17e9, "bytes/s", _WHO, note="as one DMA engine (DMA, bytes_per_s_per_engine)")
_blocks = _own(
    2, "basic blocks per element", _WHO,
    note="of the tutorial's loop (a comparison and what follows) as GCC compiles it with -O1",
)  # fmt: skip

CUSTOM_OPERATORS = stated(
    "operators in C++",
    element_iterations_per_s=_by_element,
    tcm_iterations_per_s=_by_copy,
    eight_iterations_per_s=_by_eight,
    measured_elements=_elements,
    training_cpu_iterations_per_s=_on_host,
    host_step_ns=derive(
        "ns per iteration", lambda rate: 1e9 / rate, _on_host,
        locator="1/287.0 s: the same loader, in one process, and a small network on the CPU",
        note="about what the host does for one iteration of any of these scripts; it queues an"
        " execution and loads the next batch meanwhile, so the longer of host and chip counts:"
        " training with the operators takes 8.5 ms a step, not 3.5 more than the chip's 8.2"),
    tcm_operators_ns=_copied,
    other_ns=derive(
        "ns", lambda one, operators: 1e9 / one - operators, _by_copy, _copied,
        locator="1/220.7 s - the operators: host, layers, transfers, the same in all versions",
        note="as if the host's part were the same in all; with eight processors it may be what"
        " bounds the step (host_step_ns), see block_ns_range"),
    element_ns=derive(
        "ns per element named",
        lambda slow, fast, operators, n, named: (1e9 / slow - 1e9 / fast + operators) / (n * named),
        _by_element, _by_copy, _copied, _elements, _named,
        locator="(1/8.1 - 1/220.7 s + the operators through TCM) / (196 608 * 2.5)"),
    copy_start_ns=_start,
    copy_bytes_per_s=_rate,
    block_ns=derive(
        "ns per basic block",
        lambda ns, n, chunk, start, rate, blocks: (
            (ns * chunk / n - 2 * start - 2e9 * 4 * chunk / rate) / (chunk * blocks)
        ),
        _copied, _elements, _chunk, _start, _rate, _blocks,
        locator="(time per 1 024 elements - two copies of 4 KiB) / (1 024 * 2)",
        note="a little over one cycle"),
)  # fmt: skip
