"""``neuron-profile capture`` and ``view`` (and ``neuron-explorer``'s): flags as the real tool's.

The real tool's guide states no exit codes; whatever is wrong is one sentence here, and 1, which is
what its parser of arguments (the guide shows its help) leaves to programs by custom.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import trainium_edu
from trainium_edu import files
from trainium_edu.cli.arguments import add
from trainium_edu.cli.refusals import sentence, sentence_of
from trainium_edu.neuroncore import run_io
from trainium_edu.tools import neuron_profile, perfetto
from trainium_edu.tools.neuron_profile import TERMS, WORDS_OF, as_text

__all__ = ["count", "explorer", "main"]

_PROFILER = "neuron-profile"
#: Each output format, and the file it goes to, unless named; "" where it is printed.
_FORMATS = {"json": "ntff.json", "perfetto": "ntff.pftrace", "summary-json": "", "summary-text": ""}


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(message)


def main(arguments: list[str], name: str = _PROFILER) -> int:
    """Run the command by itself.

    Parameters
    ----------
    arguments : list of str
    name : str
        What it is called.

    Returns
    -------
    int
        0 if all went well, else 1.
    """
    try:
        _check_present(*arguments[:1])
        options = _parser(name).parse_args(arguments)
        return options.run(options)
    except (OSError, ValueError) as wrong:
        print(f"{name}: {sentence_of(wrong)}", file=sys.stderr)
    return 1


def explorer(arguments: list[str]) -> int:
    """Run the command as ``neuron-explorer``, which takes the same arguments."""
    return main(arguments, "neuron-explorer")


def _check_present(word: str = "") -> None:
    """Refuse a command, or a flag with its value, that is not here."""
    if word in WORDS_OF["absent"]:
        raise ValueError(f"{word} is not here: {WORDS_OF['absent'][word]}")


# -- arguments ------------------------------------------------------------------------------------


def _parser(name):
    about = "Profile kernels of the emulated chip: times are predicted, not measured."
    parser = _Parser(prog=name, allow_abbrev=False, description=about)
    version = f"{name} of trainium_edu {trainium_edu.__version__}"
    parser.add_argument("-v", "--version", action="version", version=version)
    add(parser, _PROFILER)
    commands = parser.add_subparsers(dest="command", metavar="{capture,view}", required=True)
    for command, run in {"capture": _capture, "view": _view}.items():
        chosen = commands.add_parser(command, allow_abbrev=False, help=run.__doc__)
        add(chosen, f"{_PROFILER} {command}")
        chosen.set_defaults(run=run)
    return parser


def count(text: str) -> int:
    """Return the number of executions that an argument states."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count, such as 2")
    return int(text)


# -- capture --------------------------------------------------------------------------------------


def _capture(options) -> int:
    """Time a .neff."""
    _check_present(f"--capture-type {options.capture_type}")
    _check_inputs(options.inputs)
    if options.disable_profile:
        run_io.read_neff(options.neff)
        return 0
    often = {"executions": options.num_exec or 1, "every": options.profile_nth_exec}
    for path in neuron_profile.capture(options.neff, options.session_file, **often):
        print(f"profile saved to {path}")
    return 0


def _check_inputs(inputs):
    if len(inputs) % 2:
        raise ValueError(f"inputs are pairs of a name and a file, and {inputs[-1]!r} stands alone")
    for path in inputs[1::2]:
        if not Path(path).is_file():
            raise ValueError(f"there is no input file {path}")


# -- view -----------------------------------------------------------------------------------------


def _view(options) -> int:
    """Show what was captured."""
    if options.terminology:
        print(as_text(dict(sorted(TERMS.items()))))
        return 0
    shown, name = options.output_format, options.db_bucket
    _check_present(f"--output-format {shown}")
    if shown not in _FORMATS:
        raise ValueError(f"no output format {shown!r}; there are {', '.join(_FORMATS)}")
    if name is not None and not re.fullmatch(r"[\w.-]*\w[\w.-]*", name):
        raise ValueError(f"{name!r} cannot be a profile's name; use letters, digits, -, _ and .")
    runs = _runs(options)
    print("emulated by trainium_edu: times are predicted, not measured", file=sys.stderr)
    if _FORMATS[shown] and len(runs) > 1:
        raise ValueError(f"{shown} is written of one profile at a time; name it with -s")
    text, path = _written(shown, runs), options.output_file or _FORMATS[shown]
    if path:
        files.write(path, f"{text}\n")
    if not path or _FORMATS[shown]:
        print(f"{shown} saved to {path}" if path else text)
    if shown == "perfetto":
        print("open it at https://ui.perfetto.dev", file=sys.stderr)
    return 0


def _runs(options) -> dict:
    """Return the runs to show by their names."""
    sessions = [options.session_file] if options.session_file else []
    neffs = [options.neff_path] if options.neff_path else []
    if folder := options.session_dir and Path(options.session_dir):
        sessions, neffs = sorted(folder.glob("*.ntff")), neffs or [*folder.glob("*.neff")]
        if not sessions:
            raise ValueError(f"there is no .ntff in {folder}")
    elif not (sessions and neffs):
        raise ValueError(sentence("neuron_profile.no_files"))
    runs = {}
    for session in sessions:
        run, digest, note = neuron_profile.read(session, neffs)
        name = Path(session).stem if folder else options.db_bucket or f"n_{digest}"
        several = sentence("neuron_profile.several", name=name, count=len(run.programs))
        for said in filter(None, (note, several * (len(run.programs) > 1))):
            print(said, file=sys.stderr)
        runs[name] = run
    return runs


def _written(shown, runs) -> str:
    """Return runs in an output format."""
    if shown == "perfetto":
        trace = map(perfetto.to_json, runs.values())
        return json.dumps(*trace, allow_nan=False, separators=(",", ":"))
    if shown == "json":
        return json.dumps(*map(neuron_profile.events, runs.values()), allow_nan=False, indent=1)
    found = {name: neuron_profile.summary(run) for name, run in runs.items()}
    if shown == "summary-json":
        return json.dumps(found, indent=4, allow_nan=False)
    heads = {name: f"{name}\n" if len(runs) > 1 else "" for name in runs}
    return "\n\n".join(head + as_text(found[k]) for k, head in heads.items())
