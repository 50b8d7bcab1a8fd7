"""Judges: closed forms of small kernels; published profiles (NKIBench, trn1.32xlarge) and AWS's
definitions of the keys (Neuron Explorer: Profile Schema Reference); zlib and zipfile for the files.
"""

import contextlib
import gzip
import json
import zipfile

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows, raises
from tests.nki.cases import new, stored
from tests.texts import table_beside
from trainium_edu.neuroncore import run_io
from trainium_edu.nki.published import KERNELS
from trainium_edu.tools import neuron_profile

PEAK = 128 * 128 * 2 * 2.8e9  # FLOP/s of BF16: 91.75 TFLOPS
HBM = 410e9  # bytes/s, half of the chip's 820 GB/s
START_AND_STOP = 18.5e-6  # s, the middle of 18 to 19 us


@nki.jit
def copy(x):
    return stored(nl.load(x), x.dtype)


@nki.jit
def product(stationary, moving):
    psum = nl.ndarray((stationary.shape[1], moving.shape[1]), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=psum, stationary=nl.load(stationary), moving=nl.load(moving))
    return stored(new(nisa.tensor_copy, psum.shape, src=psum))


@nki.jit
def turned(x):
    psum = nl.ndarray((x.shape[1], x.shape[0]), x.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=psum, data=nl.load(x), engine=nisa.tensor_engine)
    return stored(new(nisa.tensor_copy, psum.shape, dtype=x.dtype, src=psum))


def summed(kernel, *shapes, dtype=np.float32):
    run = nki.run(kernel, *(np.zeros(shape, dtype) for shape in shapes), values=False)
    return run, neuron_profile.summary(run)


@pytest.fixture(scope="module")
def copied():
    return summed(copy, (128, 1000))


@pytest.fixture
def pair(copied, tmp_path):
    run_io.write_neff(copied[0], tmp_path / "file.neff")
    run_io.write_trace(copied[0], tmp_path / "profile.ntff")
    return tmp_path / "file.neff", tmp_path / "profile.ntff"


def test_a_copy_is_two_transfers_of_its_bytes(copied):
    run, found = copied
    size = 128 * 1000 * 4
    assert found["hbm_read_bytes"] == found["hbm_write_bytes"] == size
    assert found["sbuf_read_bytes"] == found["sbuf_write_bytes"] == size
    assert (found["dma_transfer_count"], found["dma_transfer_total_bytes"]) == (2, 2 * size)
    assert found["dma_transfer_average_bytes"] == size
    assert found["inputs_outputs_weights_size_bytes"] == 2 * size
    assert found["psum_read_bytes"] == found["psum_write_bytes"] == found["hardware_flops"] == 0
    assert found["spill_save_bytes"] == found["spill_reload_bytes"] == 0
    assert found["total_time"] == pytest.approx(run.timeline.makespan_ns * 1e-9 + START_AND_STOP)
    assert found["mbu_estimated_percent"] == pytest.approx(2 * size / HBM / found["total_time"])
    assert found["dma_active_time_percent"] == pytest.approx(
        found["dma_active_time"] / found["total_time"]
    )
    assert found["neuroncore_cycle_count"] == round(found["total_time"] * 1.4e9)
    assert found["instance_type"] == "trn1.2xlarge"


@for_rows("dtype, passes", ("bfloat16", 1), (np.float32, 2))
def test_flops_of_a_product_and_its_share_of_the_peak(dtype, passes):
    import ml_dtypes

    dtype = getattr(ml_dtypes, dtype) if isinstance(dtype, str) else dtype
    _, found = summed(product, (128, 64), (128, 512), dtype=dtype)
    flops, width = 2 * 128 * 64 * 512, np.dtype(dtype).itemsize
    assert (found["model_flops"], found["hardware_flops"]) == (flops, flops * passes)
    assert found["transpose_flops"] == 0
    share = flops * passes / PEAK / found["total_time"]
    assert found["mfu_estimated_percent"] == pytest.approx(share, rel=1e-6)
    assert found["hfu_estimated_percent"] == found["mfu_estimated_percent"]
    moved = 128 * (64 + 512) * width + 64 * 512 * 4
    assert found["mm_arithmetic_intensity"] == pytest.approx(flops * passes / moved)
    assert found["peak_flops_bandwidth_ratio"] == pytest.approx(PEAK / HBM)
    assert found["psum_write_bytes"] == 512 * 4 * passes  # of one partition, as the tool counts
    assert found["psum_read_bytes"] == 512 * 4
    assert found["sbuf_read_bytes"] == 64 * 512 * 4 + (64 + 512) * width * passes
    assert found["matmul_instruction_count"] == found["tensor_engine_instruction_count"] == 1


def test_a_transpose_of_the_tensor_engine_counts_as_hardware_and_not_as_model_flops():
    _, found = summed(turned, (128, 64))
    assert found["transpose_flops"] == found["hardware_flops"] == 2 * 128 * 64 * 128 * 2
    assert found["model_flops"] == found["mfu_estimated_percent"] == 0
    assert found["hfu_estimated_percent"] > 0


SILU, SPILLED, BMM, ADAMW = table_beside(__file__, "nkibench.toml").values()


@for_rows(
    "kernel, sizes, published",
    ("silu", (4096, 7168), SILU),
    ("bmm", (16, 4096, 64, 4096), {key: n - SPILLED.get(key, 0) for key, n in BMM.items()}),
    ("adamw", (10944, 2048), ADAMW),
)
def test_bytes_and_flops_are_those_of_published_profiles(kernel, sizes, published):
    made, arguments = KERNELS[kernel](*sizes)
    found = neuron_profile.summary(nki.run(made, *arguments, values=False))
    found["on_chip_write_bytes"] = found["sbuf_write_bytes"] + found["psum_write_bytes"]
    assert {key: found[key] for key in published} == published


def test_one_transfer_for_each_load_and_store():
    # who took a public course reports dma_transfer_count 3 and 6 for these two widths of tiles
    counts = []
    for width in (2000, 1000):
        made, arguments = KERNELS["add"](256_000, 128, width)
        run = nki.run(made, *arguments, values=False)
        counts.append(neuron_profile.summary(run)["dma_transfer_count"])
    assert counts == [3, 6]


def test_every_key_is_explained_and_they_stand_in_alphabetical_order(copied):
    _, found = copied
    assert (set(found), list(found)) == (set(neuron_profile.TERMS), sorted(found))
    lines = neuron_profile.as_text(found).splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[k, str(v)] for k, v in found.items()]


def test_engine_times_are_those_of_the_timeline():
    run, found = summed(product, (128, 128), (128, 512))
    for engine in ("tensor", "vector", "scalar", "gpsimd"):
        active = found[f"{engine}_engine_active_time"]
        assert active == pytest.approx(run.timeline.busy_ns(engine) * 1e-9)
        share = found[f"{engine}_engine_active_time_percent"]
        assert share == pytest.approx(active / found["total_time"], rel=1e-6)
    assert found["tensor_engine_active_time"] <= found["total_active_time"]
    assert found["total_active_time"] <= found["total_exec_time"] < found["total_time"]


def test_events_are_all_instructions_and_transfers_of_the_run(copied):
    run, found = copied
    told = neuron_profile.events(run)
    assert told["summary"] == [found]
    assert len(told["instruction"]) + len(told["dma"]) == run.timeline.rows
    assert sum(one["bytes"] for one in told["dma"]) == found["dma_transfer_total_bytes"]
    ends = [one["timestamp"] + one["duration"] for one in told["instruction"] + told["dma"]]
    assert max(ends) == pytest.approx(run.timeline.makespan_ns, abs=1)
    json.dumps(told, allow_nan=False)


# -- files ----------------------------------------------------------------------------------------


def test_capture_times_the_program_again_and_view_reads_the_pair(pair, copied):
    neff, session = pair
    [written] = neuron_profile.capture(neff, session)
    assert written == session
    run, digest, note = neuron_profile.read(session, [neff])
    assert run.timeline.makespan_ns == copied[0].timeline.makespan_ns
    assert neuron_profile.summary(run) == copied[1]
    assert (len(digest), note) == (40, "")


@pytest.mark.parametrize(
    ("executions", "every", "names"),
    [(1, 1, ["p.ntff"]), (1, 2, ["p_exec_2.ntff"]), (4, 2, ["p_exec_2.ntff", "p_exec_4.ntff"]),
     (3, 0, [])],
)  # fmt: skip
def test_every_nth_execution_leaves_a_file(pair, tmp_path, executions, every, names):
    asked = tmp_path / "p.ntff"
    made = neuron_profile.capture(pair[0], asked, executions=executions, every=every)
    assert [path.name for path in made] == names
    assert all(path.is_file() for path in made)


def test_a_pair_of_two_programs_is_refused(pair, tmp_path):
    other, _ = summed(copy, (128, 999))
    run_io.write_neff(other, tmp_path / "other.neff")
    with pytest.raises(ValueError, match=r"profile\.ntff was captured from another program"):
        neuron_profile.read(pair[1], [tmp_path / "other.neff"])


def test_one_of_several_programs_is_the_captured_one(pair, tmp_path):
    other, _ = summed(copy, (128, 999))
    neffs = [tmp_path / "other.neff", pair[0]]
    run_io.write_neff(other, neffs[0])
    assert neuron_profile.read(pair[1], neffs)[2] == ""
    refused = raises(ValueError, "than other.neff holds", neuron_profile.read, pair[1], neffs[:1])
    assert str(refused).endswith("name its own with -n")
    raises(ValueError, "than any .neff beside it holds", neuron_profile.read, pair[1], [])


def repacked(path, **changed):
    """Write a file again with some entries changed."""
    with zipfile.ZipFile(path) as file:
        held = {name: file.read(name) for name in file.namelist()}
    held |= {name.replace("__", "."): data for name, data in changed.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in held.items():
            if data is not None:
                file.writestr(name, data)


def head_of(path, **changed):
    with zipfile.ZipFile(path) as file:
        return json.dumps(json.loads(file.read("run.json")) | changed)


def test_another_version_of_the_model_is_said(pair):
    repacked(pair[1], run__json=head_of(pair[1], makespans_ns=[1234.0]))
    run, _, note = neuron_profile.read(pair[1], [pair[0]])
    assert note.startswith("profile.ntff was captured with another version of the model: 1.234 us")
    assert f"{run.timeline.makespan_ns / 1e3:.3f} us now" in note


def one_sentence(path, read):
    refused = raises(ValueError, f"{path.name} cannot be read as a", read, path)
    assert "\n" not in str(refused)
    return str(refused)


def test_every_truncated_file_is_refused(pair):
    for path, read in zip(pair, (run_io.read_neff, run_io.read_trace), strict=True):
        whole = path.read_bytes()
        for size in range(0, len(whole), 97):
            path.write_bytes(whole[:size])
            one_sentence(path, read)


def test_edited_bytes_are_refused_or_change_nothing(pair, copied):
    whole = pair[1].read_bytes()
    makespan = copied[0].timeline.makespan_ns
    for at in range(0, len(whole), 41):
        pair[1].write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        held = None
        with contextlib.suppress(ValueError):
            held = run_io.read_trace(pair[1])
        assert held is None or held.makespans_ns == (makespan,)


def test_foreign_files_and_other_versions_are_refused(pair, tmp_path):
    neff, session = pair
    assert "it is a profile (.ntff)" in one_sentence(session, run_io.read_neff)
    assert "it is a compiled kernel (.neff)" in one_sentence(neff, run_io.read_trace)
    foreign = tmp_path / "aws.neff"
    foreign.write_bytes(b"\2\0\0\0" + b"\0" * 1020 + gzip.compress(b"a tape archive"))
    assert "not a zip file" in one_sentence(foreign, run_io.read_neff)
    repacked(neff, run__json=head_of(neff, version=99))
    assert "version is 99, and this trainium_edu reads version 1" in one_sentence(
        neff, run_io.read_neff
    )
    repacked(neff, run__json=head_of(neff, version=1, programs=10**12))
    one_sentence(neff, run_io.read_neff)
    repacked(session, run__json=head_of(session, makespans_ns=["soon"]))
    one_sentence(session, run_io.read_trace)
    with pytest.raises(FileNotFoundError, match=r"there is no compiled kernel \(.neff\) no.neff"):
        run_io.read_neff(tmp_path / "no.neff")


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(pair):
    neff, session = pair
    member = gzip.compress(bytes(2**24), 9)  # 16 MiB of zeros; 64 of them state the last one's size
    repacked(neff, **{"program_0.json.gz": member * 64})
    assert "its size differs from the one that it states" in one_sentence(neff, run_io.read_neff)
    data = session.read_bytes()
    place = data.rindex(b"PK\1\2") + 24  # the last entry's size in the directory
    session.write_bytes(data[:place] + (2**31).to_bytes(4, "little") + data[place + 4 :])
    assert "unpacks to 2048 MiB" in one_sentence(session, run_io.read_trace)
