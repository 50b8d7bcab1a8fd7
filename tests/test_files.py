"""Judges: the bytes on the disk after a process was killed, or failed, at every stage."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import raises
from tests.texts import text_beside
from trainium_edu import files

KILLED = text_beside(__file__, "killed_while_writing.py.txt")


@pytest.mark.parametrize("stage", ["opened", "half", "written", "synced", "renamed", "ended"])
def test_a_kill_at_any_stage_leaves_the_old_file_or_the_new_one(tmp_path, stage):
    target = tmp_path / "kept.bin"
    target.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, target, stage], timeout=60)
    assert done.returncode == 9, f"stage {stage} was not reached"
    assert target.read_bytes() == (b"new" * 100_100 if stage == "ended" else b"old")


@pytest.mark.parametrize("problem", [KeyboardInterrupt, OSError])
def test_after_an_error_the_old_file_stands_alone(tmp_path, problem):
    target = tmp_path / "kept.txt"
    files.write(target, "old")

    def fails():
        with files.replacing(target) as file:
            file.write(b"ne")
            raise problem

    raises(problem, "", fails)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_an_interrupted_write_that_ends_late_harms_no_other(tmp_path):
    """Ctrl-C before ``__exit__`` begins: what was open ends with the traceback that holds it."""
    target = tmp_path / "kept.txt"
    interrupted = files.replacing(target)
    interrupted.__enter__().write(b"half")
    with files.replacing(target) as file:
        del interrupted
        file.write(b"whole")
    assert target.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_text_is_utf8_and_a_missing_folder_is_named(tmp_path):
    files.write(str(tmp_path / "a.txt"), "±\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc2\xb1\n"
    raises(FileNotFoundError, "there is no folder", files.write, tmp_path / "nowhere" / "a.txt", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device is Linux's (full(4))")
def test_full_disk_names_the_file():
    raises(OSError, r"No space left on device: '/dev/full'", files.write, "/dev/full", "text")


def test_errors_name_the_file_and_not_its_temporary_part(tmp_path):
    """A limit of 100 bytes on files (setrlimit(2)): EFBIG, without a name from the system."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"File too large: '{tmp_path}/big.bin'"):
            files.write(tmp_path / "big.bin", bytes(101))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match=r"^own words$"), files.replacing(tmp_path / "big.bin"):
        raise OSError("own words")


def test_every_file_of_the_package_is_written_through_here():
    """Journals are appended to, line by line; everything else is replaced."""
    direct = re.compile(r"\.write_(text|bytes)\(|open\([^)]*[\"'][wx]b?\+?[\"']")
    package = Path(files.__file__).parent
    found = [
        f"{path.relative_to(package)}: {line.strip()}"
        for path in package.rglob("*.py")
        if path.name != "files.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if direct.search(line)
    ]
    assert found == []


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are POSIX's")
def test_links_modes_and_pipes_stay_what_they_are(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    files.write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    files.write(os.devnull, "gone")
    assert not os.path.isfile(os.devnull)
