"""What an hour costs, in US dollars: on demand, with a reservation, through SageMaker.

Prices change; these are the ones that the published comparisons were made with.  Where nobody
wrote down the day that a price was read, its note says so.  Spot prices change by the hour: there
is none here.
"""

from trainium_edu.specs.instances import INSTANCES
from trainium_edu.specs.sources import stated

__all__ = ["PRICES", "STORAGE_PRICES"]

#: ``PRICES[instance].on_demand_usd_per_hour``; ``reserved_...`` and ``sagemaker_...`` where known.
PRICES = {
    name: stated(f"prices of {name}", small=stated("prices of trn1.2xlarge")) for name in INSTANCES
}
#: Where checkpoints lie.
STORAGE_PRICES = stated("prices of storage")
