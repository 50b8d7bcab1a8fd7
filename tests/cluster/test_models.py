"""Models by their published sizes.

Judges: the sources' own tables, as the facts quote them; arithmetic that those tables must satisfy.
"""

from dataclasses import replace

from tests.for_each import for_each, raises
from trainium_edu.cluster import MODELS, Cnn, Mlp, Transformer, get_model
from trainium_edu.specs import PUBLISHED_MODELS, Kind

GPT3 = ["125m", "350m", "760m", "1.3b", "2.7b", "6.7b", "13b", "175b"]
HEADS_OF_128 = ["gpt3-1.3b", "gpt3-6.7b", "gpt3-13b", "gpt3-175b", "gpt3-23b", "gpt3-46b"]


def test_every_model_is_built_from_its_facts():
    assert MODELS.keys() == PUBLISHED_MODELS.keys()
    for name, record in PUBLISHED_MODELS.items():
        for what, fact in record.items():
            if what != "parameters":
                assert getattr(MODELS[name], what) == fact.value, (name, what)


def test_only_the_ten_trillion_parameters_have_an_assumed_shape():
    kinds = {n: {f.kind for _, f in r.walk()} for n, r in PUBLISHED_MODELS.items()}
    assert [n for n, found in kinds.items() if Kind.ASSUMED in found] == ["gpt-10t"]


@for_each("name", HEADS_OF_128)
def test_heads_are_128_wide_where_table_2_1_and_awss_recipes_say_so(name):
    assert MODELS[name].head_width == 128


def test_keys_and_values_may_have_fewer_heads():
    assert MODELS["llama2-70b"].kv_width == 8 * 128
    assert MODELS["llama2-7b"].kv_heads == 32
    assert MODELS["gpt2"].ffn == 4 * 768


def test_sizes_of_a_family_grow():
    for family in (["gpt3-" + size for size in GPT3], [n for n in MODELS if "megatron" in n]):
        shapes = [(MODELS[n].hidden, MODELS[n].layers) for n in family]
        assert shapes == sorted(shapes)


def test_another_sequence_is_another_model():
    assert get_model("bert-large", sequence=512) == replace(MODELS["bert-large"], sequence=512)
    own = Transformer("own", 2, 64, 4, 128)
    assert get_model(own) is own
    assert get_model(own, sequence=7).sequence == 7


def test_a_cnns_shapes_are_those_of_its_rows():
    """Judge: the output sizes of ResNet's stem (He et al. 2016, table 1)."""
    stem = Cnn("stem", (3, 224, 224), (("conv", 64, 7, 2, 3), ("pool", 2), ("linear", 10)))
    assert stem.shapes == ((3, 224, 224), (64, 112, 112), (64, 56, 56), (10, 1, 1))


BAD = {
    "4 heads do not divide a hidden width of 62": lambda: Transformer("t", 1, 62, 4, 8),
    "3 heads for keys and values do not divide 4": lambda: Transformer("t", 1, 64, 4, 8, 9, 3),
    "head_size is -1": lambda: Transformer("t", 1, 64, 4, 8, head_size=-1),
    "layers is 0": lambda: Transformer("t", 0, 64, 4, 8),
    "1024 tokens and 512 learned positions": lambda: get_model("bert-large", sequence=1024),
    "sequence is 0": lambda: get_model("gpt2", sequence=0),
    "norm is 'batch'": lambda: Transformer("t", 1, 64, 4, 8, norm="batch"),
    "causal is 1": lambda: Transformer("t", 1, 64, 4, 8, causal=1),
    "no model 'gpt3'; MODELS has gpt2, gpt3-46b": lambda: get_model("gpt3"),
    r"an Mlp of widths \(64,\) has no layer": lambda: Mlp("m", (64,)),
    "each of widths is 0": lambda: Mlp("m", (64, 0)),
    "widths is 64": lambda: Mlp("m", 64),
    "image is": lambda: Cnn("c", (8, 8), (("linear", 10),)),
    "rows is": lambda: Cnn("c", (1, 8, 8), ()),
    "a row is": lambda: Cnn("c", (1, 8, 8), (("conv", 16, 3),)),
    "rows are .*'linear', width": lambda: Cnn("c", (1, 8, 8), (("relu",),)),
    "number 2 of": lambda: Cnn("c", (1, 8, 8), (("conv", 16, 0, 1, 1),)),
    "nothing is left of an image of 8 x 8": lambda: Cnn("c", (1, 8, 8), (("pool", 9),)),
}


@for_each("says", BAD)
def test_what_is_no_model_is_refused_in_a_sentence(says):
    assert "\n" not in str(raises((ValueError, TypeError), says, BAD[says]))
