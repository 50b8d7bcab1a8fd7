"""Run messages through SimGrid's torus: python3 simgrid_torus.py < job.json, prints seconds.

Started by test_simgrid.py with Debian's Python, which has SimGrid's bindings; no project code here.
A rank starts a step when all its sends and receives of the one before are through.
"""

import json
import sys
import tempfile

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="torus" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="{bandwidth}Bps"
           lat="{latency}s" topology="TORUS" topo_parameters="{shape}"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""
PLAIN_LINKS = (  # bytes over rate plus latency, links shared fairly; none of SimGrid's TCP factors
    "network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0",
    "surf/precision:1e-12",
)  # fmt: skip


def main():
    import simgrid

    job = json.load(sys.stdin)
    engine = simgrid.Engine(
        ["judge", *(f"--cfg={c}" for c in PLAIN_LINKS), "--log=root.thresh:critical"]
    )
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as platform:
        shape = ",".join(map(str, job["shape"]))
        last = len(job["ranks"]) - 1
        platform.write(PLATFORM.format(**job | {"shape": shape, "last": last}))
        platform.flush()
        engine.load_platform(platform.name)
    finish = [0.0]

    def rank(me, steps):
        for step, (sends, receives) in enumerate(steps):
            comms = [
                simgrid.Mailbox.by_name(f"{me}-{to}-{step}").put_async("x", size)
                for to, size in sends
            ]
            waits = [simgrid.Mailbox.by_name(f"{frm}-{me}-{step}").get_async() for frm in receives]
            for comm in comms:
                comm.wait()
            for comm, _ in waits:
                comm.wait()
            finish[0] = max(finish[0], simgrid.Engine.clock)

    for me, steps in enumerate(job["ranks"]):
        simgrid.Actor.create(f"r{me}", simgrid.Host.by_name(f"h{me}"), rank, me, steps)
    engine.run()
    print(repr(finish[0]))


if __name__ == "__main__":
    main()
