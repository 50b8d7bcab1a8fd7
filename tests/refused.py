"""Refusals as a table: a call, and words of the one sentence that it is refused with.

Rows of a ``refusals.toml`` are under the kind of their error; ``…`` stands for any words.
"""

import re
import tomllib
from pathlib import Path

from tests.for_each import for_each, raises


def refusals(test, scope, tables="refusals.toml"):
    """Return a test of the table beside a test file; its calls see the names in `scope`."""
    text = Path(test).with_name(tables).read_text("utf-8")
    rows = [(kind, call, words) for kind, calls in tomllib.loads(text).items()
            for call, words in calls.items()]  # fmt: skip

    @for_each("kind, call, words", rows)
    def test_each_call_is_refused_in_one_sentence(kind, call, words):
        pattern = ".*".join(map(re.escape, words.split("…")))
        kind = eval(kind, {**scope})
        sentence = str(raises(kind, pattern, lambda: eval(call, {**scope})))
        assert "\n" not in sentence
        assert not sentence.endswith(".")
        assert 20 < len(sentence) < 420, sentence

    return test_each_call_is_refused_in_one_sentence
