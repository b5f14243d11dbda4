"""Does ridge reproduce the figures that were computed independently of it?

For every trace of the project's own in tests/fixtures, and for made-up ones, the figures come from reference.py. For every file
that truth.json of the shared fixtures names (where they are), every figure there is compared with the JSON report's: integers
exactly, ratios and means to one part in a billion. And in every report, also narrowed ones, the parts
must sum to their wholes exactly and be what docs/report-json.schema.json says.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "figures"))
import reference
import schema
import synthetic

# What truth.json tells about the files themselves, which a report has no place for.
NOT_REPORTED = {"nvtx_events", "target_pid", "rows_by_process"}

# truth.json's definition of launches names no host calls for XPlane files and counts their device
# planes only. The host plane of the fixture does hold calls that carry the kernels' correlation ids, and
# ridge joins them: these figures, and the span that calls stretch, are then not the same question.
NOT_COMPARABLE = {"xplane": {"api_call_count", "launch", "trace_span_ns", "trace_util"}}

COPY_KINDS = {"CopyHostToDevice": "HtoD", "CopyDeviceToHost": "DtoH", "CopyDeviceToDevice": "DtoD"}
RANGE_CATEGORIES = {
    "cpu_op": "op",
    "Operator": "op",
    "user_annotation": "annotation",
    "python_function": "python",
    "gpu_user_annotation": "device",
    "overhead": "overhead",
}
NAME_LENGTH = 120  # truth.json cuts kernel names to this
SCHEMA = schema.load()
SYNTHETIC = 24  # made-up traces


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def equal(self, where, what, ours, truth):
        if same(ours, truth):
            self.passed += 1
        else:
            self.failed += 1
            print(f"{where}: {what} is {ours}, not {truth}")


def same(ours, truth):
    if isinstance(truth, float) and isinstance(ours, (int, float)) and not isinstance(ours, bool):
        return abs(ours - truth) <= 1e-9 * max(abs(ours), abs(truth))
    return ours == truth and isinstance(ours, bool) == isinstance(truth, bool)


def find_files(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            found[name] = os.path.join(place, name)
    return found


def report(ridge, path, *options):
    """The parsed JSON report, or a string that says why there is none."""
    done = subprocess.run([ridge, "report", path, "--format", "json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return json.loads(done.stdout)


def compare_counts(checks, where, what, ours, truth):
    """Objects of counts in which what is absent counts 0."""
    for key in sorted(set(ours) | set(truth)):
        checks.equal(where, f"{what} {key}", ours.get(key, 0), truth.get(key, 0))


def known_bytes(key, value):
    """The truth sums the sizes that copies have: 0 where no copy has one. The report then has null."""
    return 0 if value is None and key in ("bytes", "memcpy_bytes", "memset_bytes") else value


def compare_members(checks, where, what, ours, truth, without=()):
    for key, value in truth.items():
        if key not in without:
            checks.equal(where, f"{what}.{key}", known_bytes(key, ours.get(key)), value)


def compare_ranges(checks, where, totals, truth):
    counts = {}
    for category, count in truth.items():
        if category == "cuda_sync":
            checks.equal(where, "sync records", sum(totals["sync_records"].values()), count)
        elif category != "Trace":
            name = RANGE_CATEGORIES[category]
            counts[name] = counts.get(name, 0) + count
    for name, count in counts.items():
        checks.equal(where, f"ranges_by_category.{name}", totals["ranges_by_category"][name], count)


def compare_truth(checks, where, ours, truth, without):
    totals = ours["totals"]
    for key, value in truth.items():
        if key in NOT_REPORTED or key in without:
            continue
        if key == "devices":
            checks.equal(where, "devices", sorted(ours["devices"]), sorted(value))
            for device, figures in value.items():
                compare_members(checks, where, f"device {device}",
                                ours["devices"].get(device, {}), figures, without)
        elif key == "memcpy_by_kind":
            kinds = {COPY_KINDS.get(kind, kind): figures for kind, figures in value.items()}
            checks.equal(where, key, sorted(totals[key]), sorted(kinds))
            for kind, figures in kinds.items():
                compare_members(checks, where, f"{key}.{kind}", totals[key].get(kind, {}), figures)
        elif key in ("launch", "sync"):
            compare_members(checks, where, key, totals[key], value)
        elif key == "top_kernel":
            checks.equal(where, "top_kernel.name", totals[key]["name"][:NAME_LENGTH], value["name"])
            checks.equal(where, "top_kernel.time_ns", totals[key]["time_ns"], value["time_ns"])
        elif key == "cuda_sync_records":
            compare_counts(checks, where, "sync_records", totals["sync_records"], value)
        elif key == "sync_records":
            # by number, which nsys gets wrong in some files: ridge goes by the call's name
            checks.equal(where, "sync records", sum(totals[key].values()), sum(value.values()))
        elif key == "other_x_events":
            compare_ranges(checks, where, totals, value)
        elif key == "rows_total":
            checks.equal(where, "events_total", totals["events_total"], value)
        else:
            checks.equal(where, key, known_bytes(key, totals.get(key)), value)


def check_account(checks, where, account):
    parts = account["busy_ns"] + account["exposed_communication_ns"] + account["exposed_copy_ns"] + account["idle_ns"]
    checks.equal(where, "busy + exposed copy + idle", parts, account["window_ns"])
    checks.equal(where, "a part below 0",
                 min(account["busy_ns"], account["exposed_copy_ns"], account["idle_ns"]) < 0, False)
    checks.equal(where, "hidden + exposed copy",
                 account["copy_hidden_ns"] + account["exposed_copy_ns"], account["copy_union_ns"])


def check_gaps(checks, where, gaps, idle):
    causes = gaps["causes"]
    checks.equal(where, "the gaps' total", gaps["total_ns"], idle)
    checks.equal(where, "the sum of the causes", sum(c["time_ns"] for c in causes.values()), idle)
    checks.equal(where, "host code", sum(n["time_ns"] for n in gaps["host"]),
                 causes["host"]["time_ns"])
    checks.equal(where, "sync calls", sum(n["time_ns"] for n in gaps["sync_calls"]),
                 causes["sync"]["time_ns"])
    checks.equal(where, "the histogram's time", sum(b["time_ns"] for b in gaps["histogram"]), idle)
    checks.equal(where, "the histogram's count", sum(b["count"] for b in gaps["histogram"]),
                 gaps["count"])
    for gap in gaps["longest"]:
        checks.equal(where, f"the causes of the gap at {gap['start_ns']}",
                     sum(gap["causes"].values()), gap["duration_ns"])


def check_kernels(checks, where, device):
    for table in ("kernels", "kernel_variants"):
        checks.equal(where, f"the sum of {table}", sum(k["total_ns"] for k in device[table]),
                     device["kernel_sum_ns"])
        checks.equal(where, f"the count of {table}", sum(k["count"] for k in device[table]),
                     device["kernel_count"])
    launches = device["launches"]
    checks.equal(where, "kernels matched and not",
                 launches["kernels_matched"] + launches["kernels_unmatched"],
                 device["kernel_count"])


def check_sums(checks, where, ours):
    """The parts of every whole in a report, and its shape."""
    shape = list(schema.problems(SCHEMA, SCHEMA, ours))
    checks.equal(where, "the shape", shape[:3], [])
    totals, devices = ours["totals"], ours["devices"]
    for name, device in devices.items():
        place = f"{where}, device {name}"
        check_account(checks, place, device["account"])
        if device["steady"]:
            check_account(checks, f"{place}, steady", device["steady"])
        check_gaps(checks, place, device["gaps"], device["account"]["idle_ns"])
        check_kernels(checks, place, device)
        copies = device["copies"].values()
        checks.equal(place, "copies", sum(c["count"] for c in copies), device["account"]["copies"])
        checks.equal(place, "copy time", sum(c["time_ns"] for c in copies),
                     device["account"]["copy_sum_ns"])
        checks.equal(place, "the selected windows", device["selected"]["length_ns"],
                     device["account"]["window_ns"])
    for key in ("kernel_count", "kernel_sum_ns", "kernel_busy_ns"):
        checks.equal(where, f"{key} of all devices", sum(d[key] for d in devices.values()),
                     totals[key])
    checks.equal(where, "copies of all devices",
                 sum(d["account"]["copies"] for d in devices.values()), totals["memcpy_count"])
    classes = ours["api"]["classes"].values()
    checks.equal(where, "API time by class", sum(c["time_ns"] for c in classes),
                 ours["api"]["total_ns"])
    checks.equal(where, "API calls by class", sum(c["count"] for c in classes),
                 totals["api_call_count"])
    checks.equal(where, "API calls by name", sum(n["count"] for n in ours["api"]["names"]),
                 totals["api_call_count"])
    sites = ours["syncs"]["sites"]
    checks.equal(where, "sync time by place", sum(s["total_ns"] for s in sites),
                 ours["syncs"]["total_ns"])


def check_halves(checks, where, ridge, path, whole):
    """A run cut in two: what the halves have makes up the whole."""
    wall = whole["selection"]["wall_ns"]
    if wall < 2 or not whole["devices"]:
        return
    middle = wall * 3 // 7
    halves = [report(ridge, path, "--window", window)
              for window in (f"0,{middle}ns", f"{middle}ns,{wall}ns")]
    for half, window in zip(halves, ("the first part", "the second part")):
        if isinstance(half, str):
            checks.equal(where, window, half, "a report")
            return
        check_sums(checks, f"{where}, {window}", half)
    for name, device in whole["devices"].items():
        parts = [h["devices"][name]["account"] for h in halves if name in h["devices"]]
        for key in ("busy_ns", "exposed_communication_ns", "exposed_copy_ns"):
            checks.equal(f"{where}, device {name}", f"{key} of two windows",
                         sum(p[key] for p in parts), device["account"][key])
        for key in ("kernels", "copies", "sets", "kernel_sum_ns"):
            checks.equal(f"{where}, device {name}", f"{key} of two windows",
                         sum(p[key] for p in parts), device["account"][key])


def check_narrowed(checks, where, ridge, path, whole):
    named = [r["name"] for r in whole["ranges"]["list"] if r["activities"]]
    choices = [("--range", name) for name in named[:1] + named[-1:]]
    steps = whole["steps"]["count"]
    if steps:
        choices += [("--steps", "1"), ("--steps", f"1-{steps}"), ("--steps", "steady")]
    for option, value in choices:
        narrowed = report(ridge, path, option, value)
        place = f"{where} {option} {value[:40]}"
        if isinstance(narrowed, str):
            checks.equal(place, "the outcome", narrowed, "a report")
            continue
        checks.equal(place, "narrowed", narrowed["selection"]["narrowed"], True)
        checks.equal(place, "reported devices", len(narrowed["devices"]) > 0,
                     len(whole["devices"]) > 0)
        check_sums(checks, place, narrowed)


def check_file(checks, where, ridge, path, figures, without=()):
    ours = report(ridge, path)
    if isinstance(ours, str):
        if "built without" in ours:
            print(f"{where}: left out, as this ridge cannot read it")
        else:
            checks.equal(where, "the outcome", ours, "a report")
        return
    compare_truth(checks, where, ours, figures, without)
    check_sums(checks, where, ours)
    check_halves(checks, where, ridge, path, ours)
    check_narrowed(checks, where, ridge, path, ours)


def main():
    ridge, own, shared = sys.argv[1], sys.argv[2], sys.argv[3:]
    checks = Checks()
    checks.equal("docs/report-json.md", "what it leaves out", schema.undocumented(SCHEMA), [])
    for name, path in sorted(find_files(own).items()):
        if name.endswith(".json.gz"):
            check_file(checks, name, ridge, path, reference.figures(path))
    with tempfile.TemporaryDirectory(prefix="ridge-truth-") as folder:
        for seed in range(1, SYNTHETIC + 1):
            path = os.path.join(folder, f"synthetic-{seed}.json")
            synthetic.write(seed, path)
            check_file(checks, f"synthetic trace {seed}", ridge, path, reference.figures(path))
    for fixtures in shared:
        with open(os.path.join(fixtures, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)
        files = find_files(fixtures)
        for group, traces in truth.items():
            if group == "definitions":
                continue
            for name, figures in traces.items():
                check_file(checks, f"{group}/{name}", ridge, files[name], figures,
                           NOT_COMPARABLE.get(group, ()))
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


sys.exit(main())
