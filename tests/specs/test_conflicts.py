"""Conflicts are real, and one reading is the default.  Judge: the facts themselves."""

from tests.for_each import for_each, for_rows
from trainium_edu.specs import SOURCES, TRN1, conflicts


@for_each("conflict", conflicts(), ids=lambda c: c.subject)
def test_readings_disagree_and_the_default_is_one_of_them(conflict):
    assert len({fact.value for fact in conflict.facts}) > 1
    assert any(fact is conflict.default for fact in conflict.facts)
    assert conflict.why
    assert all(fact.source in SOURCES for fact in conflict.facts)


@for_rows(
    "word, printed",
    ("peak of one chip, BF16", ("190 TFLOP/s", "210 TFLOP/s", "184 TFLOP/s", "183.5 TFLOP/s")),
    ("network of trn1.2xlarge", ("25 Gbit/s", "12.5 Gbit/s")),
    ("HBM bandwidth", ("820 GB/s", "820 GiB/s")),
    ("one DMA engine", ("17 GB/s", "27.2 GB/s", "27 GiB/s")),
    ("chips in an UltraCluster", ("100,000 chips", "30,000 chips", "10,000 chips")),
    ("topology", ("4 x 4 torus", "4D hypercube")),
    ("DMA queues", ("16 queues", "256 queues")),
    ("network of Trn1 over", ("2", "4", "2", "4")),
    ("TF32 compute", ("2.4359", "2.5", "2.69231", "2.35257")),
    ("FP32 compute", ("4.87179", "5", "5.38462", "4.70515")),
    ("compute of P4d", ("2.496", "4")),
    ("cost that Trn1 saves", ("0.395481", "0.5")),
    ("speed of inf2.xlarge", ("0.784296", "0.924987")),
    ("ml.p4d", ("37.69 USD/hour", "37.6885 USD/hour")),
    ("--auto-cast", ("none", "matmult", "matmult to BF16", "none, says the same page")),
)
def test_known_conflicts_print_their_readings(word, printed):
    (conflict,) = conflicts().about(word)
    assert tuple(fact.pretty for fact in conflict.facts) == printed
    assert f"→ {printed[0]}" in str(conflict)


def test_the_default_is_what_the_chip_record_says():
    (conflict,) = conflicts().about("peak of one chip, bf16")
    assert conflict.default is TRN1.peak_flops


def test_text_and_table_name_every_subject():
    text, table = str(conflicts()), conflicts()._repr_html_()
    for conflict in conflicts():
        assert conflict.subject in text
        assert conflict.subject in table
    assert repr(conflicts()) == f"Conflicts({len(conflicts())} subjects)"
