"""The lessons: which there are, how long they take, and where their notebooks lie.

``COURSE`` is the one table of lessons; the README, the instructors' page and ``progress`` show it,
and each notebook's opening has to agree (``.ci/generate.py`` writes the pages, tests hold them).
Notebooks are in ``notebooks/`` of a clone, or copies inside an installed package.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import trainium_edu

__all__ = ["COURSE", "Lesson", "folder", "lesson_notebook", "notebooks", "number_of"]


#: A lesson's number: two digits, and a letter if a lesson has a second part.
NUMBER = re.compile(r"\d\d(?:[a-z](?![a-z]))?")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the course."""

    number: str
    name: str  #: its notebook is ``NUMBER_NAME.ipynb``; its exercises are in a module of this name
    title: str
    about: str
    minutes: int = 0  #: to read and play; 0 where nobody says
    exercise_minutes: int = 0  #: for the exercises; 0: there are none, or `minutes` holds them
    core: bool = False  #: part of a first course in computer architecture

    @property
    def stem(self) -> str:
        """Its notebook's name without the ending."""
        return f"{self.number}_{self.name}"

    @property
    def takes(self) -> str:
        """Minutes as people read them: ``15``, ``30 + 40`` with exercises."""
        more = f" + {self.exercise_minutes}" if self.exercise_minutes else ""
        return f"{self.minutes}{more}" if self.minutes else ""


COURSE = (
    Lesson(
        "00", "start_here", "Start here", "from a cluster to one multiply-accumulate, the number "
        "line, and a network that learns before your eyes", 20, core=True,
    ),
    Lesson(
        "01", "number_formats", "Number formats",
        "click bits, configure FP8, quantise real weights and a photo, zip without loss", 30, 50,
    ),
    Lesson(
        "02", "stochastic_rounding", "Stochastic rounding", "dice, long sums, and a real network "
        "that at small learning rates learns only with them", 35, 50, core=True,
    ),
    Lesson(
        "03", "systolic_array", "The systolic array",
        "16 384 multipliers, one cycle at a time", 30, 45, core=True,
    ),
    Lesson(
        "04", "neuroncore", "Inside a NeuronCore",
        "four engines, three memories, and where a predicted time comes from", 35, 40,
    ),
    Lesson(
        "05", "kernels", "Kernels", "AWS's NKI language; a vector add, a matmul in stages, fused "
        "attention, and what each step is worth", 35, 70,
    ),
    Lesson(
        "05b", "puzzles", "Puzzles: one tile", "ten kernels of a few lines, each with a picture of "
        "its numbers and a time to beat", 10, 50,
    ),
    Lesson(
        "05c", "puzzles", "Puzzles: many tiles", "ten more, from a copy in tiles to softmax in one "
        "pass and a matmul at 80 % of peak", 5, 80,
    ),
    Lesson(
        "06", "lazy_execution", "Lazy execution", "a training loop becomes a graph: compiled once, "
        "found again, broken by a shape, opened down to its instructions", 35, 45,
    ),
    Lesson(
        "07", "topology", "Topology",
        "a torus that is a hypercube, hops, broken links, a cluster", 35, 30, core=True,
    ),
    Lesson(
        "08", "collectives", "Collectives",
        "step through an all-reduce, choose the algorithm, train on 32 ranks", 35, 40, core=True,
    ),
    Lesson(
        "09", "data_parallel_training", "Data-parallel training", "thirty-two ranks learn one "
        "model: what it gains, what communication costs, where it stops to scale", 35, 30,
        core=True,
    ),
    Lesson(
        "09b", "when_training_breaks", "When training breaks", "memory, a straggler, a starved "
        "chip, replicas that drift apart, and one bit followed through a run", 30, 30, core=True,
    ),
    Lesson(
        "09c", "recommend_and_fine_tune", "Recommend and fine-tune", "a score that nobody can "
        "beat, tables whose lookups are bound by rows, and what few labels teach an encoder that "
        "has read before", 20, 20,
    ),
    Lesson(
        "10", "your_own_script", "Your own script", "a PyTorch script on the chip: three lines, "
        "what cuts its graph, what compiles again, what falls back, what starves it", 35, 40,
    ),
    Lesson(
        "11", "scale_and_cost", "Scale and cost", "175 billion parameters: on how many chips they "
        "fit, which plan, how fast, what a failure costs, and the bill", 35, 45,
    ),
    Lesson(
        "11b", "claims_court", "Claims court", "twelve headlines about Trainium: predict the "
        "verdict, then do the arithmetic, then move the inputs", 30, 20,
    ),
    Lesson(
        "12", "capstone_fused_convolution", "Capstone: one kernel", "convolution and pooling in "
        "NKI's older interface, from a hundred times too slow to nearly the peak", 30, 90,
    ),
    Lesson(
        "13", "your_own_operator", "Your own operator", "C++ on eight small processors: one ReLU "
        "in four versions, a race, and what to leave to the other engines", 30, 45,
    ),
)  # fmt: skip


#: Lessons that an instructor added for this process: number to Python file.
OWN: dict[str, Path] = {}


def number_of(text: str) -> str:
    """Return the lesson's number with which a key, a notebook's name or an exercise's begins.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Two digits, and a letter in a lesson of two parts; "" if there is none.

    Examples
    --------
    >>> [number_of(text) for text in ("02", "02/spacing", "09b_when_training_breaks", "mine")]
    ['02', '02', '09b', '']
    """
    found = NUMBER.match(text)
    return found[0] if found else ""


def folder() -> Path:
    """Return the folder of the lessons.

    Returns
    -------
    path : Path

    Raises
    ------
    FileNotFoundError
        If this installation has none.
    """
    package = Path(trainium_edu.__file__).parent
    for candidate in (package / "notebooks", package.parent / "notebooks"):
        if any(candidate.glob("[0-9][0-9]*_*.ipynb")):
            return candidate
    raise FileNotFoundError(
        "no lessons are installed beside trainium_edu; install it again, or run from a clone"
    )


def notebooks() -> list[Path]:
    """Return the lessons' notebooks in order, and the glossary that they link to."""
    return sorted([*folder().glob("[0-9][0-9]*_*.ipynb"), *folder().glob("glossary.ipynb")])


def lesson_notebook(lesson: str) -> Path:
    """Return the notebook of a lesson.

    Parameters
    ----------
    lesson : str
        Its number, such as ``"02"``.

    Raises
    ------
    FileNotFoundError
        If it is not installed.
    """
    own = OWN.get(lesson)
    for path in [own.with_suffix(".ipynb")] if own else notebooks():
        if path.name.startswith(f"{lesson}_") and path.is_file():
            return path
    beside = f" beside {own.name}" if own else ""
    raise FileNotFoundError(f"the notebook of lesson {lesson} is not there{beside}")
