"""Which state of AWS's software the emulator follows, what is known not to work there, switches."""

from trainium_edu.specs.sources import stated

__all__ = ["CUSTOM_OPERATORS", "NKI_KNOWN_ISSUES", "SOFTWARE"]

SOFTWARE = stated("AWS's software as this emulator follows it")
#: The interface of operators in C++, whichever chip they run on; its prices are Trainium's.
CUSTOM_OPERATORS = stated("operators in C++")

#: What AWS lists as failing on hardware, or removed; each fact's note is what to write instead.
NKI_KNOWN_ISSUES = stated("NKI: works in a simulator, fails when compiled for Trainium")
