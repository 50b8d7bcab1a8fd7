"""What crosses the wall between a submission and its grader.

Judge: the values themselves, NumPy's bytes, and the grader's own classes, which no input changes.
"""

import collections
import dataclasses
import fractions
import importlib
import inspect
import json
import pickle
import pkgutil
import random

import ml_dtypes
import numpy as np

import trainium_edu
from tests.for_each import for_each, for_rows, raises
from trainium_edu.cluster.models import get_model
from trainium_edu.exercises import plain_data
from trainium_edu.exercises.plain_data import NotPlain, dumps, loads
from trainium_edu.exercises.request import Blank, Request
from trainium_edu.neuroncore.run import Run
from trainium_edu.neuroncore.systolic_array.plan import Pass
from trainium_edu.specs.fact import Fact

VALUES = [
    None, True, 3, 2**99, 1.5, -0.0, float("inf"), 2j, "te\0xt\ud800", b"bytes\xff", [1, [2]], (1,),
    {"a": {1, 2}, (1, 2): [None]}, frozenset({3}), fractions.Fraction(1, 3), range(4), [], (), {},
    ["tuple", [1]], Pass(0, 128, 0, 128, 0, 512), get_model("gpt3-125m"),
    Request((Blank((2, 3), "bfloat16"), 1.5), (("width", 256),)),
]  # fmt: skip


@for_each("value", VALUES, ids=lambda value: repr(value)[:30])
def test_plain_values_come_back(value):
    back = loads(dumps(value))
    assert (type(back), back, repr(back)) == (type(value), value, repr(value))


@for_rows("dtype", "f4", "i8", "?", "c16", ">u2", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3)
def test_arrays_and_scalars_come_back_bit_for_bit(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for order in (array, array.T, array[:, ::2], array[:0]):
        back = loads(dumps(order))
        assert (back.dtype, back.shape) == (array.dtype, order.shape)
        assert back.tobytes() == order.tobytes()
        assert back.flags.writeable
    scalar = loads(dumps(array[0, 1]))
    assert (type(scalar), scalar) == (type(array[0, 1]), array[0, 1])


def test_a_bool_of_two_is_true():
    (back,) = loads('["ndarray","|b1",["tuple",1],["bytes","Ag=="]]')
    assert back == np.True_


@for_each("value, named", [
        (object(), "a object"), (Fact, "a type"), (np.load, "a function"),
        (np.array([None]), "an array of |O"), (np.array(["a"]), "an array of <U1"),
        (np.zeros(1, "M8[s]"), "an array of "), (np.zeros(1, "i4,i4"), "an array of "),
        (10**5000, "cannot be written"),
    ], ids=range(8))  # fmt: skip
def test_what_is_not_plain_is_refused_by_name(value, named):
    raises(NotPlain, named.replace("|", r"\|"), dumps, value)


def nested(depth):
    return '["list",' * depth + "1" + "]" * depth


@for_each("text, named", [
        ("", "damaged data"), ("garbage", "damaged data"), ("[1", "damaged data"),
        ("[]", "no tag"), ("[1]", "no tag"), ('{"a":1}', "no tag"), ('["list",[1]]', "no tag"),
        ('["Run",1]', "a Run"), ('["object"]', "a object"), ('["set",["list"]]', "damaged data"),
        ('["dict",["tuple",1]]', "damaged data"), ('["dict",3]', "damaged data"),
        ('["Fraction",1,0]', "damaged data"), ('["Fraction",true,2]', "no whole number"),
        ('["bytes","*"]', "damaged data"), ('["complex",["list"],1]', "damaged data"),
        ('["ndarray","|O",["tuple",1],["bytes",""]]', r"an array of \|O"),
        ('["ndarray",["list"],["tuple",1],["bytes",""]]', "damaged data"),
        ('["ndarray","<f4",["tuple",2],["bytes","AAAAAA=="]]', "another shape"),
        ('["ndarray","<f4",["tuple",-1],["bytes","AAAAAA=="]]', "another shape"),
        ('["ndarray","<f4",["tuple",0,1000000000000000000000],["bytes",""]]', "damaged data"),
        ('["ndarray","|u1",["tuple",9],9]', "an array without bytes"), ('["scalar"]', "damaged"),
        ('["scalar",["list",1]]', "damaged data"),
        ('["Pass",1]', "damaged data"), ('["Pass","a",1,1,1,1,1,1,1,true,true]', "whose k0 is"),
        ('["Pass",true,1,1,1,1,1,1,1,true,true]', "a Pass whose k0 is a bool"),
        (nested(60), "nested more than 50"), (nested(10**6), "damaged data"),
        ("9" * 5000, "damaged data"),
        ('["list",' + "0," * plain_data.MOST_ITEMS + "0]", "more than 4,000,000 items"),
        ('"' + "x" * plain_data.MOST_BYTES + '"', "more than 96 MiB"),
        (pickle.dumps(3), "more than"),
    ], ids=range(33))  # fmt: skip
def test_damage_and_excess_are_named(text, named):
    raises(NotPlain, named, loads, text)


def classes():
    """Return every class of the package, with what is in it once all modules are loaded."""
    names = [m.name for m in pkgutil.walk_packages(trainium_edu.__path__, "trainium_edu.")
             if not m.name.startswith(("trainium_edu.torch", "trainium_edu.__main__"))]  # fmt: skip
    kinds = [kind for module in list(map(importlib.import_module, names))
             for kind in vars(module).values()
             if inspect.isclass(kind) and kind.__module__.startswith("trainium_edu.")]  # fmt: skip
    return {kind: dict(vars(kind)) for kind in kinds}


#: The attack that worked: BUILD of a pickle sets attributes on the class that was found.
REWRITES_A_CLASS = (
    b"ctrainium_edu.neuroncore.run\nRun\nN}(X\x04\x00\x00\x00bandX\x04\x00\x00\x00mineu\x86b."
)


def test_no_input_changes_a_class_of_the_grader():
    """Twenty thousand texts: what dumps writes, changed at random, and names of classes as tags."""
    before, chance = classes(), random.Random(28)
    names = sorted({kind.__name__ for kind in before} | set(plain_data.RECORDS))
    seeds = [dumps(value) for value in VALUES] + [dumps(np.arange(3))]
    tags = ["list", "dict", "tuple", "ndarray", "record", "object", *names]
    results = collections.Counter()
    for _ in range(20_000):
        text = chance.choice(seeds)
        match chance.randrange(4):
            case 0:
                text = json.dumps(
                    [chance.choice(tags), {"band": "mine"}, ["dict", ["tuple", "band", 1]]]
                )
            case 1:
                at = chance.randrange(len(text))
                text = text[:at] + chance.choice('[]{}",0-9eaN\\') + text[at + 1 :]
            case 2:
                other = chance.choice(seeds)
                text = text[: chance.randrange(len(text))] + other[chance.randrange(len(other)) :]
            case 3:
                text = json.dumps(["list", json.loads(chance.choice(seeds)), ["Pass", 1, 2]])
        try:
            back = loads(text)
        except NotPlain:
            results["refused"] += 1
        else:
            results["read"] += 1
            assert not inspect.isclass(back)
    for attack in (REWRITES_A_CLASS, REWRITES_A_CLASS.decode("latin1")):
        raises(NotPlain, "", loads, attack)
    assert min(results.values()) > 300
    assert isinstance(vars(Run)["band"], property)
    changed = [
        (kind, name) for kind, had in before.items() for name in {*had, *vars(kind)}
        if had.get(name) is not vars(kind).get(name)
    ]  # fmt: skip
    assert changed == []
    assert all(dataclasses.is_dataclass(getattr(importlib.import_module(m), n))
               for n, m in plain_data.RECORDS.items())  # fmt: skip
