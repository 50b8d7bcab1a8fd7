"""Interrupt a piece of work at steps of its own, then do it again.

Run as ``interrupted.py WORK HOW COUNT``.  HOW is ``warm`` (one session, interrupted again and
again), ``cold`` (each time the first call of a session, in a fork of this process, which has loaded
NumPy and Numba only), ``bare`` (as cold, Numba not loaded) or ``real`` (as bare, by a timer instead
of at a counted step).  A step is a line or a call of the main thread as Python's own trace counts
them; the signal is raised there, so nothing depends on the clock.  Prints what went wrong, and at
the end how often it interrupted.
"""

import faulthandler
import os
import signal
import sys
import time
import traceback

import numpy as np

HANGS_AFTER_S = 300


def kernel():
    """A blocked matmul on two programs that meet.  Judge: NumPy's product."""
    import trainium_edu.nki as nki
    import trainium_edu.nki.isa as nisa
    import trainium_edu.nki.language as nl
    from trainium_edu.nki.running import current

    a = np.arange(256 * 128, dtype=np.float32).reshape(256, 128) % 7
    b = np.arange(256 * 512, dtype=np.float32).reshape(256, 512) % 5

    @nki.jit
    def product(stationary, moving):
        out = nl.ndarray((128, 512), nl.float32, buffer=nl.shared_hbm)
        total = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        for k in range(2):
            rows = nl.ds(k * 128, 128)
            nisa.nc_matmul(total, nl.load(stationary[rows]), nl.load(moving[rows]))
        assert len(current().meet("half", None)) == 2
        nl.store(out, nl.copy(total))
        return out

    run = nki.run(product[2], a, b)
    assert np.array_equal(run.outputs, a.T @ b)
    return repr(run) + repr(run.why()) + repr(run.advice)


def cast():
    """Judge: ml_dtypes."""
    import ml_dtypes

    from trainium_edu import numerics

    x = np.linspace(-2, 2, 999, dtype=np.float32)
    assert np.array_equal(numerics.cast(x, "bf16"), x.astype(ml_dtypes.bfloat16))
    return numerics.running_sum(x, "bf16", "stochastic").values.tolist()


def ranks():
    """An all-reduce by moves and by the compiled loop.  Judge: the sum of ones."""
    from trainium_edu import fabric

    torus = fabric.trn1_32xlarge()
    schedule = fabric.plan(torus, "all_reduce", "ring")
    assert np.all(np.array(fabric.execute(schedule, np.ones((32, 64), np.float32))) == 32)
    assert (fabric.ring_all_reduce(np.ones((8, 64), np.float32)) == 8).all()
    return repr(fabric.account(schedule, torus, 2**20))


def array():
    """The systolic array.  Judge: the product of ones."""
    from trainium_edu.neuroncore import systolic_array

    run = systolic_array.run(np.ones((20, 20)), np.ones((20, 90)), fmt="bf16")
    assert (run.result == 20).all()
    return run.cycles


def training():
    """Judge: the same training, left alone."""
    from trainium_edu import training

    return repr(training.train("fp32", epochs=1, seeds=range(2)))


class Steps:
    """Count the steps of the main thread and raise SIGINT at one of them."""

    def __init__(self, at=-1):
        self.count, self.at, self.where = 0, at, "at no step"

    def __call__(self, frame, event, _):
        self.count += 1
        if self.count == self.at:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            signal.raise_signal(signal.SIGINT)
        return self


def interrupt(work, steps):
    """Do it once under a trace; return what came of it, or None if it was interrupted."""
    sys.settrace(steps)
    try:
        return work()
    except (Exception, KeyboardInterrupt):  # in some places NumPy turns it into an error of its own
        return None
    finally:
        sys.settrace(None)


def verdict(work, wanted, steps) -> str:
    found = interrupt(work, steps)
    again = work()
    wrong = [x for x in (found, again) if x is not None and x != wanted]
    return f"{steps.where}: {wrong[0]}" if wrong else ""


def timed(work, wanted, seconds) -> str:
    """Interrupt after so long, wherever it is then."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (Exception, KeyboardInterrupt):
        pass
    again = work()
    return f"after {seconds} s: {again}" if again != wanted else ""


def forked(function, *args):
    """Return what a function returns in a fork of this process."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True)
        try:
            answer = function(*args)
        except BaseException:  # reported by the caller
            lines = traceback.format_exc().splitlines()
            answer = "\n".join([str(getattr(args[-1], "where", "")), *lines[:30], *lines[-30:]])
        os.write(send, repr(answer).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        answer = file.read()
    status = os.waitpid(child, 0)[1]
    return eval(answer) if answer else f"{args[2:]}: ended with status {status}"  # our own repr


def measured(work):
    steps, start = Steps(), time.perf_counter()
    wanted = interrupt(work, steps)
    return wanted, steps.count, time.perf_counter() - start


def main(name, how, count):
    work, count = globals()[name], int(count)
    if how == "cold":
        import numba  # noqa: F401
    if how == "warm":
        work()
        wanted, total, _ = measured(work)
        # parts of a step so that each kind of line is met, at another place each time
        found = [verdict(work, wanted, Steps(1 + (2 * k + 1) * total // (2 * count)))
                 for k in range(count)]  # fmt: skip
    else:
        forked(work)  # fills Numba's cache on disk
        wanted, total, seconds = forked(measured, work)
        found = []
        for k in range(count):
            share = (2 * k + 1) / (2 * count)
            if how == "real":
                found.append(forked(timed, work, wanted, share * seconds))
            else:
                found.append(forked(verdict, work, wanted, Steps(1 + int(share * total))))
    print(*filter(None, found), f"{len(found)} interrupts", sep="\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    main(*sys.argv[1:])
