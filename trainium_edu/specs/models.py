"""Which models were published: their shapes and how many parameters their authors count.

What distinguishes the families beyond numbers (norms, biases, who sees whom) is said where they
are built, in ``cluster/models.py``.
"""

from trainium_edu.specs.fact import Kind
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["PUBLISHED_MODELS"]

_UNITS = {"layers": "layers", "hidden": "numbers per token", "heads": "heads",
          "sequence": "tokens", "vocabulary": "tokens", "positions": "tokens",
          "kv_heads": "heads for keys and values", "ffn": "numbers per token in the MLP",
          "classes": "classes", "patch_inputs": "numbers per patch"}  # fmt: skip


def _model(name, source, where, parameters, layers, hidden, heads, sequence, vocabulary=0, *,
           kind: Kind | None = None, note="", counted="", **more):  # fmt: skip
    """Return (name, record); a count with a decimal exponent is rounded as its source prints it."""
    shape = {"layers": layers, "hidden": hidden, "heads": heads, "sequence": sequence,
             "vocabulary": vocabulary, **more}  # fmt: skip
    says = SOURCES[source].says
    facts = {n: says(v, _UNITS[n], where, note, kind=kind) for n, v in shape.items() if v}
    count = says(parameters, "parameters", counted or where, note, kind=kind)
    return name, Record(name, **facts, parameters=count)


def _gpt3(name, parameters, layers, hidden, heads, note="vocabulary: GPT-2's"):
    return _model(f"gpt3-{name}", "gpt3-paper", "table 2.1", parameters, layers, hidden, heads,
                  2048, 50257, note=note, counted="table D.1", positions=2048)  # fmt: skip


def _aws(name, layers):
    return _model(f"gpt3-{name}b", "aws-nemo-megatron", f"gpt_{name}b.sh", name * 1e9, layers, 8192,
                  64, 2048, 50257, note="vocabulary: GPT-2's, test.sh", positions=2048)  # fmt: skip


def _megatron(parameters, layers, hidden, heads):
    return _model(f"megatron-{parameters}b", "megatron-2021", "table 1", parameters * 1e9, layers,
                  hidden, heads, 2048, 51200, positions=2048)  # fmt: skip


def _llama(name, parameters, layers, hidden, heads, ffn, kv_heads=0):
    sequence, vocabulary = (4096, 32000) if name.startswith("llama2") else (8192, 128256)
    return _model(name, f"{name.partition('-')[0]}-card", f"{name}, config.json", parameters,
                  layers, hidden, heads, sequence, vocabulary, counted=f"{name}, model size",
                  ffn=ffn, kv_heads=kv_heads)  # fmt: skip


_BERT = "vocabulary: the published WordPiece file; sequences of phase 1"

#: By name; ``specs.PUBLISHED_MODELS["gpt3-175b"].parameters`` is a fact.
PUBLISHED_MODELS = dict((
    _model("bert-base", "bert-paper", "section 3", 110e6, 12, 768, 12, 128, 30522, note=_BERT,
           positions=512),
    _model("bert-large", "bert-paper", "section 3", 340e6, 24, 1024, 16, 128, 30522, note=_BERT,
           positions=512),
    _model("gpt2", "gpt2-code", "model card, 124M", 124e6, 12, 768, 12, 1024, 50257,
           positions=1024),
    _gpt3("125m", 125e6, 12, 768, 12),
    _gpt3("350m", 356e6, 24, 1024, 16),
    _gpt3("760m", 760e6, 24, 1536, 16),
    _gpt3("1.3b", 1.32e9, 24, 2048, 16, "the table prints 24 heads of 128; 16 make 2048"),
    _gpt3("2.7b", 2.65e9, 32, 2560, 32),
    _gpt3("6.7b", 6.66e9, 32, 4096, 32),
    _gpt3("13b", 12.85e9, 40, 5120, 40, "the table prints 5140; 40 heads of 128 make 5120"),
    _aws(23, 28),
    _aws(46, 56),
    _gpt3("175b", 174.6e9, 96, 12288, 96),
    _llama("llama2-7b", 6.74e9, 32, 4096, 32, 11008),
    _llama("llama2-13b", 13e9, 40, 5120, 40, 13824),
    _llama("llama2-70b", 69e9, 80, 8192, 64, 28672, 8),
    _llama("llama3.1-8b", 8.03e9, 32, 4096, 32, 14336, 8),
    _llama("llama3.1-70b", 70.6e9, 80, 8192, 64, 28672, 8),
    _llama("llama3.1-405b", 406e9, 126, 16384, 128, 53248, 8),
    _model("gpt-neox-6.9b", "pythia-paper", "table 1", 6_857_302_016, 32, 4096, 32, 2048, 50432,
           note="Pythia-6.9B", counted="repository, table of models"),
    _model("gpt-neox-20b", "gpt-neox-paper", "section 2", 20_554_567_680, 44, 6144, 64, 2048, 50432,
           note="vocabulary padded to a multiple of 128"),
    _megatron(1.7, 24, 2304, 24),
    _megatron(3.6, 30, 3072, 32),
    _megatron(7.5, 36, 4096, 32),
    _megatron(18.4, 40, 6144, 48),
    _megatron(39.1, 48, 8192, 64),
    _megatron(76.1, 60, 10240, 80),
    _megatron(145.6, 80, 12288, 96),
    _megatron(310.1, 96, 16384, 128),
    _megatron(529.6, 105, 20480, 128),
    _megatron(1008, 128, 25600, 160),
    _model("gpt-10t", "emulator", "ten trillion parameters", 9.9e12, 192, 65536, 512, 2048, 51200,
           note="a keynote named the number, nobody a shape; Megatron's table, carried on",
           positions=2048),
    _model("vit-base", "torchvision-vit", "vit_b_16", 86_567_656, 12, 768, 12, 197, positions=197,
           classes=1000, patch_inputs=768),
))  # fmt: skip
