"""What was claimed for Trainium, beside the arithmetic that a reader can redo."""

from trainium_edu.specs.fabric import FABRIC
from trainium_edu.specs.instances import INSTANCES, TRN1, ULTRACLUSTER
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.record import Record
from trainium_edu.specs.software import SOFTWARE
from trainium_edu.specs.sources import stated

__all__ = ["CLAIMS", "RECORDS"]

_COMPARED = {
    "trn1": INSTANCES["trn1.32xlarge"], "trn1n": INSTANCES["trn1n.32xlarge"],
    "p4d": INSTANCES["p4d.24xlarge"], "p3dn": INSTANCES["p3dn.24xlarge"],
    "trn1_price": PRICES["trn1.32xlarge"], "p4d_price": PRICES["p4d.24xlarge"],
    "small_price": PRICES["trn1.2xlarge"], "inf2_price": PRICES["inf2.xlarge"],
}  # fmt: skip
CLAIMS = stated("published claims and their arithmetic", **_COMPARED)
#: The records that tables name facts of: claims, conflicts, the ladder.
RECORDS = Record(
    "what tables name", claims=CLAIMS, chip=TRN1, cluster=ULTRACLUSTER, fabric=FABRIC,
    software=SOFTWARE, small=INSTANCES["trn1.2xlarge"], trn2=INSTANCES["trn2.48xlarge"],
    **_COMPARED,
)  # fmt: skip
