"""The questions that lessons ask before they run something: a module and a TOML file a lesson.

Each question is one function, decorated with :func:`trainium_edu.exercises.predict.question`, that
takes the values its lesson has at hand and returns the answer, what each wrong model answers, and
what to show.  Its words are the table of its name in the TOML file beside the module.
"""
