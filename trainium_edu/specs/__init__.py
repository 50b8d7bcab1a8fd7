"""What the hardware is, and who says so: every number with its source, date and kind.

``TRN1``, ``INF2`` and ``TRN2`` are the chips that checks and timing take (``spec=TRN2``): nested
records of facts, ``TRN1.tensor_engine.clock_hz.value``; a new one is a table of what differs.
``INSTANCES``, ``PRICES``, ``ULTRACLUSTER``, ``FABRIC``, ``NCCOM_TABLES``, ``STORAGE``,
``FAILURES``, ``TOOLS``, ``PUBLISHED_MODELS`` and ``CLAIMS`` describe the rest, ``SOURCES`` the
documents, ``conflicts()`` the quantities on which they disagree, ``GLOSSARY`` the words.

What documents state, and what follows from it, is text that people read too: ``facts.md``,
``sources.md``, ``conflicts.md``, ``models.md``, ``benchmarks.md``, ``editions.md``,
``nccom.md``, ``ladder.md``.

Left out: chips other than these, anything that AWS does not publish, the price of trn2.48xlarge
(it is in no document that we read).  ``arguments.py`` and ``signatures.py`` check the arguments of
public functions of all floors.  Sources: ``sources.md``; read ``fact.py`` first, then ``facts.md``
and ``sources.stated``.  Every lesson uses this floor; ``00_start_here`` shows it from cluster to
multiply-accumulate.
"""

from trainium_edu.specs.benchmarks import BENCHMARKS, CALIBRATED, Benchmark
from trainium_edu.specs.claims import CLAIMS
from trainium_edu.specs.conflicts import Conflict, Conflicts, conflicts
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.fabric import FABRIC, NCCOM_TABLES, NccomTable
from trainium_edu.specs.fact import Fact, Kind, derive
from trainium_edu.specs.instances import CHIPS, INF2, INSTANCES, TRN1, TRN2, ULTRACLUSTER
from trainium_edu.specs.models import PUBLISHED_MODELS
from trainium_edu.specs.neuroncore import NEURONCORE_V2
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.record import Record
from trainium_edu.specs.software import CUSTOM_OPERATORS, NKI_KNOWN_ISSUES, SOFTWARE
from trainium_edu.specs.sources import SOURCES, Source
from trainium_edu.specs.storage import FAILURES, STORAGE
from trainium_edu.specs.tools import TOOLS

__all__ = [
    "BENCHMARKS", "CALIBRATED", "CHIPS", "CLAIMS", "CUSTOM_OPERATORS", "FABRIC", "FAILURES", "INF2",
    "INSTANCES", "NCCOM_TABLES", "NEURONCORE_V2", "NKI_KNOWN_ISSUES", "PRICES", "PUBLISHED_MODELS",
    "SOFTWARE", "SOURCES", "STORAGE", "TOOLS", "TRN1", "TRN2", "ULTRACLUSTER", "Benchmark",
    "Conflict", "Conflicts", "Fact", "Kind", "NccomTable", "NkiValidationError", "Record", "Source",
    "conflicts", "derive",
]  # fmt: skip
