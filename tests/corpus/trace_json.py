"""Edits recorded traces with build/corpus/crop (crop.c), which copies a .ridge file.

neutralize() takes out what names a machine or a person. slow_clock() makes a trace in which the device
runs slower from some moment on, as one whose clock was lowered: made up, and said so in truth.json."""

import getpass
import gzip
import json
import os
import socket
import subprocess

NEUTRAL = "corpus"
MARGIN_NS = 5_000_000  # launches before the first kernel


def crop(ridge, source, target, options):
    """`target` may be `source`."""
    tool = os.path.join(os.path.dirname(os.path.abspath(ridge)), "corpus", "crop")
    made = target + ".cropped"
    done = subprocess.run([tool, *options, source, made], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    os.replace(made, target)


def names_of_this_place():
    """What must not be in a trace: this machine's name, the user's, the home folder, this folder."""
    words = {socket.gethostname(), socket.gethostname().split(".")[0], os.path.expanduser("~"), os.getcwd()}
    try:
        words.add(getpass.getuser())
    except (KeyError, OSError):
        pass
    words.add(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return sorted((word for word in words if len(word) > 3 and word not in ("root", "/root", "/tmp", NEUTRAL)), key=len, reverse=True)


def without_names(text):
    for word in names_of_this_place():
        text = text.replace(word, NEUTRAL)
    return text


def neutralize(ridge, path, captured=False):
    """Samples and states of threads are recorded all the time, CUDA of a captured part in that part alone:
    what precedes it is left out, as it is most of the file."""
    if path.endswith(".json.gz"):
        with gzip.open(path, "rt") as file:
            trace = json.loads(without_names(file.read()))
        for key in ("traceName", "trace_id", "host_name", "hostname", "distributedInfo"):
            trace.pop(key, None)
        with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
            file.write(json.dumps(trace, separators=(",", ":")).encode())
        return
    options = ["--from", str(-MARGIN_NS)] if captured else []
    for word in names_of_this_place():
        options += ["--replace", f"{word}={NEUTRAL}"]
    crop(ridge, path, path, options)


def slow_clock(ridge, source, target, factor, share):
    """From `share` of the device's time on, all takes `factor` times as long and the clock says so.
    Returns how many ns that added."""
    crop(ridge, source, target, ["--no-samples", "--slow", str(share), str(factor)])
    query = "SELECT max(start + duration) - min(start) FROM activity WHERE kind = 'kernel'"
    done = subprocess.run([ridge, "query", source, query, "--format", "csv"], capture_output=True, timeout=120, check=True)
    return int(int(done.stdout.split()[-1]) * (1 - share) * (factor - 1))
