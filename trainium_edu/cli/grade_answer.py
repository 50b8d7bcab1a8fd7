"""Grade one answer that somebody else's kernel holds: ``python -m trainium_edu.cli.grade_answer``.

nbgrader's hidden tests run in the submission's own kernel, where anything of this package may have
been replaced.  So they (``exercises/assignment.py`` writes them) start this process, hand it the
answer, and call it when asked to: the check and its numbers are here.  A message is one line of
``plain_data``, which runs nothing.
"""

import sys
import tempfile
from pathlib import Path

from trainium_edu import exercises, files
from trainium_edu.cli import sandbox
from trainium_edu.cli.apart import Answer, as_exception
from trainium_edu.cli.grade_cpp import CppApart
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises import plain_data

__all__ = ["main"]


def main():
    """Read what to grade from stdin, and write the grade to stdout."""
    out, sys.stdout = sys.stdout, sys.stderr

    def heard():
        return plain_data.loads(sys.stdin.readline(plain_data.MOST_BYTES + 2))

    def tell(*what):
        print(plain_data.dumps(what), file=out, flush=True)

    def ask(*what):
        tell(*what)
        return heard()

    def call(args, kwargs):
        kind, value = ask("call", (args, kwargs))
        if kind == "raised":
            raise as_exception(str(value[0]), str(value[1]), "")
        if kind != "value":
            raise TypeError(f"it returns {value}; plain data is asked for")
        return value

    key, student, salt, own = heard()
    with tempfile.TemporaryDirectory() as folder:  # of a lesson of the instructor's own
        for name, text in own.items():
            files.write(Path(folder, name), text)
        for name in own:
            if name.endswith(".py"):
                exercises.register(Path(folder, name))
    try:
        kind, value = heard()
        if kind == "unsendable":
            tell("wrong", f"it is {value}; plain data or a function is asked for")
            return
        with CppApart(not sandbox.missing(), Limits()):
            answer = Answer(str(value), call) if kind == "callable" else value
            grade = exercises.find(key).grade(answer, student, salt)
        tell(grade.status, grade.reason)
    except plain_data.NotPlain as error:
        tell("wrong", f"it holds {error}; plain data is asked for")


if __name__ == "__main__":
    main()
