"""Judges: a real kernel, whose cells run as a notebook's do, and Python's garbage collector."""

import json

import pytest
from jupyter_client.manager import start_new_kernel

from tests.texts import text_beside

SETUP = text_beside(__file__, "setup.py.txt")


@pytest.fixture(scope="module")
def run():
    """Return a function that runs a cell by its id, and returns what it prints."""
    manager, client = start_new_kernel(kernel_name="python3")

    def run(code, cell):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True}  # fmt: skip
        asked = client.session.msg("execute_request", content, metadata={"cellId": cell})
        client.shell_channel.send(asked)
        said = ""
        while True:
            told = client.get_iopub_msg(timeout=60)
            if told["parent_header"].get("msg_id") != asked["header"]["msg_id"]:
                continue
            assert told["msg_type"] != "error", told["content"]["traceback"]
            said += told["content"].get("text", "") if told["msg_type"] == "stream" else ""
            if told["content"].get("execution_state") == "idle":
                return said

    run(SETUP, "setup")
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("cell", ["topology_explorer()", "w = topology_explorer(); w"])
def test_cell_that_runs_again_holds_one_widget(run, cell):
    run(cell, cell)
    once = json.loads(run("held()", "held"))
    for _ in range(4):
        run(cell, cell)
    assert json.loads(run("held()", "held")) == once


def test_widget_in_a_variable_or_in_another_cell_stays_whole(run):
    run("kept = []", "list")
    for _ in range(2):
        run("kept.append(topology_explorer()); kept[-1]", "both")
    assert run("print(kept[0].comm is not None, kept[0].start)", "use") == "True 0\n"
    run("shown = topology_explorer()", "make")
    run("shown", "show")
    before = json.loads(run("held()", "held"))
    run("shown = topology_explorer()", "make")  # the page still shows the first
    assert json.loads(run("held()", "held"))[0] == before[0] + 2
    run("shown", "show")
    assert json.loads(run("held()", "held")) == before
