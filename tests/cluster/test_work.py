"""A model's work in closed form.

Judges: the graphs that ``xla`` records of the same networks, node by node; PyTorch's own counter of
FLOP and the tensors its autograd keeps; PyTorch programs through ``trainium_edu.torch``; the closed
forms of Narayanan et al. 2021 and Korthikanti et al. 2022; the FLOP that papers and AWS print.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.texts import rows_beside
from trainium_edu.cluster import MODELS, Cnn, Mlp, Transformer, get_model, mfu, model_flops, work
from trainium_edu.specs import PUBLISHED_MODELS, SOURCES
from trainium_edu.training import nn
from trainium_edu.training.tasks import TASKS
from trainium_edu.xla.compiler import cut
from trainium_edu.xla.device import Device
from trainium_edu.xla.operations.table import OPERATIONS
from trainium_edu.xla.tensor import as_tensor

ROWS = rows_beside(__file__, "work.toml")

# -- the graph -------------------------------------------------------------------------------------

#: The networks of ``training``'s tasks, described as models; a recommender (``baskets``) is none
#: of the kinds that ``cluster`` describes.
DESCRIBED = {
    "digits-mlp": Mlp("digits-mlp", (64, 256, 256, 10)),
    "digits-cnn": Cnn("digits-cnn", (1, 8, 8), (
        ("conv", 16, 3, 1, 1), ("pool", 2), ("conv", 32, 3, 1, 1), ("pool", 2), ("linear", 10))),
    "digits-vit": Transformer("digits-vit", 2, 64, 4, 5, ffn=128, causal=False, positions=5,
                              head="classes", classes=10, patch_inputs=16),
    "letters": Transformer("letters", 2, 64, 4, 64, 64, ffn=128, tied=False, positions=64),
    "authors": Transformer("authors", 2, 64, 4, 33, 706, ffn=128, causal=False, positions=33,
                           head="classes", classes=3),
}  # fmt: skip
BATCH = 8
PRODUCTS = ("dot", "convolution", "convolution_of_input", "convolution_of_filter")


@pytest.fixture(scope="module")
def graphs():
    """Return {task: (parameters, forward's graph, the step's graph)}."""
    found = {}
    for name in DESCRIBED:
        task = TASKS[name]
        inputs, labels, *_ = task.data()
        device = Device()
        with nn.shapes_only():
            model = task.model().to(device)
        logits = model(as_tensor(inputs[:BATCH], device))
        forward, _ = cut((logits.as_node(),))
        loss = nn.cross_entropy(logits, as_tensor(labels[:BATCH], device))
        loss.backward()
        step, _ = cut((loss.as_node(), *(p.grad.as_node() for p in model.parameters())))
        found[name] = sum(p.size for p in model.parameters()), forward, step
    return found


def counted(graph, products=True):
    """Return the FLOP of a graph's products, or of everything else."""
    nodes = [n for n in graph.nodes if (n.operation in PRODUCTS) == products]
    return sum(OPERATIONS[n.operation].flops(n) for n in nodes)


@pytest.mark.parametrize("name", DESCRIBED)
def test_products_parameters_and_all_else_are_those_of_the_graph(graphs, name):
    """But for the mask itself, which the graph makes once for all blocks."""
    parameters, forward, step = graphs[name]
    found = work(DESCRIBED[name], batch=BATCH)
    assert found.parameters == parameters
    assert found.forward_flops == counted(forward)
    assert found.flops == counted(step)
    mask = DESCRIBED[name].sequence ** 2 if name == "letters" else 0
    _, forward, _ = graphs[name]
    assert found.other_flops + mask == counted(forward, products=False)
    moved = [n.type.size + sum(i.type.size for i in n.inputs)
             for n in forward.nodes if n.operation in PRODUCTS]  # fmt: skip
    assert work(DESCRIBED[name], batch=BATCH).moved == sum(moved)
    _, _, step = graphs[name]
    assert 0.95 < counted(step) / (counted(step) + counted(step, products=False)) < 1


# -- what papers print -----------------------------------------------------------------------------


def printed(value, fact):
    """Whether a count is the one that a source prints, to the digits it prints."""
    if isinstance(fact, int):
        return value == fact
    digits = len(f"{fact:e}".partition("e")[0].rstrip("0").replace(".", ""))
    return f"{value:.{digits}g}" == f"{fact:.{digits}g}"


@for_each("name", MODELS)
def test_parameters_are_those_published(name):
    assert printed(work(name).parameters, PUBLISHED_MODELS[name].parameters.value)


@for_each("name, parameters", ROWS["exact"].items())
def test_parameters_are_exact_where_weights_are_public(name, parameters):
    """Judge: the sizes of the published weights."""
    assert work(name).parameters == parameters


#: Models whose heads are not an equal part of their width, and their parameters.
_PLAIN = {"gated": True, "biases": False, "norm": "rms"}
WIDE = {
    "gemma-7b": (Transformer("gemma-7b", 28, 3072, 16, 8192, 256000, ffn=24576, head_size=256,
                             **_PLAIN), 8_537_680_896),
    "mistral-nemo": (Transformer("mistral-nemo", 40, 5120, 32, 8192, 131072, 8, 14336,
                                 head_size=128, tied=False, **_PLAIN), 12_247_782_400),
}  # fmt: skip


@for_each("name", WIDE)
def test_heads_may_have_a_size_of_their_own(name):
    """Judge: the published weights' sizes; the formula of blocks with heads times their size."""
    model, parameters = WIDE[name]
    assert work(model).parameters == parameters
    width = model.heads * model.head_size
    n = model.hidden * (2 * width + 2 * model.kv_width + 3 * model.ffn)
    blocks = model.layers * (6 * n * model.sequence + 12 * model.sequence**2 * width)
    assert model_flops(model) == blocks


def test_palms_parameters_and_utilisation_from_its_shape():
    """540.35 billion, and 46.2 % at 238 300 tokens/s on 6 144 TPU v4: table 3 and appendix B."""
    palm = Transformer("palm", 118, 18432, 48, 2048, 256000, 1, 73728, head_size=256, **_PLAIN)
    assert work(palm).parameters / 1e9 == pytest.approx(540.35, abs=0.01)
    share = mfu(palm, 238.3e3 / 2048, 6144, convention="palm", peak=275e12)
    assert f"{share:.1%}" == "46.2%"


#: Of table D.1 of the GPT-3 paper, for 300 billion tokens.


@for_each("size, flops", ROWS["trained"].items())
def test_gpt3s_table_of_compute_is_6nd(size, flops):
    model = get_model(f"gpt3-{size}")
    total = model_flops(model, "6nd") * 300e9 / model.sequence
    assert total == pytest.approx(flops, rel=0.005)


MEGATRON = [name for name in MODELS if name.startswith("megatron")]


@for_each("name", MEGATRON)
def test_recomputation_does_again_what_its_formulas_say(name):
    """96 B s l h^2 (1 + s / 6h + V / 16 l h), equation 3 of the paper."""
    m = get_model(name)
    batch, s, l, h, v = 4, m.sequence, m.layers, m.hidden, m.vocabulary  # noqa: E741
    whole = 96 * batch * s * l * h**2
    formula = whole + whole * s // (6 * h) + whole * v // (16 * l * h)
    assert work(m, batch=batch, recompute="full").flops == formula
    plain, again = (work(m, recompute=r) for r in ("none", "selective"))
    assert again.flops - plain.flops == 4 * m.layers * m.sequence**2 * m.hidden


@for_each("name, sequence, convention, flops", ROWS["printed"])
def test_flops_are_those_behind_awss_printed_mfu(name, sequence, convention, flops):
    model = get_model(name, sequence=sequence)
    digits = len(f"{flops:e}".partition("e")[0].rstrip("0")) - 1
    assert f"{model_flops(model, convention):.{digits}g}" == f"{flops:.{digits}g}"


def test_aws_prints_the_flops_of_its_gpt_runs():
    """289, 578 and 2197 TFLOP per sequence: 578 is twice 289, not the 577 of 56 layers."""
    printed = [model_flops(f"gpt3-{size}b") / 1e12 for size in (23, 46, 175)]
    assert [round(flops) for flops in printed] == [289, 577, 2197]
    assert printed[1] == pytest.approx(2 * printed[0])


def test_the_formula_of_blocks_is_that_of_its_docstring():
    m = get_model("llama2-70b")
    n = m.layers * (m.hidden * (2 * m.hidden + 2 * m.kv_width) + 3 * m.hidden * m.ffn)
    s = m.sequence
    assert model_flops(m) == 6 * n * s + 12 * m.layers * s**2 * m.hidden
    logits = 6 * s * m.hidden * m.vocabulary
    assert model_flops(m, "causal") == 6 * n * s + 6 * m.layers * s**2 * m.hidden + logits
    assert model_flops(m, "megatron") == model_flops(m) + logits
    dense = 6 * work(m).parameters * s
    assert model_flops(m, "palm") == dense + 12 * m.layers * s**2 * m.hidden


# -- what backward needs ---------------------------------------------------------------------------


def test_tensor_parallelism_splits_all_but_ten_of_thirty_four():
    """s b h (10 + 24 / t + 5 a s / (h t)), Korthikanti's equation 2."""
    m = get_model("gpt3-175b")
    whole = [p for p in work(m).parts if p.in_blocks and not p.is_split]
    assert sum(2 * p.elements + p.masks for p in whole) == m.layers * 10 * m.sequence * m.hidden


def test_flash_attention_keeps_one_number_per_row_and_skips_what_is_hidden():
    m = get_model("llama2-7b")
    plain, flash = work(m), work(m, flash_attention=True)
    s, rows = m.sequence, m.heads * m.sequence
    assert plain.elements - flash.elements == m.layers * (rows * s - rows)
    part = flash["scores"]
    assert part.forward_flops == plain["scores"].forward_flops * (s + 1) // (2 * s)
    assert part.recomputed_flops == part.forward_flops
    seen = replace(m, name="sees all", causal=False)
    assert work(seen, flash_attention=True).forward_flops == work(seen).forward_flops


def test_full_recomputation_does_every_block_again_whatever_the_attention():
    for flash in (False, True):
        found = work("gpt3-6.7b", recompute="full", flash_attention=flash)
        again = sum(p.recomputed_flops for p in found.parts)
        blocks = sum(p.forward_flops for p in found.parts if p.in_blocks)
        assert again == blocks + flash * found["scores"].forward_flops


# -- laws ------------------------------------------------------------------------------------------


@for_each("model", [*MODELS.values(), *DESCRIBED.values()], ids=lambda m: m.name)
def test_work_grows_with_the_batch_and_parameters_do_not(model):
    one, many = work(model), work(model, batch=7)
    assert many.parameters == one.parameters
    for name in ("forward_flops", "flops", "other_flops", "elements", "masks"):
        assert getattr(many, name) == 7 * getattr(one, name)
    assert many.moved < 7 * one.moved  # weights are read once


def test_numpys_integers_count_as_pythons():
    sizes = [np.int32(n) for n in (192, 65536, 512, 2048, 51200)]
    found = work(Transformer("t", *sizes, positions=2048), batch=np.int32(2**20))
    assert found.flops == work("gpt-10t", batch=2**20).flops > 2**63


def test_vgg_16_has_the_parameters_that_its_authors_count():
    """138 million (Simonyan and Zisserman 2015, table 2, D), 15.5 billion multiply-adds."""
    rows = []
    for count, channels in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        rows += [("conv", channels, 3, 1, 1)] * count + [("pool", 2)]
    rows += [("linear", 4096), ("linear", 4096), ("linear", 1000)]
    found = work(Cnn("vgg-16", (3, 224, 224), rows))
    assert found.parameters == 138_357_544
    assert found.forward_flops / 2 == pytest.approx(15.47e9, rel=1e-3)


def test_a_table_shows_every_part_and_the_sums():
    found = work("bert-large")
    lines = str(found).splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == [*(p.name for p in found.parts), "all"]
    assert f"{found.parameters:,}" in lines[-1]
    assert found["qkv"].parameters == 24 * (1024 + 1) * 3 * 1024
    raises(KeyError, "no part 'mlp'; there are embedding, norms", lambda: found["mlp"])


def test_formulas_cite_sources_that_there_are():
    assert {"korthikanti-2022", "megatron-2021"} <= set(SOURCES)
