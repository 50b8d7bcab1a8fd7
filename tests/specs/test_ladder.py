"""The rungs of the zoom.  Judge: multiplying the rungs gives the published peaks."""

import math

import pytest

from trainium_edu.specs import INF2, INSTANCES, SOURCES, TRN1, TRN2, ULTRACLUSTER
from trainium_edu.specs.ladder import ladder


def _figure(key, label):
    return dict(next(r for r in ladder() if r.key == key).figures)[label].value


def test_there_are_six_rungs_each_with_sourced_figures():
    assert [r.key for r in ladder()] == [
        "ultracluster", "instance", "chip", "neuroncore", "tensor_engine", "element",
    ]  # fmt: skip
    for rung in ladder():
        assert 4 <= len(rung.figures) <= 8
        for _, fact in rung.figures:
            assert fact.source in SOURCES
            assert fact.recompute() == fact.value


def test_climbing_back_up_gives_the_peaks_of_engine_chip_and_instance():
    engine = _figure("element", "speed of one element") * _figure("tensor_engine", "size")
    assert engine == TRN1.tensor_engine.peak_flops_from_array.value
    chip = engine * _figure("chip", "NeuronCores")
    assert chip == TRN1.peak_flops_from_array.value
    instance = chip * _figure("instance", "chips")
    assert instance == INSTANCES["trn1.32xlarge"].peak_flops_from_array.value


def test_numbers_in_words_are_the_facts_numbers():
    assert _figure("tensor_engine", "size") == 16_384
    assert _figure("ultracluster", "multipliers in all") == 3_276_800_000
    assert _figure("element", "length of a beat") == pytest.approx(0.357142857)
    assert ULTRACLUSTER.instances.value == math.prod((125, 50))  # the dots of the picture


def test_a_chips_ladder_begins_where_its_instances_are_known():
    """Judge: the records of its instances; a chip that nobody rents out begins as a chip."""
    of_trn2, of_inf2 = ladder(TRN2), ladder(INF2)
    assert [r.key for r in of_trn2] == [r.key for r in ladder()][1:]
    assert [r.holds for r in of_trn2][:2] == ["16 chips", "8 NeuronCores"]
    assert "trn2.48xlarge: 16 chips" in of_trn2[0].sentence
    assert of_trn2[1].sentence.startswith("Trainium2: 8 NeuronCores beside stacks of memory")
    assert dict(of_trn2[0].figures)["peak, BF16"] == INSTANCES["trn2.48xlarge"].peak_flops
    third = TRN2.replace(cores=SOURCES["emulator"].says(4, "NeuronCores", "a test"))
    assert of_inf2[0].key == ladder(third)[0].key == "chip"
    assert ladder(third)[0].holds == "4 NeuronCores"
