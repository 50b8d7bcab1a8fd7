"""AWS's documented switches; judge: the Neuron runtime's documentation of names and defaults."""

import pytest

from tests.for_each import raises
from trainium_edu import settings
from trainium_edu.specs import SOURCES
from trainium_edu.xla.flags import parse

LAZY = (
    "XLA_USE_BF16", "XLA_DOWNCAST_BF16", "NEURON_CC_FLAGS", "NEURON_COMPILE_CACHE_URL",
    "NEURON_USE_EAGER_DEBUG_MODE", "NEURON_EXTRACT_GRAPHS_ONLY",
    "NEURON_NUM_RECENT_MODELS_TO_KEEP", "NEURON_RT_STOCHASTIC_ROUNDING_EN",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED", "NEURON_PARALLEL_COMPILE_MAX_RETRIES",
    "NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE", "NEURON_PARALLEL_COMPILE_DUMP_RESULTS",
    "PT_XLA_DEBUG", "PT_XLA_DEBUG_LEVEL", "PT_XLA_DEBUG_FILE",
)  # fmt: skip


@pytest.fixture
def lazy(monkeypatch):
    """Read the switches of lazy execution with these variables, and no others, set."""
    for name in LAZY:
        monkeypatch.delenv(name, raising=False)

    def read(**variables):
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        return settings.lazy()

    return read


def test_default_is_nearest_with_seed_zero():
    assert settings.rounding() == settings.RoundingSettings("nearest", 0)


def test_switches_are_read_at_every_call(monkeypatch):
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "42")
    assert settings.rounding() == settings.RoundingSettings("stochastic", 42)
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0")
    assert settings.rounding().rounding == "nearest"


def test_lessons_wait_for_predictions_unless_a_machine_reads_along(monkeypatch):
    assert not settings.lesson().predictions_committed
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    assert settings.lesson() == settings.LessonSettings(predictions_committed=True, quiet=True)


def test_progress_is_kept_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    assert settings.data_folder() == tmp_path


@pytest.mark.parametrize("name", ["trn1", "INF2", " gen2 ", "trn2", "gen3", "trn3", "gen4"])
def test_the_platform_is_one_of_aws_names(monkeypatch, name):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", name)
    assert settings.platform_target() == name.strip().lower()


def test_the_platform_may_be_unset(monkeypatch):
    monkeypatch.delenv("NEURON_PLATFORM_TARGET_OVERRIDE", raising=False)
    assert settings.platform_target() is None


def test_nkis_switches_have_the_documented_defaults(monkeypatch):
    for name in ("NKI_PRECISE_FP", "NKI_SIMULATOR"):
        monkeypatch.delenv(name, raising=False)
    assert settings.precise_fp()
    assert not settings.nki_simulator()
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    assert not settings.precise_fp()
    assert settings.nki_simulator()


def test_lazy_execution_is_off_its_switches_by_default(lazy):
    nearest = settings.RoundingSettings("nearest", 0)
    assert lazy() == settings.LazySettings(
        False, False, "", None, False, False, None, 50 * 2**20, nearest
    )
    assert settings.lazy().casts == {}
    assert settings.parallel_compile() == settings.ParallelCompileSettings(0, False, False)


@pytest.mark.parametrize(
    ("name", "casts"),
    [
        ("XLA_USE_BF16", {"float32": "bfloat16", "float64": "bfloat16"}),
        ("XLA_DOWNCAST_BF16", {"float32": "bfloat16", "float64": "float32"}),
    ],
)
def test_the_bf16_switches_cast_as_documented_and_turn_stochastic_rounding_on(lazy, name, casts):
    found = lazy(**{name: "1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "7"})
    assert found.casts == casts
    assert found.rounding == settings.RoundingSettings("stochastic", 7)
    assert settings.rounding().rounding == "nearest"  # the framework's doing, not the runtime's
    assert lazy(NEURON_RT_STOCHASTIC_ROUNDING_EN="0").rounding.rounding == "nearest"


def test_every_switch_of_lazy_execution_is_read(lazy):
    found = lazy(
        NEURON_CC_FLAGS=" --auto-cast=all ", NEURON_COMPILE_CACHE_URL="/cache/here",
        NEURON_USE_EAGER_DEBUG_MODE="1", NEURON_EXTRACT_GRAPHS_ONLY="1",
        NEURON_NUM_RECENT_MODELS_TO_KEEP="3", NEURON_RT_STOCHASTIC_ROUNDING_EN="1",
        PT_XLA_DEBUG="1", PT_XLA_DEBUG_FILE="/told/here",
    )  # fmt: skip
    assert (found.compiler_flags, found.cache_url) == ("--auto-cast=all", "/cache/here")
    assert found.eager_debug
    assert found.extract_graphs_only
    assert (found.models_to_keep, found.rounding.rounding) == (3, "stochastic")
    assert (found.debug_level, found.debug_file) == (100, "/told/here")
    assert lazy(PT_XLA_DEBUG_LEVEL="1").debug_level == 1


BAD = [
    *(("NEURON_RT_STOCHASTIC_ROUNDING_EN", x, settings.rounding) for x in ("yes", "", "2", "true")),
    *(("NEURON_RT_STOCHASTIC_ROUNDING_SEED", x, settings.rounding)
      for x in ("1.5", "dice", "-1", str(2**64))),
    ("NEURON_PLATFORM_TARGET_OVERRIDE", "h100", settings.platform_target),
    ("NKI_PRECISE_FP", "maybe", settings.precise_fp),
    ("XLA_USE_BF16", "true", settings.lazy), ("XLA_DOWNCAST_BF16", "yes", settings.lazy),
    ("NEURON_USE_EAGER_DEBUG_MODE", "2", settings.lazy),
    ("NEURON_EXTRACT_GRAPHS_ONLY", "", settings.lazy),
    ("NEURON_NUM_RECENT_MODELS_TO_KEEP", "0", settings.lazy),
    ("NEURON_NUM_RECENT_MODELS_TO_KEEP", "all", settings.lazy),
    ("NEURON_PARALLEL_COMPILE_MAX_RETRIES", "-1", settings.parallel_compile),
    ("NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE", "on", settings.parallel_compile),
]  # fmt: skip
SAYS = {settings.platform_target: "one of trn1", settings.rounding: "(0 or 1|an integer)"}


@pytest.mark.parametrize(("name", "text", "read"), BAD)
def test_a_bad_value_is_refused_in_one_sentence_with_its_name(lazy, monkeypatch, name, text, read):
    monkeypatch.setenv(name, text)
    raises(ValueError, rf"^{name} is '?{text}'?; it must be {SAYS.get(read, '')}[^.]*$", read)


def test_the_sources_that_docstrings_name_exist():
    for function in (settings.lazy, settings.parallel_compile):
        named = [w.strip("`,") for w in function.__doc__.split() if w.startswith("`aws")]
        assert named
        assert set(named) <= set(SOURCES)


def test_flags_that_name_the_service_s_folder_mean_the_job_s(monkeypatch):
    """In the service (`sagemaker-variables`) SM_MODEL_DIR is /opt/ml/model."""
    monkeypatch.setenv(
        "NEURON_CC_FLAGS", "--cache_dir=/opt/ml/checkpoints --model-type=transformer"
    )
    assert settings.lazy().compiler_flags.startswith("--cache_dir=/opt/ml/checkpoints ")
    monkeypatch.setenv("SM_MODEL_DIR", "/Users/me/my jobs/one/model")
    flags = parse(settings.lazy().compiler_flags)
    assert str(flags.cache_dir) == "/Users/me/my jobs/one/checkpoints"
    monkeypatch.setenv("NEURON_CC_FLAGS", "--cache_dir=/data/opt/ml/checkpoints")
    assert settings.lazy().compiler_flags == "--cache_dir=/data/opt/ml/checkpoints"
