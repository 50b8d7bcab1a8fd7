"""What the command line does: lab, update, grade, leaderboard, export.

Each command is one module with a plain function that a test or a notebook can call, and
``__main__.py`` only reads arguments.  Read ``lab.py`` first, then ``grade.py``.  Left out: a
sandbox.  Grading limits time, memory and output, and keeps the checks in another process than the
submission, but it runs what students wrote: use a container.

Learners meet it through ``python -m trainium_edu lab``, instructors through
``.github/INSTRUCTORS.md``.
"""

__all__: list[str] = []
