"""Where checkpoints go and data comes from, and how often large jobs were interrupted."""

from trainium_edu.specs.fact import derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES, stated

__all__ = ["FAILURES", "STORAGE"]

_MB, _MBPS_PER_TIB = 10**6, "bytes/s per TiB"
_disk = SOURCES["aws-instance-store"].says
_fsx = SOURCES["aws-fsx-ssd"].says
_ours = SOURCES["emulator"].says
_llama = SOURCES["llama3-paper"].says
_opt = SOURCES["opt-paper"].says
_rsc = SOURCES["rsc-paper"].says
_TABLE = "table of SSD storage options"
_SPLIT = "row trn1.32xlarge, 100% random read IOPS / write IOPS"

_operation = _ours(4096, "bytes", "size of an operation behind the documented IOPS",
                   "the page does not say; larger ones may be faster")  # fmt: skip


def _rate(says):
    return derive("bytes/s", lambda n, b: n * b, says, _operation, locator="IOPS * 4 KiB")


def _tier(mbps, disk_burst, network, network_burst):
    row = f"{_TABLE}, row PERSISTENT-{mbps}"
    tier = {"disk": mbps, "network": network, "disk_burst": disk_burst or mbps,
            "network_burst": network_burst or network}  # fmt: skip
    return Record(f"FSx for Lustre, {mbps} MB/s per TiB",
                  **{f"{name}_bytes_per_s_per_tib": _fsx(value * _MB, _MBPS_PER_TIB, row)
                     for name, value in tier.items()})  # fmt: skip


#: Local disks, FSx for Lustre, S3, and the way from a chip to the host.
STORAGE = stated(
    "storage",
    nvme=stated(
        "instance store of trn1.32xlarge; its data ends with its instance",
        read_bytes_per_s=_rate(_disk(1_720_000, "operations/s", _SPLIT)),
        write_bytes_per_s=_rate(_disk(720_000, "operations/s", _SPLIT)),
    ),
    fsx=stated(
        "FSx for Lustre",
        tier_125=_tier(125, 500, 320, 1300),
        tier_250=_tier(250, 500, 640, 1300),
        tier_500=_tier(500, None, 1300, None),
        tier_1000=_tier(1000, None, 2600, None),
    ),
    s3=stated("Amazon S3"),
)


def _mtbf(hours, instances, locator):
    return derive("h", lambda h, n: h * n, hours, instances, locator=locator)


def _between(days, interruptions):
    return derive("h", lambda d, n: 24 * d / n, days, interruptions,
                  locator="24 * days / interruptions")  # fmt: skip


def _eight(gpus):
    return derive("instances", lambda n: n // 8, gpus, locator="GPUs / 8")


def _of_node(rate):
    return derive("h", lambda r: 24_000 / r, rate, locator="24 * 1000 / (failures per 1000 days)")


_llama_gpus, _llama_days = _llama(16_384, "GPUs", "3.3.4"), _llama(54, "days", "3.3.4")
_llama_count = _llama(419, "interruptions", "3.3.4, table of root causes", "unexpected ones")
_llama_mtbf = _between(_llama_days, _llama_count)
_opt_gpus, _opt_days = _opt(992, "GPUs", "2.4"), _opt(60, "days", "2.5", '"2 months"')
_opt_count = _opt(105, "restarts", "2.5", "at least 35 by hand and 70 automatic, an estimate")
_opt_mtbf = _between(_opt_days, _opt_count)
_rsc_1 = _rsc(6.50, "failures per 1000 node-days", "RSC-1")
_rsc_2 = _rsc(2.34, "failures per 1000 node-days", "RSC-2")

#: What was reported of failures on GPUs, eight to an instance; AWS reports none for Trainium.
FAILURES = stated(
    "reported failures",
    llama3=stated(
        "Llama 3 405B",
        gpus=_llama_gpus,
        days=_llama_days,
        interruptions=_llama_count,
        mtbf_hours=_llama_mtbf,
        instance_mtbf_hours=_mtbf(_llama_mtbf, _eight(_llama_gpus), "of the job * instances"),
    ),
    opt=stated(
        "OPT-175B",
        gpus=_opt_gpus,
        days=_opt_days,
        restarts=_opt_count,
        mtbf_hours=_opt_mtbf,
        instance_mtbf_hours=_mtbf(_opt_mtbf, _eight(_opt_gpus), "of the job * instances"),
    ),
    rsc_1=stated(
        "Meta's research cluster RSC-1",
        rate=_rsc_1,
        instance_mtbf_hours=_of_node(_rsc_1),
    ),
    rsc_2=stated(
        "Meta's research cluster RSC-2",
        rate=_rsc_2,
        instance_mtbf_hours=_of_node(_rsc_2),
    ),
    hlat=stated("HLAT on Trainium"),
)
