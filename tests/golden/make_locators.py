"""Look every fact's place up in the page that it cites, and write down what stands there.

    python tests/golden/make_locators.py CLONE      CLONE: a checkout of aws-neuron/aws-neuron-sdk

Of each page of the public documentation, in the edition that ``specs.SOURCES`` names, this finds
the section that a fact's ``locator`` begins with (a heading, a bold lead, a function, a variable,
a row) and in it the fact's figures as they are printed, and writes ``locators.json`` beside itself:
{source: {"edition": commit, "places": {locator: figures}}}.  Facts that cannot be found end it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("locators.json")
PAGE = re.compile(r"https://github.com/aws-neuron/aws-neuron-sdk/blob/(\w+)/(.*)")
WORDS = {0.5: "half", 1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight"}
SCALES = (1, 1e3, 1e6, 1e9, 1e12, 1e15, 2**10, 2**20, 2**30, 0.01, 1e-4)


def numbers(value):
    """Return the numbers of a fact's value; formulas and other text have none."""
    if isinstance(value, tuple):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def printed(number, text):
    """Return how a number stands in a text, under some unit, or None."""
    forms = {f"{number / scale:.10g}" for scale in SCALES}
    forms |= {str(number), WORDS.get(number, "no")}
    for form in sorted(forms, key=len, reverse=True):
        whole, dot, rest = form.partition(".")
        spaced = re.sub(r"(?<=\d)(?=(\d{3})+$)", "[, ]?", whole) + dot.replace(".", r"\.") + rest
        zeros = "0*" if dot else r"(\.0*)?"
        found = re.search(rf"(?<![\d.]){spaced}{zeros}(?!\.?\d)", text, re.I)
        if found and form != "no":
            return found[0]
    return None


def section(place, text):
    """Return the text of the most special part of a locator that the page has, or None."""
    best = None
    for part in place.split(", "):
        name = r"\s+".join(map(re.escape, part.removeprefix("row ").split()))
        within = text if best is None else best
        head = re.search(rf"^(?:\*\*)?{name}(?:\*\*)? *\n([=\-^~#\"'`*+.])\1\1+ *$", within, re.M)
        lead = re.search(
            rf"\*\*{name}[:.]?\*\*|^def {name}\(|^ *``{name}\b|^{name},", within, re.M | re.I
        )
        if head:
            rest = within[head.end() :]
            end = re.search(rf"^\S.*\n{re.escape(head[1])}{{4,}} *$", rest, re.M)
            best = rest[: end.start()] if end else rest
        elif lead:
            rest = within[lead.start() :]
            end = re.search(r"\n\*\*[A-Z]|\ndef |\n``[A-Z]", rest[1:]) if part != place else None
            best = rest[: end.start() + 1] if end else rest
    return best


def page(source, clone):
    """Return (commit, text) of a page of the documentation, or None for other sources."""
    known = PAGE.fullmatch(source.url)
    return known and (
        known[1],
        subprocess.run(
            ["git", "-C", clone, "show", f"{known[1]}:{known[2]}"], capture_output=True, text=True,
            check=True,
        ).stdout,
    )  # fmt: skip


def look_up(facts, sources, clone):
    """Return what the golden file holds, and the facts that could not be found."""
    pages = {key: page(source, clone) for key, source in sources.items()}
    found, lost = {}, []
    for name, fact in facts.items():
        if not pages[fact.source]:
            continue
        edition, text = pages[fact.source]
        place = section(fact.locator, text)
        figures = [printed(n, place) for n in numbers(fact.value)] if place else []
        if place is None or (None in figures and "figure" not in fact.locator):
            lost.append((name, fact, figures))
            continue
        places = found.setdefault(fact.source, {"edition": edition, "places": {}})["places"]
        kept = places.setdefault(fact.locator, [])
        kept += [f for f in figures if f and f not in kept]
    return found, lost


if __name__ == "__main__":
    sys.path.insert(0, str(TOP))
    from tests.specs.conftest import looked_up
    from trainium_edu.specs import SOURCES

    found, lost = look_up(looked_up(), SOURCES, sys.argv[1])
    for name, fact, figures in lost:
        print(f"{name}: {fact}: {figures}")
    if lost:
        sys.exit(f"{len(lost)} facts do not stand where they say")
    for entry in found.values():
        entry["places"] = {k: sorted(v) for k, v in sorted(entry["places"].items())}
    GOLDEN.write_text(json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n")
