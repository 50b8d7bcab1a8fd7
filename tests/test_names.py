"""Names that load late; judges: IPython's completer and each package's `__all__`."""

import importlib
import inspect
import pickle
import subprocess
import sys
from enum import EnumType
from pathlib import Path

import pytest
from IPython.core.completer import IPCompleter, provisionalcompleter
from traitlets.config import Config

import trainium_edu
from tests.for_each import for_rows, raises
from trainium_edu import names

WITH_TORCH = "trainium_edu.torch", "trainium_edu.torch.operations"
ROOT = Path(trainium_edu.__file__).parent
FOLDERS = [path.parent.relative_to(ROOT.parent) for path in sorted(ROOT.rglob("__init__.py"))]
PACKAGES = {".".join(folder.parts) for folder in FOLDERS}  # none is imported for its name
PACKAGES = sorted(PACKAGES - {*WITH_TORCH, "trainium_edu.torch.stand_ins"})
PACKAGES += [pytest.param(name, marks=pytest.mark.judge) for name in WITH_TORCH]

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def completed(text, namespace, **options):
    """Return what Tab offers at the end of a line in a notebook."""
    options["disable_matchers"] = ["IPCompleter.magic_matcher"]  # which needs a whole shell
    completer = IPCompleter(namespace=namespace, config=Config(IPCompleter=options))
    with provisionalcompleter():
        return {found.text.lstrip(".") for found in completer.completions(text, len(text))}


@for_rows("uses_jedi", False, True)
@pytest.mark.parametrize("name", PACKAGES)
def test_tab_offers_every_public_name(name, uses_jedi):
    package = importlib.import_module(name)
    public = {each for each in getattr(package, "__all__", []) if each[0] != "_"}
    assert public <= completed("package.", {"package": package}, use_jedi=uses_jedi)
    assert all(getattr(package, each) is not None for each in public)


def test_tab_offers_the_names_of_a_package_nobody_used():
    """In a fresh process: nothing was loaded yet, and looking loads nothing."""
    code = (
        "import sys; from trainium_edu import numerics, fabric, training, cluster, xla;"
        "print({'cast', 'configure'} <= set(dir(numerics)), {'all_reduce'} <= set(dir(fabric)),"
        "{'fit', 'nn'} <= set(dir(training)), {'fits', 'work'} <= set(dir(cluster)),"
        "{'xm', 'Tensor'} <= set(dir(xla)), 'numba' in sys.modules, 'numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True"] * 5 + ["False"] * 2


def test_an_unknown_name_is_refused_with_the_nearest():
    from trainium_edu import cluster, numerics, tools

    for package, wrong, right in ((numerics, "confgure", "configure"), (cluster, "memry", "memory"),
                                  (tools, "neuron_lss", "neuron_ls")):  # fmt: skip
        with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; is {right} meant\\?"):
            getattr(package, wrong)
    with pytest.raises(AttributeError, match=r"no attribute '__path_hooks__'$"):
        numerics.__path_hooks__  # noqa: B018


def test_near_finds_spellings_capitals_and_initials():
    known = ["lr", "ranks", "weight_decay", "bucket_bytes"]
    assert names.near("rank", known) == "; is ranks meant?"
    assert names.near("Ranks", known, "t.") == "; is t.ranks meant?"
    assert names.near("learning_rate", known) == "; is lr meant?"
    assert names.near("colour", known) == ""


def callables(package):
    """Yield a package's public functions and classes that take arguments by name."""
    module = importlib.import_module(f"trainium_edu.{package}")
    for public in (getattr(module, name) for name in module.__all__):
        is_class = isinstance(public, type)
        function = public.__init__ if is_class and not isinstance(public, EnumType) else public
        if not inspect.isfunction(function):  # an enum, a constant, an error, a named tuple
            continue
        parameters = list(inspect.signature(function).parameters.values())[is_class:]
        by_name = [each.name for each in parameters if each.kind in BY_NAME]
        if by_name and not any(each.kind is each.VAR_KEYWORD for each in parameters):
            yield public, by_name[0]


@pytest.mark.parametrize(
    "package",
    ["numerics", "neuroncore", "neuroncore.systolic_array", "fabric", "cluster", "nki", "xla",
     "xla.numpy", "training", "training.nn", "training.optim", "tools",
     pytest.param("torch", marks=pytest.mark.judge)],
)  # fmt: skip
def test_an_unknown_argument_is_refused_with_the_right_name(package):
    """The judge is the signature: its first name, with a letter too many, is recognised."""
    tried = list(callables(package))
    assert tried
    for public, name in tried:
        with pytest.raises(TypeError, match=f"has no argument '{name}q'; (is|it takes) .*{name}"):
            public(**{f"{name}q": None})


def test_names_that_newcomers_type_are_answered_with_ours():
    from trainium_edu import training

    for call, sentence in (
        (lambda: training.Job(rank=2), "Job has no argument 'rank'; is ranks meant?"),
        (lambda: training.Job(learning_rate=0.1), "no argument 'learning_rate'; is lr meant?"),
        (
            lambda: training.fit(training.Job(), 1, data=0),
            "no argument 'data'; it takes job, steps",
        ),
        (lambda: training.Trainer(training.Job(), strickt=1), "Trainer has no argument 'strickt'"),
    ):
        assert sentence in str(raises(TypeError, "", call))


def test_functions_of_a_front_door_are_those_that_pickle_finds():
    from trainium_edu import fabric, numerics

    for function in (numerics.cast, fabric.all_reduce):
        assert pickle.loads(pickle.dumps(function)) is function
