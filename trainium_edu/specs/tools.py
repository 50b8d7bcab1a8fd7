"""What the tools around a run print of a machine, and how often they look."""

from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["TOOLS"]

_ls = SOURCES["aws-neuron-ls-trn1"].says
_monitor = SOURCES["aws-neuron-monitor"].says
_early = SOURCES["aws-neuron-monitor-trn1"].says
_top = SOURCES["aws-neuron-top"].says
_profile = SOURCES["aws-neuron-profile"].says

TOOLS = Record(
    "neuron-ls, neuron-top, neuron-monitor and neuron-profile",
    pci_bdf_trn1_32xlarge=_ls(
        tuple(f"00:{number:02x}.0" for number in range(4, 20)), "",
        "Examples, neuron-ls --topology",
        note="printed for 16 devices; other pages show other addresses"),
    pci_bdf_trn1_2xlarge=SOURCES["aws-training-quickstart"].says(
        ("00:1e.0",), "", "Step 1: Launch a Trainium instance",
        note="its table has a second device, which a trn1.2xlarge does not have"),
    pci_bdf_inf2_xlarge=SOURCES["aws-inference-quickstart"].says(
        ("00:1e.0",), "", "Step 1: Launch an Inferentia instance"),
    command=_ls("neuron-app01 infer --input-data-direc...", "", "Examples, neuron-ls",
                note="cut to 40 letters"),
    command_wide=_ls(
        "neuron-app01 infer --input-data-directory ~/my_input_data --inference-count 5...", "",
        "Examples, neuron-ls --wide", note="cut to 80 letters"),
    neuroncore_version=_top("v2", "", "User interface", note='"for trn1 and inf2 instances"'),
    device_version=_early("v2", "", "neuron_hardware_info", note="of its sample of 16 devices"),
    period_s=_monitor(5, "s", "Using neuron-monitor", note="where no period is specified"),
    tag_letters=_monitor(255, "letters", "Neuron applications tagging"),
    profile_port=_profile(3001, "TCP port", "CLI reference, --port"),
    profile_clock_hz=SOURCES["aws-profile-schema"].says(
        1.4e9, "Hz", "Summary, neuroncore_cycle_count", note='"base clock rate" of Trainium1'),
)  # fmt: skip
