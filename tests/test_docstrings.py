"""Every example in a docstring says what it gives; judge: the example, run."""

import doctest
import importlib
import pkgutil

import trainium_edu
from tests.for_each import for_each

PACKAGES = [
    m.name for m in pkgutil.iter_modules(trainium_edu.__path__) if m.name not in ("__main__", "cli")
]


def _modules(name):
    """Return the modules of a package; where PyTorch is missing, those that do without."""
    module = importlib.import_module(f"trainium_edu.{name}")
    inside = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
    found = []
    for each in [module.__name__, *(m.name for m in inside)]:
        try:
            loaded = importlib.import_module(each)
            for public in getattr(loaded, "__all__", ()):
                getattr(loaded, public)  # what loads late is loaded before it is walked
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
        else:
            found.append(loaded)
    return found


@for_each("package", PACKAGES)
def test_the_examples_of_the_docstrings_run(package):
    wrong = []
    for module in _modules(package):
        for case in doctest.DocTestFinder().find(module):
            said = []
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            if runner.run(case, out=said.append).failed:
                wrong.append("".join(said))
    assert not wrong, "\n".join(wrong)
