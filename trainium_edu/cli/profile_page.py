"""The page that ``neuron-profile view`` opens: the timeline explorer, the summary and the advice.

It is the notebooks' explorer without a kernel behind it, in one file that needs nothing else, and
``serve`` hands it to browsers of this computer only.
"""

import base64
import gzip
import json
import os
import sys
from collections.abc import Mapping
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

from trainium_edu.neuroncore.run import Run
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.neuron_profile import TERMS, summary

__all__ = ["Pages", "page", "pages", "serve", "server"]

_STYLE = Path(__file__).with_name("report.css")
_PANELS = ("source", "timeline", "memory")
_PORTS = 100  #: tried one after the other


@checked
def page(name: str, run: Run) -> str:
    """Return the page of one profile.

    Parameters
    ----------
    name : str
        What the profile is called.
    run : Run

    Returns
    -------
    str
        HTML.
    """
    from trainium_edu.widgets.static import load
    from trainium_edu.widgets.timeline_explorer import TimelineExplorer

    found = summary(run)
    try:
        explorer, why = TimelineExplorer(run, panels=_PANELS, sliders=False, profile=True), ""
    except ValueError as problem:  # too long for a page
        explorer, why = None, str(problem)
    kernel = escape(run.name)
    time_us = 1e6 * found["total_time"]
    about = (f"{time_us:.4g} µs on one NeuronCore of a {found['instance_type']}: "
             f"{1e6 * found['total_exec_time']:.4g} µs for its instructions, the rest to start and "
             "stop. Emulated by trainium_edu: predicted, not measured.")  # fmt: skip
    rows = "".join(
        f'<tr><th scope="row"><code>{key}</code></th><td class="n">{escape(_text(value))}</td>'
        f"<td>{escape(TERMS[key])}</td></tr>\n" for key, value in found.items()
    )  # fmt: skip
    advice = "".join(f"<li>{escape(str(one))}</li>\n" for one in run.advice)
    advice = f"<ul>{advice}</ul>" if advice else "<p>Nothing was found that costs time.</p>"
    style = _STYLE.read_text(encoding="utf-8")
    theme = load("profile_page.css")
    shown = f"<p>{escape(why)}</p>" if explorer is None else '<div id="explorer"></div>'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{kernel}: profile {escape(name)}</title>
<style>
{style}{theme}{"" if explorer is None else explorer._css}</style>
</head>
<body>
<header>
<h1>{kernel}</h1>
<p class="about">{escape(about)}</p>
</header>
<main>
<section id="timeline"><h2>Timeline</h2>{shown}</section>
<section id="advice"><h2>Advice</h2>{advice}</section>
<section id="summary"><h2>Summary</h2>
<div class="scroll"><table><caption>As <code>view --output-format summary-text</code> prints it; a
percent is a fraction</caption><thead><tr><th scope="col">key</th><th scope="col" class="n">value
</th><th scope="col">what it is</th></tr></thead><tbody>
{rows}</tbody></table></div></section>
</main>
{"" if explorer is None else _script(explorer)}</body>
</html>
"""


def _text(value) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _script(explorer) -> str:
    """Return the explorer as a module of the page, with a model that stands for the kernel's."""
    from trainium_edu.widgets.static import load

    state = {name: getattr(explorer, name) for name in explorer.keys if name in _SHOWN}
    packed = {name: _packed(state.pop(name)) for name in ("book", "film")}
    given = json.dumps(state).replace("<", "\\u003c")
    source = load("profile_page.js").replace("export default ", "const show = ")
    code = f"{source}\nshow({given});".replace("</", "<\\/")
    held = "".join(
        f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in packed.items()
    )
    return f'{held}<script type="module">\n{code}\n</script>\n'


def _packed(data) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


_SHOWN = {"book", "film", "label", "panels", "colours", "ports", "queues", "sliders", "switches",
          "first", "knobs", "window", "cursor_ns", "picked", "picked_line"}  # fmt: skip


# -- serving --------------------------------------------------------------------------------------


class Pages(dict):
    """Pages by their names, each made when it is first asked for."""

    def __init__(self, runs: Mapping[str, Run]):
        super().__init__()
        self.runs = dict(runs)

    def __missing__(self, name):
        self[name] = page(name, self.runs[name])
        return self[name]

    def listed(self) -> str:
        """Return a page that links to all of them."""
        links = "".join(f'<li><a href="/profile/{quote(name)}">{escape(name)}</a></li>\n'
                        for name in self.runs)  # fmt: skip
        return (f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Profiles</title>'
                f"<h1>Profiles</h1><ul>{links}</ul></html>\n")  # fmt: skip


@checked
def pages(runs: dict) -> Pages:
    """Return the pages of runs, by their names."""
    return Pages(runs)


@checked
def server(shown: Pages, port: int) -> ThreadingHTTPServer:
    """Return a server of pages on the loopback address, at `port` or at the next free one.

    Parameters
    ----------
    shown : Pages
    port : int

    Raises
    ------
    OSError
        If no port is free.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            place = unquote(self.path.split("?")[0])
            name = place.removeprefix("/profile/")
            if place == "/":
                self.answer(200, shown.listed())
            elif place.startswith("/profile/") and name in shown.runs:
                self.answer(200, shown[name])
            else:
                self.answer(404, "there is no such profile; / lists them\n", "text/plain")

        def answer(self, code, text, kind="text/html"):
            data = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        allow_reuse_address = os.name == "posix"  # on Windows two could share a port
        daemon_threads = True

    for number in range(port, min(port + _PORTS, 65_536)):
        try:
            return Server(("127.0.0.1", number), Handler)
        except OSError:
            continue
    raise OSError(f"no port from {port} to {number} is free; name another with --port")


@checked
def serve(shown: Pages, port: int) -> int:
    """Show pages until Ctrl-C.

    Parameters
    ----------
    shown : Pages
    port : int
        The first that is tried.

    Returns
    -------
    int
        0.
    """
    for name in shown.runs:
        shown[name]  # made now, so that what is wrong is said before anybody opens it
    with server(shown, port) as serving:
        number = serving.server_address[1]
        if number != port:
            print(f"port {port} is taken; this is the next free one", file=sys.stderr)
        place = f"profile/{next(iter(shown.runs))}" if len(shown.runs) == 1 else ""
        what = "View profile" if place else "View a list of profiles"
        print(f"{what} at http://localhost:{number}/{place}\nctrl-c to exit", flush=True)
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
