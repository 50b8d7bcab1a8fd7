"""AWS's training benchmarks on trn1.32xlarge: every configuration of every edition of the tables.

The tables change with each SDK, and so does what stands in them: one configuration's throughput
moves by up to 20 % between editions.  A row here is one configuration with all its editions.  Three
rows come from logs in AWS's tutorials instead, on numbers of instances that no table has.  What
the tables do not say comes from the scripts that they link: sequence length (before 2024), what is
recomputed, dropout, sequence parallelism (`aws-megatron-reference`, `aws-nemo-megatron`,
`aws-nxd-examples`).  Vision and language Perceivers and CLIP are left out:
no record of ours describes them.

The two calibrated numbers of ``cluster.step_time`` stand here too, with how they were fitted.
"""

import statistics
from dataclasses import dataclass
from typing import Literal

from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["BENCHMARKS", "CALIBRATED", "EDITIONS", "RELEASES", "Benchmark", "PrintedMfu"]

#: SDK edition -> (date, commit of the documentation's repository).
EDITIONS = {
    "2.3": ("2022-10-10", "7060a1c6"), "2.4": ("2022-10-28", "682be672"),
    "2.5": ("2022-11-09", "6c241ac5"), "2.6": ("2022-12-13", "7119ba39"),
    "2.9": ("2023-04-13", "ac17e2d0"), "2.10": ("2023-05-15", "968e5724"),
    "2.11": ("2023-06-28", "4f22a5d4"), "2.12": ("2023-07-19", "12ad249c"),
    "2.13": ("2023-08-28", "f25691d3"), "2.13.1": ("2023-08-29", "02b8afc5"),
    "2.14": ("2023-09-15", "4c317caa"), "2.15": ("2024-01-18", "1351ee12"),
    "2.15.2": ("2024-01-18", "1351ee12"), "2.16": ("2024-01-18", "1351ee12"),
    "2.17": ("2024-02-13", "82ffe529"), "2.18": ("2024-04-11", "8907253c"),
    "2.20": ("2024-09-16", "72825d50"), "2.21": ("2024-12-20", "752349fd"),
    "2.22": ("2025-04-04", "2ae3525e"), "2.23": ("2025-05-20", "4eba310f"),
    "2.24": ("2025-06-23", "90a7fe4b"), "2.25": ("2025-07-31", "56af36ca"),
    "2.26": ("2025-09-18", "49ee15c5"), "2.27": ("2025-12-19", "337e6041"),
    "2.28": ("2026-02-26", "86a92868"),
}  # fmt: skip
_tables = SOURCES["aws-trn1-benchmark-history"]


def _date(edition):
    """Return an edition's date; a log is named by its own."""
    return EDITIONS.get(edition, (edition,))[0]


@dataclass(frozen=True, slots=True)
class PrintedMfu:
    """One MFU as an edition printed it, and the convention and peak that it follows."""

    edition: str
    sequences_per_s: float
    percent: float
    convention: str  #: of ``cluster.model_flops``, or "printed": the TFLOP of its own column
    tflops_per_core: float  #: the peak of a NeuronCore in its denominator
    tflop: float = 0.0  #: per sequence, where the table prints them
    conflict: str = ""  #: why it does not follow from its own columns


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One configuration of the tables.

    Attributes
    ----------
    name, model : str
        `model` is a key of ``cluster.MODELS``.
    sequence, instances, micro_batch, global_batch, tensor, pipeline, zero : int
    precision, optimizer, recompute : str
        As ``cluster.Plan`` names them.
    library : str
        Whose script ran: "transformers", "megatron-lm", "nemo-megatron", "neuronx-distributed".
    flash_attention : bool
    fused_softmax : bool
        Whether its script sets NEURON_FUSE_SOFTMAX.
    rates : Fact
        (edition, sequences per second) for every edition that has the row; (date, sequences per
        second) of a log.
    mfu : tuple of PrintedMfu
    conflict : str
        What in its columns contradicts what; such a row calibrates nothing.
    """

    name: str
    model: str
    sequence: int
    instances: int
    micro_batch: int
    global_batch: int
    tensor: int
    pipeline: int
    zero: int
    precision: Literal["bf16-sr", "bf16-master", "fp32"]
    optimizer: Literal["adamw", "lamb"]
    recompute: Literal["none", "selective", "full"]
    library: str
    flash_attention: bool
    fused_softmax: bool
    rates: Fact
    mfu: tuple[PrintedMfu, ...] = ()
    conflict: str = ""

    @property
    def first(self) -> str:
        """The date of its first publication."""
        return min(_date(edition) for edition, _ in self.rates.value)

    @property
    def is_log(self) -> bool:
        """Whether it stands in no table: then it calibrates nothing."""
        return self.rates.source != _tables.key

    @property
    def sequences_per_s(self) -> float:
        """The median of its editions."""
        return statistics.median(rate for _, rate in self.rates.value)

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest edition, over the median."""
        rates = [rate for _, rate in self.rates.value]
        return min(rates) / self.sequences_per_s, max(rates) / self.sequences_per_s


def _row(name, model, sequence, instances, batches, degrees, how, rates, mfu=(), conflict="",
         source=_tables.key, where=""):  # fmt: skip
    """Return a row from short columns: "micro of global", "tensor x pipeline", words."""
    pairs = tuple((edition, float(rate)) for edition, _, rate in
                  (text.partition(":") for text in rates.split()))  # fmt: skip
    micro, whole = map(int, batches.split(" of "))
    tensor, pipeline = map(int, degrees.split(" x "))
    precision, optimizer, recompute, library, *more = how.split()
    fact = Fact(pairs, "(edition, sequences/s)", source, where or f"training tables, {name}",
                Kind.MEASURED, max(_date(edition) for edition, _ in pairs))  # fmt: skip
    return Benchmark(
        name, model, sequence, instances, micro, whole, tensor, pipeline, int("zero-1" in more),
        precision, optimizer, recompute, _LIBRARIES[library], "flash" in more,
        library in ("nemo", "nxd") or "fused" in more, fact,
        tuple(PrintedMfu(*line) for line in mfu), conflict,
    )  # fmt: skip


_LIBRARIES = {"hf": "transformers", "mlm": "megatron-lm", "nemo": "nemo-megatron",
              "nxd": "neuronx-distributed"}  # fmt: skip
_KEPT = "the MFU stayed while the rate changed from 13.9 to 12.7; its columns give 30.3"
_TWO_DP = "TP=8 DP=4 PP=4 are 128 NeuronCores and its nodes have 1 024; DP follows from the nodes"
_NODES = "16 nodes in editions 2.16 and 2.17, at twice the rate of 2.14's 16 nodes; 32 in 2.15"
_FP32 = ("a weak scaling of 91.4 % of one node's row, and later rows and the tutorial, take a"
         " micro-batch of")  # fmt: skip
_HF, _HF_LAMB = "bf16-sr adamw none hf", "bf16-sr lamb none hf"
_NEMO, _NEMO_SELECTIVE = "bf16-sr adamw full nemo", "bf16-sr adamw selective nemo"
_MLM = "bf16-sr adamw none mlm"
_NXD = "bf16-master adamw selective nxd zero-1"

#: In order of first publication, and within an edition as they stand in it.
BENCHMARKS = (
    _row("BERT-large phase 1, 1 node", "bert-large", 128, 1, "16 of 16384", "1 x 1", _HF,
         "2.3:2845.7 2.5:2846 2.6:3365 2.10:3512 2.11:3368.97 2.12:3409.78 2.13:3614.49"
         " 2.14:3618.22 2.15:3530 2.16:3581 2.17:3586 2.18:3311.59 2.20:4379.6 2.21:3963.0"
         " 2.22:3737.1 2.23:3705.1 2.24:3714.4 2.25:3704.1 2.26:3697.71 2.27:3836.4653"
         " 2.28:3826.6103", [("2.15", 3530, 27.49, "blocks", 95)]),
    _row("BERT-large phase 1, 16 nodes", "bert-large", 128, 16, "16 of 262144", "1 x 1", _HF,
         "2.3:42132.24 2.4:42483.56 2.5:42484 2.6:49846 2.9:48414"),
    _row("BERT-large phase 2, 1 node", "bert-large", 512, 1, "2 of 32768", "1 x 1", _HF,
         "2.3:478.6 2.5:479 2.6:527.95"),
    _row("BERT-large phase 2, 16 nodes", "bert-large", 512, 16, "2 of 524288", "1 x 1", _HF,
         "2.3:7133 2.4:7186.5 2.5:7187 2.6:8084 2.9:7522"),
    _row("GPT-3 6.7B, 1 node", "gpt3-6.7b", 2048, 1, "1 of 64", "8 x 1", _MLM,
         "2.3:7.3 2.5:7 2.6:8.23"),
    _row("GPT-3 6.7B, 16 nodes", "gpt3-6.7b", 2048, 16, "1 of 1024", "8 x 1", _MLM,
         "2.3:101 2.4:109.54 2.5:110 2.6:122.13 2.9:129 2.10:127"),
    _row("BERT-large phase 1 FP32, 1 node", "bert-large", 128, 1, "8 of 16384", "1 x 1",
         "fp32 adamw none hf", "2.3:1863.7 2.5:1864 2.6:1864"),
    _row("BERT-large phase 1 FP32, 16 nodes, AdamW", "bert-large", 128, 16, "16 of 262144", "1 x 1",
         "fp32 adamw none hf", "2.3:27256.71 2.5:27257 2.6:27257", (),
         f"{_FP32} 8"),
    _row("BERT-large phase 2 FP32, 1 node", "bert-large", 512, 1, "1 of 32768", "1 x 1",
         "fp32 adamw none hf", "2.3:247.4 2.5:247 2.6:247"),
    _row("BERT-large phase 2 FP32, 16 nodes", "bert-large", 512, 16, "2 of 524288", "1 x 1",
         "fp32 adamw none hf", "2.3:3619.25 2.5:3619 2.6:3619", (),
         f"{_FP32} 1"),
    _row("BERT-large phase 1 LAMB, 16 nodes, 262 144", "bert-large", 128, 16, "16 of 262144",
         "1 x 1", _HF_LAMB, "2.9:41242"),
    _row("BERT-large phase 1 LAMB, 16 nodes", "bert-large", 128, 16, "16 of 1048576", "1 x 1",
         _HF_LAMB,
         "2.10:54653 2.11:53083.7 2.12:53436.34 2.13:52585.88 2.14:52305.17 2.15:53069 2.16:53345"
         " 2.17:53644 2.18:52921 2.20:61765.4 2.21:55102.1 2.22:54357.1 2.23:53655.8 2.24:52515.4"
         " 2.25:52431.5 2.26:55617.28 2.27:56923.6521 2.28:57407.9207",
         [("2.15", 53069, 25.83, "blocks", 95)]),
    _row("BERT-large phase 2 LAMB, 16 nodes", "bert-large", 512, 16, "2 of 524288", "1 x 1",
         _HF_LAMB,
         "2.10:7741 2.11:7453.02 2.12:7446.69 2.13:7258.34 2.14:6997.3584 2.15:7507 2.16:7350.8"
         " 2.17:7350 2.18:7589 2.20:8396.1 2.21:7832.4 2.22:7800.9",
         [("2.15", 7507, 15.5, "blocks", 95)]),
    _row("BERT-large phase 1 FP32 LAMB, 16 nodes", "bert-large", 128, 16, "8 of 1048576", "1 x 1",
         "fp32 lamb none hf",
         "2.10:30711 2.11:28378.1 2.12:28834.39 2.13:28402.59 2.14:28534.24 2.15:28432 2.16:28882"
         " 2.17:28642 2.18:29271 2.20:31637.3 2.21:35144.6 2.22:33969.3 2.23:33095.9 2.24:32365.8"
         " 2.25:32385 2.26:32482.34 2.27:32752.7891 2.28:32362.6714",
         [("2.15", 28432, 13.83, "blocks", 95)]),
    _row("BERT-large phase 1 LAMB, 1 node", "bert-large", 128, 1, "16 of 65536", "1 x 1", _HF_LAMB,
         "2.10:3629 2.11:3473.2 2.12:3520.05 2.13:3400.96 2.14:3442.49 2.15:3733 2.16:3813.6"
         " 2.17:3710.6 2.18:3478 2.20:4538.5 2.21:4137.9 2.22:3890.7",
         [("2.15", 3733, 29.07, "blocks", 95)]),
    _row("BERT-large phase 1 AMP, 16 nodes", "bert-large", 128, 16, "16 of 16384", "1 x 1",
         "fp32 adamw none hf",
         "2.11:24518.07 2.12:24763.85 2.13:25547.62 2.14:24518.47 2.20:25853.3 2.21:26069.4"
         " 2.22:26474.4"),
    _row("GPT-3 6.7B, 16 nodes, fused softmax", "gpt3-6.7b", 2048, 16, "1 of 1024", "8 x 1",
         "bf16-sr adamw none mlm fused", "2.11:135.63 2.12:141.57 2.13:143.75"),
    _row("GPT-3 23B", "gpt3-23b", 2048, 32, "1 of 1024", "8 x 4", _NEMO_SELECTIVE,
         "2.13:104 2.14:103 2.15:100 2.16:102 2.17:102.5 2.18:107.18",
         [("2.13", 104, 32.61, "blocks", 90, 289), ("2.14", 103, 32.3, "blocks", 90, 289),
          ("2.15", 100, 29.65, "causal", 95, 289)]),
    _row("GPT-3 46B", "gpt3-46b", 2048, 32, "1 of 1024", "8 x 8", _NEMO,
         "2.13:45.25 2.14:45.9 2.15:47.2 2.16:47 2.17:47.4 2.18:48.24",
         [("2.13", 45.25, 28.38, "blocks", 90, 578), ("2.14", 45.9, 28.79, "blocks", 90, 578),
          ("2.15", 47.2, 27.7, "causal", 95, 578)]),
    _row("GPT-3 175B", "gpt3-175b", 2048, 32, "1 of 1024", "32 x 8", _NEMO_SELECTIVE,
         "2.13:13.9 2.14:12.7 2.15.2:13.3 2.18:14.6",
         [("2.13", 13.9, 33.14, "blocks", 90, 2197),
          ("2.14", 12.7, 33.14, "blocks", 90, 2197, _KEPT)]),
    _row("Llama 2 7B, NeMo, 16 nodes", "llama2-7b", 4096, 16, "1 of 256", "8 x 1", _NEMO,
         "2.13.1:49.75", [("2.13.1", 49.75, 22.27, "printed", 90, 206)]),
    _row("ViT-base, micro-batch 56", "vit-base", 197, 1, "56 of 1792", "1 x 1", _HF,
         "2.14:4835.53"),
    _row("Llama 2 13B, NeMo, 16 nodes", "llama2-13b", 4096, 16, "1 of 1024", "8 x 4", _NEMO,
         "2.14:31.3", [("2.14", 31.3, 22.82, "causal", 90, 336)]),
    _row("Llama 2 7B, NeMo, 32 nodes", "llama2-7b", 4096, 32, "1 of 1024", "8 x 4", _NEMO,
         "2.15:82 2.16:88 2.17:89", [("2.15", 82, 14.8, "causal", 95)],
         f"{_TWO_DP}; the 336 TFLOP are Llama 2 13B's"),
    _row("Llama 2 13B, NeMo, 32 nodes", "llama2-13b", 4096, 32, "1 of 1024", "8 x 4", _NEMO,
         "2.15:60 2.16:64 2.17:64.7", [("2.15", 60, 20.7, "causal", 95, 336)],
         f"{_TWO_DP}; {_NODES}"),
    _row("Llama 2 7B", "llama2-7b", 4096, 16, "1 of 1024", "8 x 1", _NXD,
         "2.15:81 2.16:93.3 2.17:94.7 2.18:92.93 2.20:101.3 2.21:95.14",
         [("2.15", 81, 30.8, "blocks", 95)]),
    _row("Llama 2 13B", "llama2-13b", 4096, 32, "1 of 1024", "8 x 4", _NXD,
         "2.16:85.65 2.17:81.8 2.18:87.44"),
    _row("Llama 2 70B", "llama2-70b", 4096, 32, "1 of 1024", "32 x 4", _NXD,
         "2.16:15.34 2.17:15.6 2.18:17.86"),
    _row("ViT-base", "vit-base", 197, 1, "64 of 2048", "1 x 1", _HF,
         "2.16:5232.78 2.17:5232.78 2.18:5230.72 2.21:5907.61 2.25:6587.25"),
    _row("Llama 2 13B, 8 stages", "llama2-13b", 4096, 32, "1 of 1024", "8 x 8", _NXD,
         "2.20:84.0 2.21:80.33"),
    _row("Llama 2 70B, 8 stages", "llama2-70b", 4096, 32, "1 of 1024", "32 x 8", _NXD,
         "2.20:14.2 2.21:14.44"),
    _row("Llama 3.1 8B", "llama3.1-8b", 8192, 32, "1 of 1024", "32 x 1", f"{_NXD} flash",
         "2.20:49.47 2.21:53.51 2.22:41.99 2.24:47.95"),
    _row("Llama 3.1 70B", "llama3.1-70b", 8192, 32, "1 of 1024", "32 x 8", f"{_NXD} flash",
         "2.20:7.59 2.21:7.97 2.22:7.51 2.24:7.94"),
    # from logs
    _row("BERT-large phase 1, 2 nodes", "bert-large", 128, 2, "16 of 32768", "1 x 1", _HF,
         "2022-11-15:5528.64 2022-12-21:6453.7", source="aws-bert-log",
         where="4. Monitor Training: median of three lines; the first log in commit 56a4f8d"),
    _row("Llama 2 7B, NeMo, 4 nodes", "llama2-7b", 4096, 4, "1 of 64", "8 x 1", _NEMO,
         "2024-04-01:11.1", source="aws-llama2-log",
         where="Launch a finetuning job: 64 samples in each of 423 steps"),
    # shaped as Llama 3.1 is; what the log prints as throughput averages the slow first steps in
    _row("Llama 3 70B, 16 nodes", "llama3.1-70b", 8192, 16, "1 of 1024", "32 x 8", f"{_NXD} flash",
         "2024-07-30:3.5915 2025-02-19:4.1998", source="aws-llama3-log",
         where="1 024 over the median step_time from step 3; the first log in commit 9115451"),
)  # fmt: skip

_notes, _torch = SOURCES["aws-release-notes"].says, SOURCES["aws-torch-notes"].says
#: By how many per cent an SDK changed training, as its notes say; the rows show it too.
RELEASES = Record(
    "what SDKs changed",
    gpt3_2_9=_notes(10, "per cent", "Neuron 2.9.0 (03/28/2023)",
                    "up to so much faster: GPT-3 6.7B on several instances"),
    llm_2_16=_notes(15, "per cent", "Neuron 2.16.0 (12/21/2023)",
                    "up to so much faster: LLMs by neuronx-distributed"),
    bert_2_20=_torch(20, "per cent", "Release [2.1.2.2.3.0]",
                     "faster: BERT-large in BF16, whose linear layers leave the static rings"),
    bert_2_21=_torch(11, "per cent", "Release [2.5.1.2.4.0]",
                     "slower: BERT, cast to BF16 by the model instead of by XLA"),
)  # fmt: skip

_fitted = SOURCES["emulator"].says
_HOW = "cluster.published.calibrate: least squares of the logarithm over the rows that calibrate"
#: What no document says about a step, fitted to half of the rows.
CALIBRATED = Record(
    "calibrated numbers of a training step",
    scaling_ratio=_tables.says(
        0.925, "", "nlp_data.csv of 2022, column Scaling Efficiency",
        "throughput of 16 nodes over 16 times that of one: the median of 20 figures, 86.5 to"
        " 95.7 %, in the editions 2.3 to 2.6; sums of gradients explain less than a hundredth"),
    pass_factor=_fitted(1.48, "", "cluster.step_time, a pass of the other engines", _HOW),
    host_ns=_fitted(108e6, "ns", "cluster.step_time, per step beside all that is derived", _HOW),
    residual_factor=_fitted(0.0925, "", "cluster.step_time, root mean square of that logarithm",
                            _HOW),
)  # fmt: skip
