"""What ``NEURON_CC_FLAGS`` says: to the compiler, and to the cache around it.

The flags of the cache (``--cache_dir``, ``--no_cache``, ``--retry_failed_compilation``,
``--log_level``) never reach the compiler.  The others do, and the cache's key has a hash of them,
as they are written and in their order.  AWS hashes the same list, so the hashes of published caches
come out here too.  A flag that this emulator has no use for is accepted as documented, and
counts in the hash.

The default of ``--auto-cast`` changed from ``matmult`` to ``none`` with Neuron 2.27, and one guide
still says both (``specs.conflicts().about("auto-cast")``); it is ``none`` here.

References: `aws-compiler-cli`, `aws-caching`.
"""

import json
import shlex
from dataclasses import dataclass, fields
from hashlib import md5
from typing import Any

from trainium_edu.names import near
from trainium_edu.specs import SOFTWARE
from trainium_edu.specs.instances import TARGETS
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.refusals import sentence

__all__ = ["Flags", "parse"]

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_ANY = ("",)  # whatever is written

#: of the cache: flag -> what it takes; () for a switch
CACHE_FLAGS: dict[str, tuple[str, ...]] = {
    "--cache_dir": _ANY, "--no_cache": (), "--retry_failed_compilation": (), "--log_level": _LEVELS,
}  # fmt: skip
#: of the compiler; only the first four change what is computed, or how, here
COMPILER_FLAGS: dict[str, tuple[str, ...]] = {
    "--auto-cast": ("none", "matmult", "all"),
    "--auto-cast-type": ("bf16", "fp16", "tf32", "fp8_e4m3"),
    "--optlevel": ("1", "2", "3"), "--target": tuple(TARGETS),
    "--model-type": ("generic", "transformer", "unet-inference", "cnn-training"),
    "--distribution-strategy": ("generic", "llm-training", "NEMO"), "--framework": ("XLA",),
    "--verbose": ("info", "warning", "error", "critical", "debug"),
} | dict.fromkeys(
    ("--enable-mixed-precision-accumulation", "--disable-mixed-precision-accumulation",
     "--enable-saturate-infinity", "--enable-fast-context-switch",
     "--enable-fast-loading-neuron-binaries", "--disable-dge"), ())  # fmt: skip
_FLAGS = CACHE_FLAGS | COMPILER_FLAGS


@dataclass(frozen=True, slots=True)
class Flags:
    """All that one ``NEURON_CC_FLAGS`` says."""

    program: tuple[str, ...] = ()  #: what reaches the compiler, word by word, as written
    auto_cast: str = SOFTWARE.auto_cast_default.value  #: none, matmult or all
    auto_cast_type: str = SOFTWARE.auto_cast_type_default.value  #: bf16, fp16, tf32 or fp8_e4m3
    optlevel: int = 2
    target: str | None = None  #: a chip's name, if the flags say one
    cache_dir: str | None = None
    no_cache: bool = False
    retry_failed_compilation: bool = False
    log_level: str = "INFO"

    @property
    def text(self) -> str:
        """The flags that reach the compiler, as a line that :func:`parse` reads."""
        return shlex.join(self.program)

    @property
    def json(self) -> str:
        """The text of a cache entry's ``compile_flags.json``; "" without flags."""
        return json.dumps(list(self.program)) if self.program else ""

    @property
    def hash(self) -> str:
        """The second half of a cache key: 8 hexadecimal digits, d41d8cd9 without flags."""
        return md5(self.json.encode(), usedforsecurity=False).hexdigest()[:8]


@checked
def parse(text: str, *, target: str | None = None) -> Flags:
    """Read flags as a shell would, ``--x=y`` and ``--x y`` alike; the rightmost of two wins.

    Parameters
    ----------
    text : str
        What ``NEURON_CC_FLAGS`` holds.
    target : str, optional
        The chip, for flags that name none: then ``--target=`` it joins what is hashed, as in
        the later releases of AWS's wrapper.

    Returns
    -------
    Flags

    Raises
    ------
    ValueError
        For a flag that AWS does not document, or a value that it does not take.

    Examples
    --------
    >>> parse("").hash, parse("--target=trn1 --no_cache").hash
    ('d41d8cd9', 'e30acd3a')
    >>> parse("--auto-cast all -O1").optlevel
    1
    """
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise ValueError(f"NEURON_CC_FLAGS is {text!r}, which ends in a quote: {problem}") from None
    program: list[str] = []
    flags: dict[str, str] = {}
    while words:
        taken = [words.pop(0)]
        name, has_value, value = _split(taken[0])
        values = _FLAGS.get(name)
        if values is None:
            raise ValueError(sentence("flags.undocumented", hint=near(name, _FLAGS), taken=taken))
        if not values and has_value:
            raise ValueError(f"NEURON_CC_FLAGS has {taken[0]!r}, but {name} is a switch: no value")
        if values and not has_value:
            if not words or words[0].startswith("--"):
                raise ValueError(f"NEURON_CC_FLAGS has {name} without a value; {_takes(values)}")
            taken.append(words.pop(0))
            value = taken[1]
        if values and (not value or (values is not _ANY and value not in values)):
            raise ValueError(
                f"NEURON_CC_FLAGS has {' '.join(taken)!r}; {name} {_takes(values)}"
                f"{near(value, values)}"
            )
        flags[name] = value
        if name in COMPILER_FLAGS:
            program += taken
    if target and "--target" not in flags:
        flags["--target"] = target
        program.append(f"--target={target}")
    chosen: dict[str, Any] = {f.name: value for f in fields(Flags) for name, value in flags.items()
                             if name[2:].replace("-", "_") == f.name}  # fmt: skip
    switches = {name: True for name, value in chosen.items() if not value}
    return Flags(tuple(program), **chosen | switches | {"optlevel": int(chosen.get("optlevel", 2))})


def _split(word) -> tuple[str, bool, str]:
    """Return a word's flag, whether it has a value, and the value."""
    if word.startswith("-O"):
        value = word[2:].removeprefix("=")
        return "--optlevel", bool(value), value
    name, equals, value = word.partition("=")
    return name, bool(equals), value


def _takes(values) -> str:
    return "takes a value" if values is _ANY else f"takes {', '.join(values)}"
