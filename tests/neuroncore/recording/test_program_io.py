"""Judge: the program itself; a file cut, flipped or edited anywhere is refused in one sentence."""

import gzip
import json

import numpy as np

from tests.for_each import raises
from tests.neuroncore import mamba
from trainium_edu.neuroncore.recording.program_io import load, save
from trainium_edu.neuroncore.timing.optimise import optimise


def test_a_saved_program_loads_as_it_was(tmp_path):
    core, _ = mamba.record(3, tiles=1, length=1024)
    with core.repeat(3):
        core.memset(dst=core.sbuf((128, 4), address=64), value=-0.0)
    core.program.outputs.append(3)
    core.program.instructions[-1].after = (0, 2)
    save(core.program, tmp_path / "run.json.gz")
    back = load(tmp_path / "run.json.gz")
    assert (back.instructions, back.loops) == (core.program.instructions, core.program.loops)
    assert (back.spec, back.name, back.outputs) == (core.program.spec, "program", [3])
    for a, b in zip(back.allocations, core.program.allocations, strict=True):
        for field in ("name", "memory", "shape", "dtype", "row_bytes", "site", "address",
                      "start_partition", "partitions", "index"):  # fmt: skip
            assert getattr(a, field) == getattr(b, field), field
    assert optimise(back).instructions == optimise(core.program).instructions
    save(back, tmp_path / "again.json.gz")
    assert (tmp_path / "run.json.gz").read_bytes() == (tmp_path / "again.json.gz").read_bytes()


def test_every_damaged_file_gets_one_sentence(tmp_path):
    core, _ = mamba.record(1, tiles=1)
    path = tmp_path / "run.json.gz"
    save(core.program, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in (0, 1, 9, 10, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert "\n" not in str(raises(ValueError, r"run\.json\.gz", load, path))
    said = []
    for _ in range(60):
        flipped = bytearray(whole)
        flipped[rng.integers(10, len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:  # a padding bit of the packed stream changes nothing
            assert load(path).instructions == core.program.instructions
        except ValueError as error:
            said.append(str(error))
    assert len(said) > 55
    assert all("run.json.gz" in text and "\n" not in text for text in said)
    raises(FileNotFoundError, r"no saved program none\.gz", load, tmp_path / "none.gz")


def test_an_edited_file_is_refused(tmp_path):
    core, _ = mamba.record(1, tiles=1)
    path = tmp_path / "run.json.gz"
    save(core.program, path)
    plain = json.loads(gzip.decompress(path.read_bytes()))

    def edited(**changes):
        path.write_bytes(gzip.compress(json.dumps({**plain, **changes}).encode()))
        caught = raises(ValueError, r"^run.json.gz .*", load, path)
        assert "\n" not in str(caught)
        return str(caught)

    assert "version 1" in edited(version=1)
    assert "not a program saved" in edited(what="something else")
    assert "unknown chip" in edited(chip="Abacus")
    edited(instructions=[["launch_rocket", *plain["instructions"][0][1:]]])
    edited(instructions=[plain["instructions"][0][:-1]])
    edited(allocations=plain["allocations"][:2])
    edited(geometry=[])
    edited(loops=[[0, 1, -3, 0, 1]])
    edited(outputs=[10**9])
    path.write_bytes(gzip.compress(b"[" * 100_000))
    raises(ValueError, "cannot be read", load, path)
