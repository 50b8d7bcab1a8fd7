"""Where checkpoints go and data comes from, and how often large jobs were interrupted."""

from trainium_edu.specs.sources import stated

__all__ = ["FAILURES", "STORAGE"]

#: Local disks, FSx for Lustre, S3, and the way from a chip to the host.
STORAGE = stated("storage")
#: What was reported of failures on GPUs, eight to an instance; AWS reports none for Trainium.
FAILURES = stated("reported failures")
