"""Edits recorded traces: to Chrome's JSON by `ridge export`, and back by `ridge import`, which loses nothing.

neutralize() takes out what names a machine or a person. slow_clock() makes a trace in which the device
runs slower from some moment on, as one whose clock was lowered: made up, and said so in truth.json."""

import getpass
import gzip
import json
import os
import socket
import subprocess
import tempfile

NEUTRAL = "corpus"
MARGIN_US = 1000
THERMAL = 0x20  # NVML's reason: the software lowered the clock because of the temperature


def read(ridge, path):
    done = subprocess.run([ridge, "export", path, "--format", "chrome"], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode(errors="surrogateescape")


def write(ridge, text, path):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.basename(path).replace(".ridge", ".json")  # goes into the trace, the folder does not
        with open(os.path.join(folder, name), "w", errors="surrogateescape") as file:
            file.write(text)
        command = [os.path.abspath(ridge), "import", name, "-f", "-o", os.path.abspath(path)]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode(errors="replace").strip())
        os.chmod(path, 0o644)


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


def leave_start_out(trace):
    """Samples and states of threads are recorded all the time, CUDA in the timed steps alone: what lies
    outside of those is left out, as it is most of the file."""
    cuda = [e for e in trace["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver", "kernel")]
    if not cuda:
        return
    first, last = min(e["ts"] for e in cuda) - MARGIN_US, max(e["ts"] + e["dur"] for e in cuda) + MARGIN_US

    def is_inside(event):
        return event["ts"] + event.get("dur", 0) >= first and event["ts"] <= last

    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "ridge_state" or is_inside(e)]
    if "samples" in trace:
        trace["samples"] = [sample for sample in trace["samples"] if is_inside(sample)]
        used, frames = set(), trace.get("stackFrames", {})
        for sample in trace["samples"]:
            frame = sample.get("sf")
            while frame is not None and frame not in used:
                used.add(frame)
                frame = frames.get(frame, {}).get("parent")
        trace["stackFrames"] = {key: frame for key, frame in frames.items() if key in used}


def neutralize(ridge, path, captured=False):
    if path.endswith(".json.gz"):
        with gzip.open(path, "rt") as file:
            trace = json.loads(without_names(file.read()))
        for key in ("traceName", "trace_id", "host_name", "hostname", "distributedInfo"):
            trace.pop(key, None)
        with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
            file.write(json.dumps(trace, separators=(",", ":")).encode())
        return
    trace = json.loads(without_names(read(ridge, path)))
    trace.pop("host_name", None)
    if captured:
        leave_start_out(trace)
    own = trace["ridge"]
    own["meta"] = [row for row in own["meta"] if not row["key"].endswith("source.file")]
    for row in own["meta"]:
        if row["key"] == "host":
            row["value"] = NEUTRAL
    for row in own["process"]:
        row.pop("host", None)
    for row in own["device"]:
        row.pop("uuid", None)
    write(ridge, json.dumps(trace), path)


def slow_clock(ridge, source, target, factor, share):
    """From `share` of the device's time on, all takes `factor` times as long and the clock says so.
    Returns how many ns that added."""
    trace = json.loads(read(ridge, source))
    events = trace["traceEvents"]
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    if not work:
        raise RuntimeError(f"{source} has no work of a device")
    first, last = min(e["ts"] for e in work), max(e["ts"] + e["dur"] for e in work)
    moment = first + (last - first) * share

    def later(time):
        return time if time <= moment else moment + (time - moment) * factor

    for event in events:
        if "ts" not in event:
            continue
        start = event["ts"]
        event["ts"] = round(later(start), 3)
        if "dur" in event:
            event["dur"] = round(later(start + event["dur"]) - later(start), 3)
    device = work[0]["pid"]
    clocks = [e for e in events if e.get("ph") == "C" and e["name"] == "clock (MHz)"]
    full = max((e["args"]["value"] for e in clocks), default=1980)
    for event in list(events):
        if event.get("ph") == "C" and event["name"] in ("clock (MHz)", "throttle reasons"):
            events.remove(event)
    for name, values in (("clock (MHz)", (full, round(full / factor))), ("throttle reasons", (0, THERMAL))):
        for time, value in zip((min(0, first), moment), values):
            events.append({"ph": "C", "cat": "", "name": name, "pid": device, "ts": round(time, 3), "args": {"value": value}})
    trace.pop("samples", None)
    write(ridge, json.dumps(trace), target)
    return int((later(last) - last) * 1000)
