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

_PROFILER, _EXPLORER = "neuron-profile", "neuron-explorer"
#: Each output format, and the file it goes to, unless named; "" where it is printed.
_FORMATS = {"json": "ntff.json", "perfetto": "ntff.pftrace", "summary-json": "", "summary-text": ""}
_NO_HOST = "only kernels are timed here, and no run of AWS's runtime leaves a system profile"
_WITHOUT = {"inspect": _NO_HOST, "analyze": "nki.run(...).advice is what there is"}


class _Wrong(ValueError):
    """Arguments that make no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _Wrong(message)


class _Without(argparse.Action):
    """A flag that does nothing here: refused with its reason, or accepted where there is none."""

    def __call__(self, parser, namespace, values, option_string=None):
        if self.const:
            raise _Wrong(f"{option_string} is not here: {self.const}")


def main(argv=None, name: str = _PROFILER) -> int:
    """Run the command by itself.

    Parameters
    ----------
    argv : list of str, optional
        Those of the process by default.
    name : str
        What it is called.

    Returns
    -------
    int
        0 if all went well, else 1.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(name)
    try:
        if arguments and arguments[0] in _WITHOUT:
            raise _Wrong(f"{arguments[0]} is not here: {_WITHOUT[arguments[0]]}")
        options = parser.parse_args(arguments)
        return options.run(options)
    except SystemExit as stop:  # --help, --version
        return int(stop.code or 0)
    except (OSError, ValueError) as wrong:
        print(f"{name}: {sentence_of(wrong)}", file=sys.stderr)
    return 1


def explorer(argv=None) -> int:
    """Run the command as ``neuron-explorer``, which takes the same arguments."""
    return main(argv, _EXPLORER)


# -- arguments ------------------------------------------------------------------------------------


def _parser(name):
    parser = _Parser(prog=name, allow_abbrev=False, description="Profile kernels of the emulated "
                     "chip: times are predicted, not measured.")  # fmt: skip
    version = f"{name} of trainium_edu {trainium_edu.__version__}"
    parser.add_argument("-v", "--version", action="version", version=version)
    commands = parser.add_subparsers(
        dest="command", metavar="{capture,view}", required=True, parser_class=_Parser
    )
    capture = commands.add_parser("capture", allow_abbrev=False, help="time a .neff")
    view = commands.add_parser("view", allow_abbrev=False, help="show what was captured")
    for command, run in ((capture, _capture), (view, _view)):
        add(command, f"{_PROFILER} {command.prog.split()[-1]}")
        command.set_defaults(run=run)
    each = {"": parser, "capture": capture, "view": view}
    for row in WORDS_OF["flags"]:
        for flag in row["flags"]:
            each[row["command"]].add_argument(
                *flag.rstrip("=").split(), action=_Without, const=row.get("reason"),
                nargs=None if flag.endswith("=") else 0, help=argparse.SUPPRESS,
            )  # fmt: skip
    return parser


def count(text: str) -> int:
    """Return the number of executions that an argument states."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count, such as 2")
    return int(text)


# -- capture --------------------------------------------------------------------------------------


def _capture(options) -> int:
    if options.capture_type == "systrace":
        raise _Wrong(f"--capture-type systrace is not here: {_NO_HOST}")
    _check_inputs(options.inputs)
    if options.disable_profile:
        run_io.read_neff(options.neff)
        return 0
    written = neuron_profile.capture(options.neff, options.session_file,
                                     executions=options.num_exec or 1,
                                     every=options.profile_nth_exec)  # fmt: skip
    for path in written:
        print(f"profile saved to {path}")
    return 0


def _check_inputs(inputs):
    if len(inputs) % 2:
        raise _Wrong(f"inputs are pairs of a name and a file, and {inputs[-1]!r} stands alone")
    for path in inputs[1::2]:
        if not Path(path).is_file():
            raise _Wrong(f"there is no input file {path}")


# -- view -----------------------------------------------------------------------------------------


def _view(options) -> int:
    if options.terminology:
        print(as_text(dict(sorted(TERMS.items()))))
        return 0
    shown = options.output_format
    _check(shown, options.db_bucket)
    runs = _runs(options)
    print("emulated by trainium_edu: times are predicted, not measured", file=sys.stderr)
    if _FORMATS[shown] and len(runs) > 1:
        raise _Wrong(f"{shown} is written of one profile at a time; name it with -s")
    text, path = _written(shown, runs), options.output_file or _FORMATS[shown]
    if path:
        files.write(path, f"{text}\n")
    if not path or _FORMATS[shown]:
        print(f"{shown} saved to {path}" if path else text)
    if shown == "perfetto":
        print("open it at https://ui.perfetto.dev", file=sys.stderr)
    return 0


def _check(shown, name):
    """Refuse an output format that is not here, and a name that a profile cannot have."""
    if shown in WORDS_OF["formats"]:
        raise _Wrong(f"--output-format {shown} is not here: {WORDS_OF['formats'][shown]}")
    if shown not in _FORMATS:
        raise _Wrong(f"no output format {shown!r}; there are {', '.join(_FORMATS)}")
    if name is not None and not re.fullmatch(r"[\w.-]*\w[\w.-]*", name):
        raise _Wrong(f"{name!r} cannot be a profile's name; use letters, digits, -, _ and .")


def _runs(options) -> dict:
    """Return the runs to show by their names."""
    if options.session_dir:
        found = neuron_profile.read_folder(options.session_dir, options.neff_path)
    elif options.neff_path and options.session_file:
        one = neuron_profile.read(options.neff_path, options.session_file)
        found = {options.db_bucket or f"n_{one[1]}": one}
    else:
        raise _Wrong(sentence("neuron_profile.no_files"))
    for name, (run, _, note) in found.items():
        several = sentence("neuron_profile.several", name=name, count=len(run.programs))
        for said in filter(None, (note, several * (len(run.programs) > 1))):
            print(said, file=sys.stderr)
    return {name: run for name, (run, *_) in found.items()}


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
