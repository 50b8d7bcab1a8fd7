"""Checks, hints and feedback: plain functions that a notebook and a grader both call.

Each lesson with exercises has a module of its own, named like its notebook without the number.
``exercise.py`` says what an exercise is (read it first), ``judge.py`` how a check judges an answer,
``learner.py`` what is remembered, ``catalogue.py`` which exercises there are, ``progress.py`` how
far a learner is in all of them.  Solutions are in ``solutions/``, as data that only a learner's
request opens.  Left out: any defence against a learner who edits the package; the grader runs its
own copy, in another process.

Sources: the misconceptions come from teaching the same subjects.  Used by every lesson with
exercises, by ``python -m trainium_edu grade``, and by the nbgrader export.
"""

from trainium_edu.exercises.catalogue import LESSONS, find, of_lesson, register

__all__ = ["LESSONS", "find", "of_lesson", "register"]
