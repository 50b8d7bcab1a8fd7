"""The compile cache on the disk.

Judges: the names that `aws-caching` and `aws-parallel-compile` print, the bytes on the disk after a
process was killed at every stage, real pairs of processes, and hashlib.
"""

import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.for_each import raises
from tests.texts import text_beside
from trainium_edu.xla import cache as module
from trainium_edu.xla.cache import CacheError, CompileCache, compiler_version, open_cache

EMPTY = hashlib.md5(b"").hexdigest()[:8]
PROGRAM = bytes(range(256)) * 400


@pytest.fixture
def said():
    return []


@pytest.fixture
def cache(tmp_path, said):
    return CompileCache(
        tmp_path / "cache", "2.8.0.25+a3ad0f342", log=lambda level, text: said.append((level, text))
    )


def warnings(said):
    return [text for level, text in said if level == "WARNING"]


def again(cache, said, **options):
    """Return the cache as another process opens it."""
    return CompileCache(cache.root, cache.version, log=lambda *line: said.append(line), **options)


def script(name, *arguments, **options):
    """Start Python on a text, which has `cache`; its arguments follow the folder."""
    text = text_beside(__file__, "has_a_cache.py.txt") + text_beside(__file__, f"{name}.py.txt")
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


# names


def test_an_entry_stands_where_the_documentation_prints_it(cache):
    cache.get_or_compile(198775565831884870, EMPTY, lambda: PROGRAM, graph="{}")
    printed = "neuronxcc-2.8.0.25+a3ad0f342/MODULE_198775565831884870+d41d8cd9/model.neff"
    folder = (cache.root / printed).parent
    assert sorted(os.listdir(folder)) == ["model.done", "model.hlo.pb", "model.neff"]
    assert (folder / "model.done").read_bytes() == b""


def test_flags_stand_beside_the_program_they_were_for(cache):
    words = '["--target=trn1"]'
    digest = hashlib.md5(words.encode()).hexdigest()[:8]
    cache.get_or_compile(1, digest, lambda: PROGRAM, graph="graph", flags_json=words)
    (entry,) = cache.entries()
    assert (entry.folder / "compile_flags.json").read_text() == words
    assert cache.graph_of(entry) == ("graph", "--target=trn1")


def test_the_version_ends_in_a_hash_of_what_compiles():
    assert re.fullmatch(r"[\d.]+(rc\d+)?\+[0-9a-f]{8}", compiler_version())
    assert CompileCache("anywhere").folder.name == f"neuronxcc-{compiler_version()}"


def test_versions_graphs_and_flags_keep_apart(cache, tmp_path):
    cache.get_or_compile(1, EMPTY, lambda: b"one")
    assert cache.get(2, EMPTY) is None
    assert cache.get(1, "e30acd3a") is None
    assert CompileCache(cache.root, "2.9").get(1, EMPTY) is None
    assert cache.get(1, EMPTY) == b"one"


# where


def test_the_folder_is_the_learners_own_unless_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "home"))
    assert open_cache().root == tmp_path / "home" / "neuron-compile-cache"
    url, named = str(tmp_path / "url"), str(tmp_path / "named")
    assert open_cache(None, url).root == tmp_path / "url"
    assert open_cache(named, url).root == tmp_path / "named"  # --cache_dir wins, as documented


def test_a_named_folder_that_cannot_be_one_is_an_error_the_default_one_a_line(
    tmp_path, monkeypatch, said
):
    (tmp_path / "neuron-compile-cache").write_text("a file where the folder should be")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    with pytest.raises(CacheError, match=r"cannot be used: .*; name another folder"):
        open_cache(str(tmp_path / "neuron-compile-cache"))
    assert open_cache(log=lambda *line: said.append(line)) is None
    ((level, text),) = said
    assert level == "WARNING"
    assert text.endswith("compiled graphs are kept in memory only")


def test_a_disk_that_takes_nothing_costs_no_program_and_is_said_once(cache, said):
    cache.folder.parent.mkdir(parents=True)
    cache.folder.write_text("a file where the folder should be")
    for number in range(3):
        assert cache.get_or_compile(number, EMPTY, lambda: b"made") == (b"made", False)
    assert cache.put_graph(9, EMPTY, "a graph") is False
    (text,) = warnings(said)
    assert "takes nothing more" in text
    assert "\n" not in text


@pytest.fixture
def open_folder():
    """Return a folder that every user may enter, as they may not enter pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_a_read_only_cache_is_read_and_left_alone(open_folder):
    """Run without root's rights, where the test itself has them."""
    cache = CompileCache(open_folder / "cache", "1.0")
    cache.get_or_compile(1, EMPTY, lambda: b"kept")
    for path in (cache.root, *cache.root.rglob("*")):
        path.chmod(0o555)
    try:
        out, errors = script("reads_only", cache.root).communicate(timeout=60)
    finally:
        for path in (cache.root, *cache.root.rglob("*")):
            path.chmod(0o755)
    assert out.split("\n")[:2] == ["(b'made', False)"] * 2, errors
    assert errors.count("takes nothing more (Permission denied)") == 1
    assert not list(cache.root.rglob("MODULE_2*"))


# damage


def flip(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("at", [0, 40, 100, 5000, -1])
def test_a_flipped_bit_is_noticed_said_once_and_rebuilt(cache, said, at):
    cache.get_or_compile(1, EMPTY, lambda: PROGRAM)
    path = cache.path(1, EMPTY) / "model.neff"
    whole = path.read_bytes()
    path.write_bytes(flip(whole, at % len(whole)))
    assert cache.get(1, EMPTY) is None
    assert [entry.status for entry in cache.entries()] == ["remaining"]
    assert cache.get_or_compile(1, EMPTY, lambda: PROGRAM) == (PROGRAM, False)
    (text,) = warnings(said)
    assert "model.neff is damaged: its checksum is wrong; compiling it again" in text
    assert path.read_bytes() == whole
    assert cache.get(1, EMPTY) == PROGRAM


@pytest.mark.parametrize("length", [0, 1, 60, 87, 1000, len(PROGRAM)])
def test_a_truncated_entry_is_noticed_and_rebuilt(cache, said, length):
    cache.get_or_compile(1, EMPTY, lambda: PROGRAM)
    path = cache.path(1, EMPTY) / "model.neff"
    path.write_bytes(path.read_bytes()[:length])
    assert cache.get_or_compile(1, EMPTY, lambda: PROGRAM) == (PROGRAM, False)
    assert len(warnings(said)) == 1


def test_a_damaged_graph_or_its_flags_are_noticed(cache, said):
    cache.put_graph(1, EMPTY, "a graph")
    (entry,) = cache.entries()
    (entry.folder / "compile_flags.json").write_text('["--auto-cast=all"]')
    assert cache.graph_of(entry) is None
    (entry.folder / "compile_flags.json").unlink()
    assert cache.graph_of(entry) == ("a graph", "")
    entry.graph.write_bytes(flip(entry.graph.read_bytes(), -1 % 90))
    assert cache.graph_of(entry) is None
    assert len(warnings(said)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_kill_while_an_entry_is_written_leaves_nothing_that_is_taken_for_a_program(
    tmp_path, said, stage
):
    """Killed before graph, program and mark are in place."""
    writer = script("killed_at_a_stage", tmp_path, stage)
    writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL
    cache = CompileCache(tmp_path, "1.0", log=lambda *line: said.append(line))
    assert list(cache.folder.glob("*/.*.part"))
    assert cache.get(1, EMPTY) is None
    assert cache.get_or_compile(1, EMPTY, lambda: PROGRAM) == (PROGRAM, False)
    assert cache.get(1, EMPTY) == PROGRAM
    assert len(warnings(said)) == (stage == 3)  # program there, mark missing
    names = {"model.neff", "model.done"} | ({"model.hlo.pb"} if stage > 1 else set())
    assert set(os.listdir(cache.path(1, EMPTY))) == names


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_writer_killed_at_any_moment_leaves_whole_programs_only(tmp_path):
    for pause in (0.0, 0.01, 0.02, 0.05):
        writer = script("writes_always", tmp_path)
        writer.stdout.readline()
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=60)
        reader = CompileCache(tmp_path, "1.0", log=lambda *line: None)
        for number in range(7):
            found = reader.get(number, EMPTY)
            assert found is None or (len(found) % 50_000 == 0 and len(set(found)) < 11)
            assert reader.get_or_compile(number, EMPTY, lambda: b"7" * 50_000)[0]
        assert reader.clear_locks()[1] == 0


def test_ctrl_c_leaves_no_half_entry(cache, monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    raises(KeyboardInterrupt, "", cache.get_or_compile, 1, EMPTY, stopped)
    assert not cache.path(1, EMPTY).exists()
    write = module.files.write

    def stops_at(name):
        def write_some(path, content):
            if path.name == name:
                raise KeyboardInterrupt
            write(path, content)

        return write_some

    for name in ("model.neff", "model.done"):
        monkeypatch.setattr(module.files, "write", stops_at(name))
        raises(KeyboardInterrupt, "", cache.get_or_compile, 1, EMPTY, lambda: PROGRAM)
        assert not cache.path(1, EMPTY).exists()
    monkeypatch.undo()
    assert cache.get_or_compile(1, EMPTY, lambda: PROGRAM) == (PROGRAM, False)


# failures


def test_a_failed_compile_is_remembered_until_it_is_retried(cache, said):
    def fails():
        raise ValueError("no room in SBUF")

    raises(ValueError, r"^no room", cache.get_or_compile, 12486829708343293975, EMPTY, fails)
    documented = r"Got a cached failed neff at \S*/MODULE_12486829708343293975\+d41d8cd9/model.neff"
    for reader in (cache, again(cache, said)):
        with pytest.raises(
            module.CompileFailed, match=f"{documented}. Will skip .* ValueError: no room in SBUF"
        ):
            reader.get_or_compile(12486829708343293975, EMPTY, lambda: PROGRAM)
    assert [entry.status for entry in cache.entries()] == ["failed"]
    retrying = again(cache, said, retry_failed=True)
    assert retrying.get_or_compile(12486829708343293975, EMPTY, lambda: b"now") == (b"now", False)
    assert cache.get(12486829708343293975, EMPTY) == b"now"
    assert [entry.status for entry in cache.entries()] == ["done"]


# two processes


def test_two_processes_that_want_one_program_compile_it_once(tmp_path):
    both = [script("wants_one", tmp_path, stdin=subprocess.PIPE) for _ in range(2)]
    for one in both:
        one.stdout.readline()
    for one in both:
        one.stdin.write("go\n")
        one.stdin.flush()
    outs = [one.communicate(timeout=60)[0] for one in both]
    assert all("b'program'" in out for out in outs)
    assert sum(out.count("compiled") for out in outs) == 1
    assert os.listdir(tmp_path / "neuronxcc-1.0") == ["MODULE_1+d41d8cd9"]


def test_two_processes_that_write_the_same_entries_read_whole_programs(tmp_path):
    both = [script("writes_the_same", tmp_path) for _ in range(2)]
    for one in both:
        out, errors = one.communicate(timeout=120)
        assert out == "0\n", errors
        assert "damaged" not in errors


def test_who_waits_for_a_lock_can_be_stopped_and_takes_over_from_the_dead(tmp_path, said):
    holder = script("holds_a_lock", tmp_path)
    holder.stdout.readline()
    cache = CompileCache(tmp_path, "1.0", log=lambda *line: said.append(line))
    cache.put_graph(2, EMPTY, "another entry is free")
    (tmp_path / "neuronxcc-1.0" / "MODULE_1+d41d8cd9" / "model.hlo.pb").write_text("")
    assert [entry.status for entry in cache.entries()] == ["locked", "remaining"]
    assert cache.clear_locks() == (0, 1)  # a living process keeps its lock
    waiter = script("is_late", tmp_path)
    raises(subprocess.TimeoutExpired, "", waiter.communicate, timeout=0.7)
    holder.kill()
    holder.communicate(timeout=60)
    out, errors = waiter.communicate(timeout=60)
    assert out == "done\n", errors
    assert cache.get(1, EMPTY) == b"late"


@pytest.mark.slow
@pytest.mark.clock
def test_a_stale_lock_file_locks_nothing(cache):
    folder = cache.path(1, EMPTY)
    folder.mkdir(parents=True)
    (folder / "model.hlo.pb.lock").write_text("of a process that died long ago")
    started = time.monotonic()
    assert cache.get_or_compile(1, EMPTY, lambda: PROGRAM) == (PROGRAM, False)
    assert time.monotonic() - started < 5
    assert not (folder / "model.hlo.pb.lock").exists()


# maintenance


def test_clear_locks_deletes_what_dead_processes_left(cache):
    cache.get_or_compile(1, EMPTY, lambda: PROGRAM)
    folder = cache.path(1, EMPTY)
    (folder / "model.hlo.pb.lock").write_text("")
    (folder / ".model.neff.1.2.part").write_text("half")
    assert cache.clear_locks() == (1, 0)
    assert sorted(os.listdir(folder)) == ["model.done", "model.neff"]
    assert cache.get(1, EMPTY) == PROGRAM


def test_clean_deletes_entries_of_every_version_and_nothing_else(cache):
    cache.get_or_compile(1, EMPTY, lambda: PROGRAM)
    CompileCache(cache.root, "9").get_or_compile(1, EMPTY, lambda: PROGRAM)
    (cache.root / "thesis.txt").write_text("mine")
    (cache.root / "neuronxcc-mine").mkdir()
    (cache.root / "neuronxcc-mine" / "notes.txt").write_text("mine, too")
    assert cache.clean() == 2
    kept = sorted(str(p.relative_to(cache.root)) for p in cache.root.rglob("*"))
    assert kept == ["neuronxcc-mine", "neuronxcc-mine/notes.txt", "thesis.txt"]


def test_a_collected_graph_waits_to_be_compiled_and_is_announced_as_documented(cache, said):
    assert cache.put_graph(9219523464496887986, "d41d8cd9", "graph")
    documented = (
        r"Extracting graphs \(\S*/MODULE_9219523464496887986\+d41d8cd9/model\.hlo\.pb\)"
        r" for ahead-of-time parallel compilation\. No compilation was done\."
    )
    ((level, text),) = said
    assert level == "INFO"
    assert re.fullmatch(documented, text)
    assert [entry.status for entry in cache.entries()] == ["remaining"]
    assert cache.get(9219523464496887986, EMPTY) is None


def test_a_graph_that_was_collected_stays_unless_it_is_damaged(cache, said):
    path = cache.path(1, EMPTY) / "model.hlo.pb"
    cache.put_graph(1, EMPTY, "graph")
    whole, written = path.read_bytes(), path.stat().st_mtime_ns
    assert cache.put_graph(1, EMPTY, "graph")
    assert path.stat().st_mtime_ns == written
    path.write_bytes(whole[:-2])
    assert cache.put_graph(1, EMPTY, "graph")
    assert path.read_bytes() == whole
    assert len(warnings(said)) == 1


def test_lines_below_the_level_are_not_printed(capsys):
    log = module.print_lines("WARNING", "NCC_WRAPPER")
    log("INFO", "quiet")
    log("ERROR", "loud")
    assert capsys.readouterr().err == "ERROR ||NCC_WRAPPER||: loud\n"
