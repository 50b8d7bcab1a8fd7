"""Compilers for tests of parallel compilation; light, as every process that compiles loads them."""

import os
import signal
import time


def compiled_by(graph, flags_text):
    """Return a program that says who made it of what; a compiler of the tests."""
    return f"{graph}|{flags_text}|{os.getpid()}".encode()


def fails_on_two(graph, flags_text):
    if graph.startswith("graph 2"):
        raise ValueError("no room in SBUF")
    return compiled_by(graph, flags_text)


def fails_at_first(graph, flags_text):
    """Fail once per graph, as a computer short of memory may."""
    mark = os.path.join(os.environ["TRAINIUM_EDU_HOME"], f"tried {graph}")
    if not os.path.exists(mark):
        os.mkdir(mark)
        raise MemoryError("short of memory")
    return compiled_by(graph, flags_text)


def dies(graph, flags_text):
    os.kill(os.getpid(), signal.SIGKILL)


def waits(graph, flags_text):
    """Compile the first graph at once, the others when there is a folder "go"."""
    while graph != "graph 1" and not os.path.isdir(os.environ["TRAINIUM_EDU_HOME"] + "/go"):
        time.sleep(0.01)
    return compiled_by(graph, flags_text)
