"""Compiler flags and their hash.

Judges: hashes that AWS's documentation and public caches of compiled graphs show (d41d8cd9 in the
logs of `aws-caching`; the others are directories beside their ``compile_flags.json``), hashlib, and
the command-line reference of the compiler (`aws-compiler-cli`).
"""

import json
from hashlib import md5

from tests.for_each import for_each, for_rows
from tests.texts import rows_beside
from trainium_edu.specs import SOFTWARE, conflicts
from trainium_edu.xla import flags

ROWS = rows_beside(__file__, "flags.toml")


@for_each("text, published", ROWS["hashes"])
def test_the_hash_is_the_one_in_published_caches(text, published):
    assert flags.parse(text).hash == published


def test_the_hash_is_of_what_compile_flags_json_holds():
    found = flags.parse("--auto-cast all -O1 --cache_dir=/tmp/x")
    assert json.loads(found.json) == ["--auto-cast", "all", "-O1"]
    assert found.hash == md5(found.json.encode()).hexdigest()[:8]


@for_each("text", ROWS["cache"])
def test_flags_of_the_cache_leave_the_program_alone(text):
    assert flags.parse(text).hash == "d41d8cd9"
    assert flags.parse(text).text == ""
    assert flags.parse(text).program == ()


def test_flags_of_the_cache_are_read():
    found = flags.parse("--no_cache --cache_dir /a --retry_failed_compilation --log_level=ERROR")
    assert (found.no_cache, found.cache_dir) == (True, "/a")
    assert (found.retry_failed_compilation, found.log_level) == (True, "ERROR")
    found = flags.parse("")
    assert (found.no_cache, found.cache_dir) == (False, None)
    assert (found.retry_failed_compilation, found.log_level) == (False, "INFO")


def test_spellings_mean_the_same_and_the_rightmost_flag_holds():
    one, other = flags.parse("--auto-cast=all"), flags.parse("  --auto-cast   all ")
    assert one.auto_cast == other.auto_cast == "all"
    assert one.hash != other.hash  # as AWS's, it is a hash of what was written
    assert flags.parse("--auto-cast=all --auto-cast=matmult").auto_cast == "matmult"
    assert flags.parse("", target="trn1") == flags.parse("--target=trn1")
    assert flags.parse("--target=inf2", target="trn1").target == "inf2"


@for_rows("text", "-O1", "-O 1", "-O=1", "--optlevel=1", "--optlevel 1")
def test_the_level_can_be_written_in_five_ways(text):
    assert flags.parse(text).optlevel == 1


def test_every_documented_cast_is_read():
    for mode in ("none", "matmult", "all"):
        for kind in ("bf16", "fp16", "tf32", "fp8_e4m3"):
            found = flags.parse(f"--auto-cast {mode} --auto-cast-type={kind}")
            assert (found.auto_cast, found.auto_cast_type) == (mode, kind)


def test_defaults_are_the_facts_and_the_conflict_is_kept():
    found = flags.parse("")
    assert found.auto_cast == SOFTWARE.auto_cast_default.value == "none"
    assert found.auto_cast_type == SOFTWARE.auto_cast_type_default.value == "bf16"
    (conflict,) = conflicts().about("--auto-cast")
    assert conflict.default.value == found.auto_cast
    assert "matmult" in [fact.value for fact in conflict.facts]


@for_each("text", ROWS["accepted"])
def test_what_scripts_write_is_accepted_and_reads_back(text):
    found = flags.parse(text)
    assert flags.parse(found.text).program == found.program
    assert flags.parse(found.text).hash == found.hash
