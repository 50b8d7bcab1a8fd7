"""The questions that lessons ask before they run something: one module a lesson.

Each is one function, decorated with :func:`trainium_edu.exercises.predict.question`, that takes the
values its lesson has at hand and returns the answer, the reason, and what to show.
"""
