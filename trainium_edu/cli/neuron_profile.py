"""``neuron-profile capture`` and ``view`` (and ``neuron-explorer``'s): flags as the real tool's.

The real tool's guide states no exit codes; whatever is wrong is one sentence here, and 1, which is
what its parser of arguments (the guide shows its help) leaves to programs by custom.
"""

import argparse
import json
import sys
from pathlib import Path

__all__ = ["explorer", "main"]

_PROFILER, _EXPLORER = "neuron-profile", "neuron-explorer"
_FORMATS = ("json", "perfetto", "summary-json", "summary-text")
_FILES = {"json": "ntff.json", "perfetto": "ntff.pftrace"}
#: What the real tool has and this one cannot do: flag, and why.
_NO_VALUES = "a .ntff here has times and no values; a kernel's outputs are what its call returns"
_NO_HOST = "only kernels are timed here, and no run of AWS's runtime leaves a system profile"
_NO_DATABASE = "profiles are files here and not kept in a database"
_NOT_HERE = {
    "capture": {
        "--save-output": _NO_VALUES, "--save-output-npy": _NO_VALUES,
        "--check-output-determinism": "the emulator always gives the same outputs",
        "--systrace-get-event-types": _NO_HOST, "--systrace-event-filter": _NO_HOST,
    },
    "view": {
        "--ingest-only": f"{_NO_DATABASE}; --output-format perfetto writes the timeline to one",
        "--data-path": _NO_DATABASE, "--upload": _NO_DATABASE,
        "--enable-memory-tracker": "the lessons' timeline explorer shows SBUF and PSUM over time",
        "--ignore-device-profile": _NO_HOST, "--system-trace-primary-group": _NO_HOST,
        "--system-trace-secondary-group": _NO_HOST, "--system-trace-filter-event-type": _NO_HOST,
        "--system-trace-filter-neuron-core": _NO_HOST,
        "--system-trace-filter-instance-id": _NO_HOST,
    },
}  # fmt: skip
_WITHOUT = {"inspect": _NO_HOST, "analyze": "nki.run(...).advice is what there is"}


class _Wrong(ValueError):
    """Arguments that make no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _Wrong(message)


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
        for command in _WITHOUT:
            if arguments[:1] == [command]:
                raise _Wrong(f"{command} is not here: {_WITHOUT[command]}")
        if "--show-profile-schema" in arguments:
            raise _Wrong("--show-profile-schema is not here: view --terminology names every key")
        options = parser.parse_args(arguments)
        for flag, why in _NOT_HERE.get(options.command, {}).items():
            if getattr(options, flag[2:].replace("-", "_"), None):
                raise _Wrong(f"{flag} is not here: {why}")
        return options.run(options) or 0
    except SystemExit as stop:  # --help, --version
        return int(stop.code or 0)
    except _Wrong as wrong:
        print(f"{name}: {wrong}", file=sys.stderr)
    except OSError as wrong:
        said = f"{wrong.filename}: {wrong.strerror}" if wrong.strerror else wrong
        print(f"{name}: {said}", file=sys.stderr)
    except ValueError as wrong:
        print(f"{name}: {wrong}", file=sys.stderr)
    return 1


def explorer(argv=None) -> int:
    """Run the command as ``neuron-explorer``, which takes the same arguments."""
    return main(argv, _EXPLORER)


# -- arguments ------------------------------------------------------------------------------------


def _parser(name):
    import trainium_edu

    parser = _Parser(prog=name, allow_abbrev=False, description="Profile kernels of the emulated "
                     "chip: times are predicted, not measured.")  # fmt: skip
    version = f"{name} of trainium_edu {trainium_edu.__version__}"
    parser.add_argument("-v", "--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="{capture,view}", required=True,
                                     parser_class=_Parser)  # fmt: skip
    capture = commands.add_parser("capture", allow_abbrev=False, help="time a .neff")
    _add_capture(capture.add_argument)
    capture.set_defaults(run=_capture)
    view = commands.add_parser("view", allow_abbrev=False, help="show what was captured")
    _add_view(view.add_argument)
    view.set_defaults(run=_view)
    for command, flags in _NOT_HERE.items():
        for flag in flags:
            each = {"capture": capture, "view": view}[command]
            each.add_argument(flag, nargs="?", const=True, help=argparse.SUPPRESS)
    return parser


def _add_capture(add):
    add("-n", "--neff", default="file.neff", help="default: %(default)s")
    add("-s", "--session-file", default="profile.ntff", help="default: %(default)s")
    add("--num-exec", type=_count, default=1, help="executions; all are alike")
    add("--profile-nth-exec", type=_count, default=1, metavar="N",
        help="profile every Nth; 0 profiles none")  # fmt: skip
    add("-t", "--capture-type", choices=("profile", "systrace"), default="profile")
    add("--exec-mode", choices=("sync", "async", "async-wait"), default="sync", help="accepted")
    add("--ignore-exec-errors", action="store_true", help="accepted; timing has none")
    add("--disable-profile", action="store_true", help="check the .neff and write nothing")
    add("--enable-dge-notifs", action="store_true", help="accepted; every transfer is seen")
    add("--single-io", action="store_true", help="accepted; tensors take no room here")
    add("--single-io-threshold", type=_count, default=0, help="accepted likewise")
    add("-m", "--multi-input", metavar="FILE", help=argparse.SUPPRESS)
    add("-r", "--collectives-workers-per-node", type=_count, default=1, help=argparse.SUPPRESS)
    add("--collectives-worker-count", type=_count, default=1, help=argparse.SUPPRESS)
    add("--collectives-worker-start-id", type=_count, default=0, help=argparse.SUPPRESS)
    add("-i", "--collectives-profile-id", default="all", help=argparse.SUPPRESS)
    add("inputs", nargs="*", help="NAME FILE pairs; times do not depend on values")


def _add_view(add):
    from trainium_edu.specs import TOOLS

    add("-n", "--neff-path", "--neff", metavar="FILE.neff")
    add("-s", "--session-file", metavar="FILE.ntff")
    add("-d", "--session-dir", metavar="DIR", help="every .ntff in it, each with its .neff")
    add("--output-format", type=str.lower, default="perfetto",
        help=f"{', '.join(_FORMATS)}; default: %(default)s, for ui.perfetto.dev")  # fmt: skip
    add("--output-file", metavar="FILE", help=f"default: {', '.join(_FILES.values())}")
    add("--db-bucket", "--display-name", help="the profile's name")
    add("--db-endpoint", help="accepted; there is no database")
    add("--db-org", help="accepted likewise")
    add("--port", type=_port, default=int(TOOLS.profile_port), help="accepted; nothing is served")
    add("--force", action="store_true", help="accepted; nothing is kept")
    add("--terminology", action="store_true", help="what the keys of a summary are")
    add("--show-perfetto-flows", action="store_true", help="accepted; arrows are always there")
    add("--ignore-system-profile", action="store_true", help="accepted; there is none")


def _count(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count, such as 2")
    return int(text)


def _port(text):
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return int(text)


# -- capture --------------------------------------------------------------------------------------


def _capture(options) -> int:
    if options.capture_type == "systrace":
        raise _Wrong(f"--capture-type systrace is not here: {_NO_HOST}")
    alone = (options.multi_input, options.collectives_workers_per_node,
             options.collectives_worker_count, options.collectives_worker_start_id,
             options.collectives_profile_id)  # fmt: skip
    if alone not in [(None, 1, 1, 0, "all"), (None, 1, 1, 0, "0")]:
        raise _Wrong("one worker is captured here; a kernel of several NeuronCores is in its .neff "
                     "as a whole, so leave -r, -m, -i and --collectives-... out")  # fmt: skip
    _check_inputs(options.inputs)
    from trainium_edu.neuroncore import run_io
    from trainium_edu.tools import neuron_profile

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
        from trainium_edu.tools.neuron_profile import TERMS, as_text

        print(as_text(dict(sorted(TERMS.items()))))
        return 0
    _check_format(options)
    profiles = _profiles(options)
    print("emulated by trainium_edu: times are predicted, not measured", file=sys.stderr)
    shown = options.output_format
    if shown in ("summary-text", "summary-json"):
        return _print_summaries(profiles, options)
    if len(profiles) > 1:
        raise _Wrong(f"{shown} is written of one profile at a time; name it with -s")
    [run] = profiles.values()
    path = Path(options.output_file or _FILES[shown])
    _write(shown, run, path)
    print(f"{shown} saved to {path}")
    if shown == "perfetto":
        print("open it at https://ui.perfetto.dev", file=sys.stderr)
    return 0


def _check_format(options):
    shown = options.output_format
    if shown == "parquet":
        raise _Wrong("--output-format parquet is not here; json has the same instructions")
    if shown == "db":
        raise _Wrong(f"--output-format db is not here: {_NO_DATABASE}; try perfetto")
    if shown not in _FORMATS:
        raise _Wrong(f"no output format {shown!r}; there are {', '.join(_FORMATS)}")
    name = options.db_bucket
    if name is not None and not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise _Wrong(f"{name!r} cannot be a profile's name; use letters, digits, -, _ and .")


def _profiles(options) -> dict:
    """Return the runs to show by their names."""
    from trainium_edu.tools import neuron_profile

    if options.session_dir:
        found, notes = neuron_profile.read_folder(options.session_dir, options.neff_path)
    elif options.neff_path and options.session_file:
        run, digest, note = neuron_profile.read(options.neff_path, options.session_file)
        found, notes = {options.db_bucket or f"n_{digest}": run}, [note]
    else:
        raise _Wrong("name the two files of a profile: view -n FILE.neff -s FILE.ntff; there is no "
                     "database of earlier ones here")  # fmt: skip
    for note in filter(None, notes):
        print(note, file=sys.stderr)
    for name, run in found.items():
        if len(run.programs) > 1:
            print(f"{name}: {len(run.programs)} NeuronCores took part, and the one that ended last "
                  "is shown", file=sys.stderr)  # fmt: skip
    return found


def _print_summaries(profiles, options) -> int:
    from trainium_edu import files
    from trainium_edu.tools.neuron_profile import as_text, summary

    found = {name: summary(run) for name, run in profiles.items()}
    if options.output_format == "summary-json":
        text = json.dumps(found, indent=4, allow_nan=False)
    elif len(found) == 1:
        text = "".join(map(as_text, found.values()))
    else:
        text = "\n\n".join(f"{name}\n{as_text(one)}" for name, one in found.items())
    if options.output_file:
        files.write(options.output_file, f"{text}\n")
    else:
        print(text)
    return 0


def _write(shown, run, path):
    from trainium_edu import files
    from trainium_edu.tools import neuron_profile, perfetto

    if shown == "perfetto":
        perfetto.write(run, path)
    else:
        text = json.dumps(neuron_profile.events(run), allow_nan=False, indent=1)
        files.write(path, text + "\n")
