"""What an hour costs, in US dollars: on demand, with a reservation, through SageMaker.

Prices change; these are the ones that the published comparisons were made with.  Where nobody
wrote down the day that a price was read, its note says so.  Spot prices change by the hour: there
is none here.
"""

from trainium_edu.specs.fact import derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["PRICES", "STORAGE_PRICES"]

_UNIT, _GB_MONTH = "USD/hour", "USD/GB-month"
_UNDATED = "day not known"
_list = SOURCES["third-party-prices"].says
_memory = SOURCES["memory"].says
_blog = SOURCES["aws-ml-blog-sagemaker"].says


def _demand(says, usd, note=""):
    return says(usd, _UNIT, "on-demand price, us-east-1", "; ".join(filter(None, (note, _UNDATED))))


def _reserved(source, name, usd):
    return SOURCES[source].says(usd, _UNIT, f"row {name}", note="RI-effective")


def _through_sagemaker(on_demand):
    return derive(_UNIT, lambda usd: usd * 1.15, on_demand, locator="on-demand * 1.15",
                  note="the published SageMaker prices are EC2 plus 15 %")  # fmt: skip


def _ratio(a, b, locator):
    return derive("", lambda x, y: x / y, a, b, locator=locator)


_trn1, _p4d = _demand(_list, 21.50), _demand(_list, 32.7726, note="also printed 32.77")

_trn1_reserved = _reserved("aws-trn1-rates", "trn1.32xlarge", 8.197)
_small_reserved = _reserved("aws-trn1-rates", "trn1.2xlarge", 0.512)

#: ``PRICES[instance].on_demand_usd_per_hour``; ``reserved_...`` and ``sagemaker_...`` where known.
PRICES = {
    "trn1.2xlarge": Record(
        "trn1.2xlarge",
        on_demand_usd_per_hour=_demand(_list, 1.34),
        on_demand_usd_per_hour_exact=_demand(_memory, 1.34375),
        reserved_usd_per_hour=_small_reserved,
    ),
    "trn1.32xlarge": Record(
        "trn1.32xlarge",
        on_demand_usd_per_hour=_trn1,
        reserved_usd_per_hour=_trn1_reserved,
        reserved_over_on_demand=_ratio(_trn1_reserved, _trn1, "8.197 / 21.50"),
        reserved_over_2xlarge=_ratio(_trn1_reserved, _small_reserved, "8.197 / 0.512"),
        sagemaker_usd_per_hour=_blog(24.725, _UNIT, "table of results, ml.trn1.32xlarge"),
        sagemaker_usd_per_hour_derived=_through_sagemaker(_trn1),
    ),
    "p4d.24xlarge": Record(
        "p4d.24xlarge",
        on_demand_usd_per_hour=_p4d,
        sagemaker_usd_per_hour=_blog(37.69, _UNIT, "table of results, ml.p4d.24xlarge"),
        sagemaker_usd_per_hour_derived=_through_sagemaker(_p4d),
    ),
    **{
        name: Record(name, on_demand_usd_per_hour=_demand(_memory, usd))
        for name, usd in (("trn1n.32xlarge", 24.78), ("p3dn.24xlarge", 31.212))
    },
    **{
        name: Record(
            name,
            on_demand_usd_per_hour=_demand(_memory, usd),
            reserved_usd_per_hour=_reserved("aws-inf2-rates", name, reserved),
        )
        for name, usd, reserved in (
            ("inf2.xlarge", 0.7582, 0.328),
            ("inf2.8xlarge", 1.9679, 0.850),
            ("inf2.24xlarge", 6.4906, 2.804),
            ("inf2.48xlarge", 12.9813, 5.608),
        )
    },
}
#: Where checkpoints lie.
STORAGE_PRICES = Record(
    "storage",
    s3_usd_per_gb_month=_memory(0.023, _GB_MONTH, "S3 Standard, first 50 TB", _UNDATED),
    fsx_usd_per_gb_month=_memory(
        0.145, _GB_MONTH, "FSx for Lustre, SSD, 125 MB/s per TiB", _UNDATED
    ),
)
