"""Records real CUDA programs on a real GPU and holds each recording against what the program, or
another profiler, says of it:

    RIDGE=build/ridge python3 tests/gpu/recording.py [WORD]

Prints a line for each check, with its figures, and fails when one does. Needs a GPU, CUPTI and PyTorch;
checks whose framework is missing say so. Checks whose name lacks WORD are left out."""

import collections
import csv
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
RIDGE = os.path.abspath(os.environ.get("RIDGE", "build/ridge"))
PROGRAM = [sys.executable, os.path.join(HERE, "programs.py")]
CHECKS = []


class Missing(Exception):
    pass


def check(function):
    CHECKS.append(function)
    return function


def run(words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=240, **options)


def record(name, *options, arguments=(), environment=None, expect=0):
    """The trace, what the program printed, what ridge said."""
    trace = os.path.abspath(name + ".ridge")
    done = run([RIDGE, "record", "-f", "-o", trace, *options, "--", *PROGRAM, name, *arguments], env={**os.environ, **(environment or {})})
    if "ModuleNotFoundError" in done.stderr:
        raise Missing(next(line for line in done.stderr.splitlines() if "ModuleNotFoundError" in line))
    assert done.returncode == expect, f"exit {done.returncode}, not {expect}: {done.stderr[-600:]}"
    return trace, done.stdout, done.stderr


def report(trace, *options):
    done = run([RIDGE, "report", trace, "--json", "--top", "1000", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kernels(document):
    return document["totals"]["kernel_count"]


def near(ours, theirs, allowed, what):
    off = abs(ours - theirs) / max(abs(theirs), 1e-9)
    assert off <= allowed, f"{what}: {ours} against {theirs}, {off:.1%} apart"
    return f"{what} {ours:,.0f} against {theirs:,.0f} ({off:.2%})"


KNOWN_TO_BOTH = [  # path in totals, allowed difference
    ("kernel_count", 0), ("distinct_kernel_names", 0), ("memcpy_count", 0), ("memcpy_bytes", 0),
    ("memset_count", 0), ("memset_bytes", 0), ("launch.kernels_matched", 0), ("launch.kernels_unmatched", 0),
    ("kernel_sum_ns", 0.01), ("kernel_busy_ns", 0.01), ("memcpy_sum_ns", 0.05),
]


def value_at(document, path):
    for part in path.split("."):
        document = document[part]
    return document


def kernels_of(document):
    return {kernel["name"]: kernel for device in document["devices"].values() for kernel in device["kernels"]}


@check
def like_torch_profiler():
    """The same loop in turns: recorded by ridge and kept to its twenty steps, and exported by
    torch.profiler. Counts must be equal in every run, times in their medians."""
    mine, theirs = [], []
    for _ in range(3):
        mine.append(report(record("loop", "--no-sampling", "--capture-range", "cudaProfilerApi")[0]))
        export = os.path.abspath("loop.json")
        done = run([*PROGRAM, "loop", export])
        assert done.returncode == 0, done.stderr
        theirs.append(report(export))
    lines, wrong = [], []
    for path, allowed in KNOWN_TO_BOTH:
        ours, others = ([value_at(document["totals"], path) for document in documents] for documents in (mine, theirs))
        try:
            if allowed == 0:
                assert set(ours) == set(others) and len(set(ours)) == 1, f"{path}: {ours} against {others}"
            lines.append(near(statistics.median(ours), statistics.median(others), allowed, path))
        except AssertionError as error:
            wrong.append(f"{error} (each run: {ours}, {others})")
    ours, others = kernels_of(mine[0]), kernels_of(theirs[0])
    different = {name for name in ours.keys() | others.keys() if ours.get(name, {}).get("count") != others.get(name, {}).get("count")}
    if different:
        wrong.append(f"counts of {sorted(different)[:3]} differ")
    assert not wrong, "; ".join(wrong)
    return "; ".join(lines)


@check
def like_cupy_events():
    trace, printed, _ = record("cupy", "--no-sampling")
    told = float(re.search(r"event_ms ([0-9.]+)", printed)[1]) * 1e6
    products = [k for k in kernels_of(report(trace)).values() if "gemm" in k["name"].lower() or "cutlass" in k["name"].lower()]
    total = sum(k["total_ns"] * 50 / 51 for k in products if k["count"] == 51)
    return near(total, told, 0.01, "50 products")


@check
def other_frameworks():
    found = []
    for name, least in (("jax", 10), ("triton", 30)):
        trace, _, _ = record(name, "--no-sampling")
        count = kernels(report(trace))
        assert count >= least, f"{name}: {count} kernels"
        found.append(f"{name} {count} kernels")
    return ", ".join(found)


def range_named(document, name):
    ranges = document["ranges"]["list"]
    found = [r for r in ranges if r["name"].startswith(name)]
    assert found, f"no range {name} among {[r['name'] for r in ranges][:12]}"
    return found[0]


@check
def nvtx_of_torch():
    trace, _, _ = record("nvtx", "--no-sampling")
    document = report(trace)
    launched = [range_named(document, f"layer {i}")["activities"] for i in range(3)]
    assert len(set(launched)) == 1 and launched[0] >= 10, launched
    assert range_named(document, "layer 0")["depth"] == 1 and range_named(document, "step 0")["depth"] == 0
    return f"three layers with {launched[0]} kernels each, nested in their steps"


@check
def nvtx_of_emit_nvtx():
    trace, _, _ = record("emit_nvtx", "--no-sampling")
    ranges = report(trace)["ranges"]["list"]
    linear = [r for r in ranges if "addmm" in r["name"] or "linear" in r["name"].lower()]
    backward = [r for r in ranges if "Backward" in r["name"]]
    assert linear and backward and any(r["activities"] for r in linear), [r["name"] for r in ranges][:20]
    return f"{len(ranges)} ranges, {len(backward)} of them of the backward pass"


@check
def nvtx_of_the_package():
    trace, _, _ = record("nvtx_package", "--no-sampling")
    inner = range_named(report(trace), "inner")
    assert inner["count"] == 4 and inner["activities"] >= 4, inner
    return f"inner: {inner['count']} times, {inner['activities']} kernels"


@check
def capture_range_of_the_api():
    trace, _, _ = record("capture_range", "--no-sampling", "--capture-range", "cudaProfilerApi")
    assert kernels(report(trace)) == 4, kernels(report(trace))
    return "4 of 11 kernels"


@check
def capture_range_of_nvtx():
    trace, _, _ = record("capture_range", "--no-sampling", "--capture-range", "nvtx:wanted")
    assert kernels(report(trace)) == 4, kernels(report(trace))
    return "4 of 11 kernels"


@check
def graphs():
    by_node = report(record("graph", "--no-sampling", "--graph=node")[0])
    whole = report(record("graph", "--no-sampling", "--graph=graph")[0])
    assert kernels(by_node) - kernels(whole) in (200 - 25, 200), (kernels(by_node), kernels(whole))
    return f"{kernels(by_node)} kernels by node, {kernels(whole)} activities with graphs whole"


@check
def waits_between_queues():
    trace = record("streams", "--no-sampling", "--capture-range", "cudaProfilerApi")[0]
    done = run([RIDGE, "export", "-F", "csv", "-t", "wait", trace])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    of_kind = collections.Counter(row["kind"] for row in rows)
    assert (of_kind["stream-wait"], of_kind["event"], of_kind["stream"]) == (10, 10, 10), of_kind
    places = {(row["kind"], row["queue_stream"], row["awaited_stream"]) for row in rows if row["kind"] != "context"}
    assert len(places) == 3 and len({row["event"] for row in rows if row["event"] != "0"}) == 1, places
    return f"{dict(of_kind)}; none of those that were captured"


def fault(name, expect, least, *options, **more):
    trace, printed, said = record(name, "--no-sampling", *options, expect=expect, **more)
    count = kernels(report(trace))
    assert count >= least, f"{count} kernels, at least {least} were launched before the last flush"
    return f"exit {expect}, {count} kernels" + (f"; printed: {printed.strip()}" if printed.strip() else "")


@check
def fault_killed():
    return fault("killed", -signal.SIGKILL, 1000)


@check
def fault_killed_busy():
    trace, printed, _ = record("killed_busy", "--no-sampling", "--capture-range", "cudaProfilerApi", expect=-signal.SIGKILL)
    done = run([RIDGE, "export", "-F", "csv", "-t", "activity", trace])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    told = (max(int(row["start"]) + int(row["duration"]) for row in rows) - min(int(row["start"]) for row in rows)) / 1e9
    assert float(printed) - told < 0.2, f"{told:.3f} s of {float(printed):.3f} are told of"
    return f"{len(rows)} kernels in {told:.3f} s; killed after {float(printed):.3f} s"


@check
def fault_crash():
    return fault("crash", -signal.SIGSEGV, 1000)


@check
def fault_leave():
    return fault("leave", 3, 1000)


@check
def fault_leave_from_thread():
    return fault("leave_from_thread", 4, 1000)


@check
def fault_fork():
    return fault("fork", 0, 1000)


@check
def fault_out_of_memory():
    return fault("out_of_memory", 0, 100)


@check
def fault_out_of_host_memory():
    return fault("out_of_host_memory", 0, 100)


@check
def fault_own_profiler():
    alone = run([*PROGRAM, "own_profiler"])
    trace, printed, said = record("own_profiler", "--no-sampling")
    expected, words = "kernels of its own 100 on the host's clock", " ".join(said.split())
    assert alone.stdout.strip() == expected, f"alone: {alone.stdout} {alone.stderr[-300:]}"
    assert printed.strip() == expected, f"recorded: {printed.strip()}; ridge said: {words[-300:]}"
    document = report(trace)
    warnings = " ".join(document["trust"]["warnings"])
    assert "took over CUPTI after" in words or "used CUPTI between" in words, words
    assert "CUPTI" in warnings, warnings
    return f"{printed.strip()}, as alone; ridge has {kernels(document)} kernels and said: {words[-200:]}"


@check
def fault_no_cupti():
    trace, printed, said = record("leave", "--no-sampling", environment={"RIDGE_CUPTI": "/nowhere/libcupti.so"}, expect=3)
    words = " ".join(said.split())
    assert "CUPTI" in words or "cupti" in words, words
    return words[-160:]


@check
def fault_disk_full():
    """The trace goes to a file system of 256 KB, the program's launches would need four times that."""
    os.mkdir("small")
    if run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "small"]).returncode != 0:
        raise Missing("no right to mount a small file system")
    try:
        done = run([RIDGE, "record", "--no-sampling", "-f", "-o", "small/full.ridge", "--", *PROGRAM, "many"])
        assert done.returncode == 0 and done.stdout.strip() == "last 200000.0", (done.returncode, done.stdout, done.stderr[-300:])
        words = " ".join(done.stderr.split())
        assert "No space left" in words, words
        return f"the program ended as alone; {kernels(report('small/full.ridge')):,} kernels were kept; ridge said: {words[:160]}"
    finally:
        run(["umount", "small"])


@check
def fault_recorder_killed():
    trace = os.path.abspath("recorder.ridge")
    recorder = subprocess.Popen([RIDGE, "record", "-q", "-f", "--no-sampling", "-o", trace, "--", *PROGRAM, "million"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(8)
    recorder.send_signal(signal.SIGKILL)
    printed = recorder.stdout.read()  # open until the program ends
    recorder.wait()
    count = kernels(report(trace))
    assert printed.strip() == "last 1000000.0" and count > 0, (printed, count)
    return f"the program went on to {printed.strip()}; {count:,} kernels were kept"


@check
def million_launches():
    trace, printed, said = record("million", "--no-sampling")
    count = kernels(report(trace))
    assert count >= 1000000, count
    return f"{count:,} kernels, {os.path.getsize(trace) / count:.1f} bytes each; {printed.strip()}; " + " ".join(said.split())[-160:]


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ridge-gpu-") as folder:
        os.chdir(folder)
        for function in CHECKS:
            if word not in function.__name__:
                continue
            started = time.time()
            try:
                said, verdict = function(), "ok  "
            except Missing as missing:
                said, verdict = f"skipped: {missing}", "skip"
            except Exception as error:
                failed += 1
                said, verdict = "".join(traceback.format_exception_only(error)).strip(), "FAIL"
            print(f"{verdict} {function.__name__} ({time.time() - started:.0f} s): {said}", flush=True)
    print(f"{failed} failed")
    sys.exit(failed > 0)


main()
