"""What the tests of the page share: traces and pages made once, pages opened and asked to complain of
nothing, the list of tests."""

import json
import os
import subprocess
import sys

import browser
import traces

RIDGE, GENERATE, FIXTURES, SCRATCH, PICTURES = sys.argv[1:6]
CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "traces")
MANY = int(os.environ.get("RIDGE_PAGE_EVENTS", "100000"))  # tests/long/page: a million
KINDS_OF_EVENT = "activities calls ranges gaps samples counters memory states".split()

tests = []


class Skip(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def require(holds, words):
    if not holds:
        raise AssertionError(words)


def make_page(name, *sources):
    """Writes a page, once, and returns its path."""
    path = os.path.join(SCRATCH, name + ".html")
    if os.path.exists(path):
        return path
    run = subprocess.run([RIDGE, "report", *sources, "--format", "html", "-o", path], capture_output=True, text=True)
    if run.returncode != 0:
        raise AssertionError(f"ridge report {' '.join(sources)}: {run.stderr.strip()}")
    return path


def made_trace(name, **options):
    path = os.path.join(SCRATCH, name + ".json")
    if not os.path.exists(path):
        getattr(traces, options.pop("maker", name))(path, **options)
    return path


def large_trace():
    path = os.path.join(SCRATCH, "many.ridge")
    if not os.path.exists(path):
        if not os.access(GENERATE, os.X_OK):
            raise Skip("the generator of large traces is not built")
        subprocess.run([GENERATE, "ridge", str(MANY), path], check=True, stdout=subprocess.DEVNULL)
    return path


class Opened:
    """A page that is open; asked to complain of nothing."""

    def __init__(self, chromium, path, **size):
        self.page = browser.Page(chromium, **size)
        self.path = path

    def __enter__(self):
        try:
            self.page.seconds = self.page.open(self.path)
        except Exception:
            self.page.close()
            raise
        self.page.settle()
        return self.page

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                require(not self.page.complaints, f"the console says: {self.page.complaints[:3]}")
                others = [url for url in self.page.requests if not url.startswith(("file://", "data:"))]
                require(not others and sum(url.startswith("file:") for url in self.page.requests) == 1, f"the page asks for {self.page.requests[:4]}")
        finally:
            self.page.close()


def view_of(page):
    view = page.run("ridge.view")
    return view["from"], view["to"]


def timeline_box(page):
    """Where the timeline's canvas is: x, y, width, height."""
    box = page.box(".stage canvas")
    page.settle()
    return box


def event_count(page):
    return page.run(f"ridge.traces.reduce((sum, trace) => sum + {json.dumps(KINDS_OF_EVENT)}.reduce((n, table) => n + trace[table].count, 0), 0)")


def painted(page, selector):
    """How many different colors a canvas shows."""
    return page.run(f"""(() => {{
        const canvas = document.querySelector({json.dumps(selector)});
        if (!canvas || !canvas.width || !canvas.height) return 0;
        const {{data}} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4 * 7)
            seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return seen.size;
    }})()""")
