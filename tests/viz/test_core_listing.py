"""Judges: the recorded program, and this file's own lines."""

from pathlib import Path

import numpy as np

import trainium_edu.nki as nki
from tests.viz.programs import gelu_linear
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.nki.examples import matmul
from trainium_edu.viz.core_listing import listing_of, listing_to_bytes, words_of

HERE = Path(__file__).name


def small():
    core = NeuronCore(values=False)
    x = core.hbm((128, 64), "float32", name="x")
    tile = core.sbuf((128, 64), "bfloat16", name="tile")
    core.dma_copy(dst=tile, src=x)
    core.tensor_scalar(dst=tile, data=tile, op0="multiply", operand0=2.0, name="double")
    return core.program


def test_an_instruction_is_named_with_its_operands_what_is_written_first():
    listing = listing_of(small())
    names = [listing["names"][k] for k in listing["arrays"]["i_name"]]
    assert names == ["dma_copy", "tensor_scalar “double”"]
    assert listing["operands"][listing["arrays"]["i_text"][0]] == [
        ("dst", "tile", "bf16[128, 64] in SBUF", True),
        ("src", "x", "fp32[128, 64] in HBM", False),
    ]
    option = listing["options"][listing["arrays"]["i_option"][1]]
    assert "op0=multiply" in option
    assert "operand0=2" in option
    assert "None" not in option


def test_every_line_is_the_line_that_recorded_it():
    program = small()
    listing = listing_of(program)
    text = Path(__file__).read_text().splitlines()
    for k, instruction in enumerate(program.instructions):
        line = listing["lines"][listing["arrays"]["i_line"][k]]
        assert (line["file"], line["function"]) == (HERE, "small")
        assert line["line"] == instruction.line.line
        assert line["text"] == text[line["line"] - 1].strip()
        assert instruction.name in line["text"]


def test_an_instruction_in_a_helper_belongs_to_the_line_that_calls_it_too():
    """Judge: the text of the kernel's lines."""
    data = np.ones((256, 512), np.float32)
    listing = listing_of(nki.run(matmul.hoisted, data, data).programs[0])
    arrays, lines = listing["arrays"], listing["lines"]
    loads = [k for k, i in enumerate(arrays["i_call"]) if i >= 0]
    assert loads
    for k in loads:
        called = lines[arrays["i_call"][k]]
        assert called["function"] == "hoisted"
        assert lines[arrays["i_line"][k]]["function"] in called["text"]  # _load or _store
    linked = {number for part in listing["sources"] for number in part["lines"]}
    assert set(arrays["i_call"].tolist()) <= linked
    assert set(listing_of(small())["arrays"]["i_call"]) == {-1}


def test_tiles_remember_the_line_that_allocated_them():
    listing = listing_of(small())
    tile = next(a for a in listing["allocations"] if a["name"] == "tile")
    assert "core.sbuf" in listing["lines"][tile["line"]]["text"]
    assert tile["text"] == "bf16[128, 64] in SBUF"


def test_tiles_of_one_line_share_a_site_and_other_lines_have_others():
    listing = listing_of(gelu_linear(3))
    sites = {}
    for a in listing["allocations"]:
        if "HBM" not in a["text"]:
            sites.setdefault(a["name"], set()).add(a["site"])
    assert all(len(found) == 1 for found in sites.values())
    assert len({next(iter(found)) for found in sites.values()}) == len(sites) == 4


def test_the_source_is_cut_out_from_the_def_to_the_last_line():
    listing = listing_of(gelu_linear(2))
    (part,) = listing["sources"]
    assert part["text"][0] == "def gelu_linear(turns=6, free=512):"
    issued = [k for k in part["lines"] if k >= 0]
    assert len(issued) == len(set(issued)) == len(listing["lines"])
    for text, k in zip(part["text"], part["lines"], strict=True):
        if k >= 0:
            assert text.strip() == listing["lines"][k]["text"]
            assert part["first"] + part["text"].index(text) == listing["lines"][k]["line"]


def test_a_program_without_lines_has_a_listing_without_source():
    program = small()
    for instruction in program.instructions:
        instruction.line = None
    for a in program.allocations:
        a.site = (a.shape, a.memory)
    listing = listing_of(program)
    assert (listing["sources"], set(listing["arrays"]["i_line"])) == ([], {-1})
    assert listing_to_bytes(listing)


def test_paths_of_the_machine_stay_here():
    assert str(Path(__file__).parent).encode() not in listing_to_bytes(listing_of(small()))


def test_the_tiles_of_an_instruction_are_listed_behind_one_another():
    program = gelu_linear(2)
    arrays = listing_of(program)["arrays"]
    for k, instruction in enumerate(program.instructions):
        part = arrays["a_allocation"][arrays["a_first"][k] : arrays["a_first"][k + 1]]
        assert part.tolist() == [a.allocation for a in instruction.accesses]


def outer(core, tile):
    inner(core, tile)
    core.tensor_scalar(dst=tile, data=tile, op0="add", operand0=1.0)


def inner(core, tile):
    core.memset(dst=tile, value=0.0)


def test_each_function_is_a_part_of_its_own_in_the_order_of_the_file():
    core = NeuronCore(values=False)
    outer(core, core.sbuf((128, 8), name="tile"))
    parts = listing_of(core.program)["sources"]
    assert [p["function"] for p in parts] == [
        "outer", "inner", "test_each_function_is_a_part_of_its_own_in_the_order_of_the_file",
    ]  # fmt: skip
    assert [p["text"][0].split("(")[0] for p in parts[:2]] == ["def outer", "def inner"]
    assert all(len([k for k in p["lines"] if k >= 0]) == 1 for p in parts)
    assert len(parts[0]["text"]) == 3


def test_statements_outside_a_function_are_cut_where_nothing_was_recorded(tmp_path):
    script = tmp_path / "cell.py"
    lines = ["core.memset(dst=tile, value=0.0)", *["# nothing"] * 30]
    script.write_text("\n".join([*lines, "core.memset(dst=tile, value=1.0)"]))
    core = NeuronCore(values=False)
    scope = {"core": core, "tile": core.sbuf((128, 8))}
    exec(compile(script.read_text(), str(script), "exec"), scope)
    parts = [p for p in listing_of(core.program)["sources"] if p["file"] == "cell.py"]
    assert sorted(p["first"] for p in parts) == [1, 31]
    assert all(len(p["text"]) <= 3 for p in parts)


def test_words_of_a_line_add_up_to_it_and_say_their_kind():
    text = 'for i in range(128):  # "all"'
    found = words_of(text)
    assert "".join(word for word, _ in found) == text
    assert [pair for pair in found if pair[1]] == [
        ("for", "keyword"), ("in", "keyword"), ("128", "number"), ('# "all"', "comment"),
    ]  # fmt: skip
    assert words_of("'#' + x1") == [("'#'", "string"), (" + x1", "")]
    part = listing_of(small())["sources"][0]
    assert ["".join(word for word, _ in words) for words in part["words"]] == part["text"]
