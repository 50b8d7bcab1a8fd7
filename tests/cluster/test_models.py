"""Models by their published sizes.

Judges: the sources' own tables, as the facts quote them; arithmetic that those tables must satisfy.
"""

from dataclasses import replace

from tests.for_each import for_each
from trainium_edu.cluster import MODELS, Cnn, Transformer, get_model
from trainium_edu.specs import PUBLISHED_MODELS, Kind

GPT3 = ["125m", "350m", "760m", "1.3b", "2.7b", "6.7b", "13b", "175b"]
HEADS_OF_128 = ["gpt3-1.3b", "gpt3-6.7b", "gpt3-13b", "gpt3-175b", "gpt3-23b", "gpt3-46b"]


def test_families_are_known_by_their_facts_heads_and_sizes():
    assert MODELS.keys() == PUBLISHED_MODELS.keys()
    for name, record in PUBLISHED_MODELS.items():
        for what, fact in record.items():
            if what != "parameters":
                assert getattr(MODELS[name], what) == fact.value, (name, what)
    kinds = {n: {f.kind for _, f in r.walk()} for n, r in PUBLISHED_MODELS.items()}
    assert [n for n, found in kinds.items() if Kind.ASSUMED in found] == ["gpt-10t"]
    assert MODELS["llama2-70b"].kv_width == 8 * 128
    assert MODELS["llama2-7b"].kv_heads == 32
    assert MODELS["gpt2"].ffn == 4 * 768
    for family in (["gpt3-" + size for size in GPT3], [n for n in MODELS if "megatron" in n]):
        shapes = [(MODELS[n].hidden, MODELS[n].layers) for n in family]
        assert shapes == sorted(shapes)


@for_each("name", HEADS_OF_128)
def test_heads_are_128_wide_where_table_2_1_and_awss_recipes_say_so(name):
    assert MODELS[name].head_width == 128


def test_another_sequence_is_another_model():
    assert get_model("bert-large", sequence=512) == replace(MODELS["bert-large"], sequence=512)
    own = Transformer("own", 2, 64, 4, 128)
    assert get_model(own) is own
    assert get_model(own, sequence=7).sequence == 7


def test_a_cnns_shapes_are_those_of_its_rows():
    """Judge: the output sizes of ResNet's stem (He et al. 2016, table 1)."""
    stem = Cnn("stem", (3, 224, 224), (("conv", 64, 7, 2, 3), ("pool", 2), ("linear", 10)))
    assert stem.shapes == ((3, 224, 224), (64, 112, 112), (64, 56, 56), (10, 1, 1))
