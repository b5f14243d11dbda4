"""Reads every sentence and figure of the verdict and compares them with the report's JSON.

    RIDGE=build/ridge python3 tests/verdicts/check.py [--random N] [--seed S] [--ablate N] [--count] TRACE...

Random traces are made by random_trace.py; ablated ones are made from the torch.profiler traces given. Prints
one line per fault, and at last a count."""

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_trace

RIDGE = os.environ.get("RIDGE", "build/ridge")
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
DURATION = NUMBER + r" (ns|µs|ms|s|min|h)\b"
SINGULAR = {"launches": "launch", "copies": "copy", "kernels": "kernel", "steps": "step", "graphs": "graph", "calls": "call",
            "times": "time", "synchronizations": "synchronization", "allocations": "allocation", "frees": "free",
            "blocks": "block", "events": "event", "operators": "operator", "collectives": "collective", "messages": "message"}


def run(*arguments):
    done = subprocess.run([RIDGE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def nanoseconds(number, unit):
    return float(number.replace(",", "")) * UNITS[unit]


def close(printed, exact, digits=3):
    """Whether a figure printed with that many significant digits may be `exact`."""
    return abs(printed - exact) <= max(abs(exact), abs(printed)) * 0.6 * 10 ** (1 - digits) + 0.6


class Checker:
    def __init__(self, path):
        self.path, self.faults = path, []

    def fault(self, what, where):
        self.faults.append(f"{what}: {where}")

    # ---- sentences ----

    def sentence(self, text):
        for word in ("nan", "inf", "(null)", "-0 ", "  "):
            if re.search(r"(?<![\w.])" + re.escape(word) + r"(?!\w)", text):
                self.fault(f"{word!r} in a sentence", text)
        if re.search(r"(?<![\d.,])0 (ns|B)\b", text):
            self.fault("nothing counts as something", text)
        for number in re.findall(NUMBER + " %", text):
            if float(number.replace(",", "")) > 100 and " longer" not in text:
                self.fault("a share above 100 %", text)
        for many, one in SINGULAR.items():
            if re.search(r"(?<![\d.,])1 " + many + r"\b", text):
                self.fault("a plural for one", text)
            if re.search(r"(?<![\d.,/#])(?!1 )\d[\d,]* " + one + r"(?=[ .,;:)]|$)(?! (calls?|launch(es)?|names?|times?|time|copies|of|or|load)\b)", text):
                self.fault("a singular for several", text)

    def from_to(self, text, finding, verdict):
        found = re.search(DURATION + " -> " + DURATION, text)
        if not found:
            return
        before, after = nanoseconds(*found.groups()[:2]), nanoseconds(*found.groups()[2:])
        steps = verdict["steps"] or 1
        if after > before:
            self.fault("slower after the fix", text)
        if "once pinned" in text:
            return
        if not close(before, verdict["time_ns"] / steps):
            self.fault("another time than the judged one", text)
        left = (verdict["time_ns"] - finding["recoverable_ns"]) / steps
        if not close(after, left):
            self.fault(f"the gain in words is not recoverable_ns ({left:.0f} ns left)", text)

    # ---- parts ----

    def headline(self, verdict, account):
        text, first = verdict["manager"] or "", verdict["findings"][0]
        without = text.find(" Without ")
        found = re.search(r"(?:about|at best) " + NUMBER + "x faster", text if without < 0 else "")
        share = (first["recoverable_ns"] or 0) / verdict["time_ns"] if verdict["time_ns"] else 0
        if found and not close(float(found.group(1)), 1 / max(1 - share, 1e-9), 2):
            self.fault("the multiple is not the first finding's gain", text)
        if found and first["kind"] in ("undecided", "healthy"):
            self.fault("a multiple without a cause", text)
        found = re.search(r"is (idle|busy) (<|>)?(\d+) %", text)
        if found and account:
            exact = 100 * account[found.group(1) + "_ns"] / account["window_ns"] if account["window_ns"] else 0
            if abs(exact - float(found.group(3))) > 1:
                self.fault(f"the account says {exact:.1f} %", text)
        if verdict["time_ns"] and share > 1 + 1e-9:
            self.fault("recovers more than the judged time", text)

    def finding(self, finding, verdict):
        time = verdict["time_ns"]
        if finding["recoverable_ns"] < 0 or finding["recoverable_ns"] > time:
            self.fault("recoverable_ns is not within the judged time", finding["kind"])
        if finding["additional_ns"] > finding["recoverable_ns"] or finding["additional_ns"] < 0:
            self.fault("additional_ns is not within recoverable_ns", finding["kind"])
        share = finding["recoverable_share"]
        if share is not None and not -1e-9 <= share <= 1 + 1e-9:
            self.fault("recoverable_share is not a share", finding["kind"])
        if finding["kind"] not in ("healthy", "undecided") and not finding["fixes"] and not finding["minor"]:
            self.fault("a finding without a fix", finding["kind"])
        texts = [finding["summary"], finding["cause"], finding["assumes"]]
        texts += [one["words"] for one in finding["evidence"]] + [fix["words"] for fix in finding["fixes"]]
        for text in texts:
            if text:
                self.sentence(text)
        self.from_to(finding["summary"] or "", finding, verdict)

    def hint(self, finding, verdict):
        """The options of the first fix that has all of the finding's changes reproduce its gain."""
        for fix in finding["fixes"]:
            options = re.findall(r"--([\w-]+)", fix["whatif"] or "")
            changes = [one["change"] for one in finding["changes"]]
            if not changes or [o for o in options if o not in ("steps", "window", "range", "device", "without-profiler")] != changes:
                continue
            code, out, error = run("whatif", self.path, *split(fix["whatif"]), "--json")
            if code:
                self.fault("the hint fails: " + error.strip(), fix["whatif"])
                return
            answer = json.loads(out)
            both = answer.get("together") or answer["changes"][-1]
            base = answer["unchanged"]["after_ns"]
            gain = base - both["after_ns"]
            want = finding["recoverable_ns"]
            if abs(gain - want) > max(0.02 * want, 0.002 * verdict["time_ns"], 2):
                self.fault(f"{finding['kind']}: the hint {fix['whatif']} gains {gain} ns, the finding says", f"{want} ns of {verdict['time_ns']}")
            return

    def names(self, report):
        known, truncated = set(), False
        for device in report["devices"].values():
            known |= {k["full_name"] for k in device["kernels"]} | {k["name"] for k in device["kernels"]}
            truncated |= any(k["full_names"] > 1 for k in device["kernels"])
        for finding in report["verdict"]["findings"]:
            for one in finding["evidence"]:
                if one["kind"] == "kernel" and one["name"] and one["name"] not in known and not truncated:
                    self.fault("a kernel that is not in the trace", one["name"])

    def accounts(self, report):
        for key, device in report["devices"].items():
            account = device["account"]
            parts = sum(account.get(p, 0) for p in ("busy_ns", "exposed_copy_ns", "exposed_communication_ns", "idle_ns"))
            if parts != account["window_ns"]:
                self.fault("the account does not sum to its window", key)
            if any(account.get(p, 0) < 0 for p in ("busy_ns", "exposed_copy_ns", "exposed_communication_ns", "idle_ns")):
                self.fault("a negative part of the account", key)

    def absence(self, report, verdict):
        text = (verdict["manager"] or "") + " " + (verdict["engineer"] or "")
        launches = report["totals"]["launch"]["distinct_launch_calls"]
        calls = [c for c in report["api"] if re.match(r"(cuda|cu|hip|cl|vk)[A-Z].*Launch|clEnqueue|vkQueueSubmit", c["name"])] \
            if isinstance(report["api"], list) else []
        if re.search(r"did all of the work|no GPU took part|does not use a GPU\b(?!,)", text) or \
                ((launches or calls) and "CPU profile" in text):
            self.fault("absence is asserted", text)

    def check(self):
        code, out, error = run("report", self.path, "--json")
        if code:
            return error
        report = json.loads(out)
        verdict = report["verdict"]
        if not verdict or not verdict["findings"]:
            self.fault("no verdict", self.path)
            return None
        self.accounts(report)
        account = verdict.get("account")
        for text in (verdict["manager"], verdict["engineer"], verdict["caution"], *verdict["missing"]):
            if text:
                self.sentence(text)
        self.headline(verdict, account)
        self.absence(report, verdict)
        for finding in verdict["findings"]:
            self.finding(finding, verdict)
            self.hint(finding, verdict)
        if sum(f["additional_ns"] for f in verdict["findings"]) > verdict["time_ns"]:
            self.fault("all gains together exceed the judged time", self.path)
        self.names(report)
        self.text()
        return None

    def text(self):
        """The page that users read: no line beyond 80 columns, the same rules for its sentences."""
        code, out, error = run("report", self.path)
        lines = out.split("\n\n")
        for line in out.splitlines()[1:]:
            if len(line) > 80:
                self.fault("a line of more than 80 columns", line)
        for paragraph in lines[1:2]:
            self.sentence(" ".join(paragraph.split()))


def split(options):
    import shlex
    return shlex.split(options)


def check_path(path, label):
    checker = Checker(path)
    try:
        unreadable = checker.check()
    except subprocess.TimeoutExpired:
        unreadable = None
        checker.fault("no answer within two minutes", path)
    for fault in checker.faults:
        print(f"FAILED {label}: {fault}")
    return len(checker.faults), unreadable


def check_made(trace, label):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(trace, file)
    faults, unreadable = check_path(file.name, label)
    os.unlink(file.name)
    return faults, unreadable


def check_batch(job):
    kind, value, seed = job
    if kind == "path":
        return check_path(value, os.path.basename(value.rstrip("/")))
    if kind == "random":
        return check_made(random_trace.random_trace(seed), f"random {seed}")
    return check_made(random_trace.ablated_trace(value, seed), f"{os.path.basename(value)} ablated {seed}")


def main():
    numbers, paths, count, arguments = {"--random": 0, "--seed": 1, "--ablate": 0}, [], False, sys.argv[1:]
    while arguments:
        word = arguments.pop(0)
        if word in numbers:
            numbers[word] = int(arguments.pop(0))
        elif word == "--count":
            count = True
        else:
            paths.append(word)
    bases = [p for p in paths if re.search(r"\.json(\.gz)?$", p) and os.path.getsize(p) < 500000]
    jobs = [("path", path, 0) for path in paths]
    jobs += [("random", None, numbers["--seed"] + i) for i in range(numbers["--random"])]
    jobs += [("ablated", bases[i % len(bases)], numbers["--seed"] + i) for i in range(numbers["--ablate"]) if bases]
    failed = unreadable = 0
    for job in jobs:
        faults, error = check_batch(job)
        failed += bool(faults)
        unreadable += bool(error)
        if error and job[0] == "path":
            print("not read:", error.strip())
    if count:
        print(f"{len(jobs) - failed - unreadable} passed, {failed} failed")
    else:
        print(f"{len(jobs)} traces, {unreadable} not readable, {failed} with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
