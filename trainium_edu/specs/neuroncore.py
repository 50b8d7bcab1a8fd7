"""NeuronCore-v2, the core of Trainium and Inferentia2: engines, memories, limits, costs, formats.

``cycles`` always belong to the engine that runs the instruction.  Their formulas are Python
expressions in the names that a note explains, so that a test can evaluate what a document printed.
"""

from trainium_edu.specs.sources import stated

__all__ = ["CYCLES", "FORMATS", "MEASURED", "NEURONCORE_V2"]

NEURONCORE_V2 = stated("NeuronCore-v2")
CYCLES, FORMATS, MEASURED = map(NEURONCORE_V2.find, ("cycles", "formats", "measured"))
