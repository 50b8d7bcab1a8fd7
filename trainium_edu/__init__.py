"""A laptop is enough to understand an AI chip: AWS Trainium, emulated for teaching.

The package is a house of floors; each imports only from those below it (from the ground up):
``specs`` (what the hardware is, and who says so), ``settings`` (AWS's documented switches),
``numerics`` (what a number is) and ``timeline`` (what happened when), ``neuroncore`` (inside one
core) and ``fabric`` (between cores), ``nki`` (kernels that you write) and ``xla`` (graphs that are
compiled), ``training`` (one step, done) and ``cluster`` (a whole run, priced), ``viz``,
``widgets``, ``exercises``, and the command line on top; under all of them ``names``, ``aside`` and
``files``, which load and write so that Ctrl-C leaves nothing half done.
Start with the notebook ``00_start_here``, then open the file that its last cell names.

Left out: AWS's software.  Nothing here needs it, an account, or the network.

Importing this module is cheap on purpose: submodules load when first used, and nothing compiles.
"""

from trainium_edu import aside, names

__version__ = "1.0.0rc1"
__all__, __getattr__, __dir__ = names.late(
    __name__, {"exercises.progress": "progress"},
    "cluster exercises fabric neuroncore nki numerics settings specs timeline tools torch training "
    "viz widgets xla",
)  # fmt: skip
__all__ += ["__version__"]


def load_ipython_extension(shell):
    """Run ``%load_ext trainium_edu``: code that says ``import nki`` finds the emulator."""
    nki = aside.load(f"{__name__}.nki")
    if not nki.activate():
        print("AWS's own nki is installed here and stays; nki.activate(replace=True) replaces it.")


def unload_ipython_extension(shell):
    """Run ``%unload_ext trainium_edu``: ``import nki`` is as it was."""
    aside.load(f"{__name__}.nki").deactivate()
