#!/usr/bin/env python3
"""Does ridge still compute the same figures for the project's own traces?

    RIDGE=build/ridge tests/figures/figures.py [--show] [NAME...]     (UPDATE=1 writes expected/NAME.txt anew)

For each trace, expected/NAME.txt has one line for each part of the report, of the report of two steps, of
every what-if change, of `ridge info` and of the imported tables: the main figures in full, and a digest of all.
Sentences count with the numbers in them only, so that they can be reworded. expected/sentences has those of all
verdicts, with a # for each number, and in how many traces they are. --show prints every figure."""

import collections
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import recorded
import synthetic

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
RIDGE = os.path.abspath(os.environ.get("RIDGE", os.path.join(TESTS, "..", "build", "ridge")))
SYNTHETIC = 24
ODD = 8
RECORDED = 33
# Two recordings in one trace: a made-up one and one of the corpus.
JOINED = {"joined-1": (1, "throttle-conv"), "joined-2": (2, "input-loader"), "joined-3": (3, "launch-cell-40"),
          "joined-4": (5, "pair-compile-host"), "joined-5": (6, "pageable-64"), "joined-6": (11, "memory-chain-4"),
          "joined-7": (15, "small-copies-runtime"), "joined-8": (17, "throttle-layers")}
# What --all does not ask for: names, a device, several changes, parts of the run.
CHANGES = ["--no-sync --graph --pinned", "--faster host=2x --faster *gemm*=3x --no-alloc=cudaMalloc",
           "--prefetch=load --no-host=forward", "--batch 3 --fuse=elementwise", "--full-clock --device 0",
           "--full-clock --device 1", "--queues --overlap-copies --batch-copies", "--at-roof=gemm --no-compile",
           "--graph --steps 2-4", "--no-sync=cudaStreamSynchronize --window 1ms,2ms", "--fuse --no-host",
           "--no-sync --no-alloc --prefetch --queues --overlap-copies --pinned --steps steady"]
TABLES = ["activity", "call", "range", "mark", "wait", "memory", "sample", "counter", "state", "process",
          "thread", "device", "queue"]
SENTENCES = {"manager", "engineer", "caution", "title", "summary", "cause", "assumes", "words", "what", "why_not",
             "part", "losses", "notes", "missing", "truncated_source"}
LEFT_OUT = {"meta", "tool", "command", "host", "schema", "version", "whatif", "file", "trace"}
READABLE = re.compile(r"(busy|idle|exposed_copy|window|wall|after|error|total|recoverable)_ns$|count$|touched$|kind$|rows$")


def traces():
    """The traces by name: a file, and the options that every command gets."""
    found = {}
    with open(os.path.join(HERE, "traces"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                path = os.path.join(TESTS, line.strip())
                found[os.path.basename(path).split(".")[0]] = path
    return found


def made_up(folder):
    """Traces that no file holds: see synthetic.py and recorded.py."""
    found = {}
    for seed in range(1, SYNTHETIC + 1):
        found[f"synthetic-{seed}"] = os.path.join(folder, f"synthetic-{seed}.json")
    for seed in range(1, ODD + 1):
        found[f"odd-{seed}"] = os.path.join(folder, f"odd-{seed}.json")
    for seed in range(1, RECORDED + 1):
        found[f"recorded-{seed}"] = os.path.join(folder, f"recorded-{seed}.ridge")
    for name in JOINED:
        found[name] = os.path.join(folder, f"{name}.ridge")
    return found


def make(name, path):
    """Writes a made-up trace, or one of two recordings."""
    if name.startswith("synthetic-"):
        synthetic.write(int(name.split("-")[1]), path)
    elif name.startswith("recorded-"):
        recorded.write(int(name.split("-")[1]), path)
    elif name.startswith("odd-"):
        synthetic.write_odd(int(name.split("-")[1]), path)
    elif name in JOINED:
        seed, other = JOINED[name]
        synthetic.write(seed, path + ".json")
        run("import", path + ".json", os.path.join(TESTS, "corpus", "traces", f"{other}.ridge"), "-o", path)


def run(*command, cwd=None):
    done = subprocess.run([RIDGE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
    if done.returncode != 0:
        return f"status {done.returncode}"
    return done.stdout.decode(errors="surrogateescape")


def ask(*command):
    printed = run(*command)
    return printed if printed.startswith("status") else json.loads(printed)


def leaf(key, value):
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and key in SENTENCES:
        return " ".join(re.findall(r"[0-9][0-9.,]*", value))
    return str(value)


def flatten(value, path, key=""):
    """Yields (path, text) of each figure."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in LEFT_OUT:
                yield from flatten(member, f"{path}.{name}" if path else name, name)
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from flatten(member, f"{path}[{i}]", key)
    else:
        yield path, leaf(key, value)


def line(title, figures):
    """The title, the readable figures and a digest of all."""
    readable = [f"{path}={text}" for path, text in figures if READABLE.search(path) and "[" not in path]
    text = "\n".join(f"{path}={text}" for path, text in figures)
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{title[:60]}: {digest} {' '.join(readable[:5])}".rstrip(), text


def split(title, members):
    """A part for each member that has members, and one for all others."""
    found = [(f"{title} {name}", list(flatten(member, "", name))) for name, member in members.items()
             if isinstance(member, (dict, list)) and name not in LEFT_OUT]
    rest = {name: member for name, member in members.items() if not isinstance(member, (dict, list))}
    return [(title, list(flatten(rest, "")))] + found


def sentences(value, key=""):
    """Yields the sentences of a verdict, without their numbers and without names."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from sentences(member, name)
    elif isinstance(value, list):
        for member in value:
            yield from sentences(member, key)
    elif isinstance(value, str) and key in SENTENCES and value:
        yield re.sub(r"# (ns|µs|ms)\b", "# s", re.sub(r"[0-9][0-9.,]*", "#", value))


def report_parts(path, said):
    report = ask("report", path, "--format", "json")
    if isinstance(report, str):
        return [("report", [("", report)])]
    said.update(set(sentences(report["verdict"])))
    devices = report.pop("devices")
    found = split("report", report)
    for label, device in devices.items():
        found += split(f"report device {label}", device)
    if len((report.get("steps") or {}).get("list") or []) > 3:
        narrowed = ask("report", path, "--format", "json", "--steps", "2-3")
        found.append(("steps 2-3", list(flatten(narrowed, ""))))
    return found


def change_parts(path):
    """What does not apply shares one part."""
    answer = ask("whatif", path, "--all", "--format", "json")
    if isinstance(answer, str):
        return [("whatif", [("", answer)])]
    found, others = [("whatif unchanged", list(flatten(answer["unchanged"], "")))], []
    for change in answer["changes"]:
        figures = list(flatten(change, ""))
        if change["applies"]:
            found.append((" ".join(filter(None, ("whatif", change["change"], change.get("name")))), figures))
        else:
            others += figures
    return found + [("whatif others", others)]


def tables(path):
    """The rows of each table, of a trace that was imported."""
    found = []
    if path.endswith(".ridge"):
        return found
    for name in TABLES:
        printed = run("export", path, "--format", "csv", "--table", name)
        rows = printed.splitlines()
        if len(rows) > 1 or printed.startswith("status"):
            found.append((f"table {name}", [("rows", str(len(rows) - 1))] + [("", row) for row in rows]))
    return found


def measure(path, said):
    if os.path.basename(path).startswith("odd-"):  # about the import
        report = ask("report", path, "--format", "json")
        return [line(title, figures) for title, figures in [("report", list(flatten(report, "")))] + tables(path)]
    info = ask("info", path, "--format", "json")
    found = report_parts(path, said) + change_parts(path) + tables(path)
    if os.path.basename(path).split(".")[0] in JOINED:
        info = {}  # its size depends on the folder's name
        found += [(f"whatif {options}", list(flatten(ask("whatif", path, "--format", "json", *options.split()), "")))
                  for options in CHANGES]
    found.append(("info", [("", info)] if isinstance(info, str) else list(flatten(info, ""))))
    return [line(title, figures) for title, figures in found if figures]


def check(item):
    """The lines that differ from what is expected."""
    name, path = item
    said = set()
    measured = [text for text, _ in measure(path, said)]
    return name, compare_lines(f"{name}.txt", measured), said


def compare_lines(name, measured):
    path = os.path.join(HERE, "expected", name)
    if os.environ.get("UPDATE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(measured) + "\n")
        return []
    with open(path, encoding="utf-8") as file:
        expected = file.read().splitlines()
    return [f"- {text}" for text in expected if text not in measured] + \
        [f"+ {text}" for text in measured if text not in expected]


def main():
    with tempfile.TemporaryDirectory(prefix="ridge-figures-") as folder:
        return compare(folder)


def compare(folder):
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    chosen = {name: path for name, path in {**traces(), **made_up(folder)}.items() if not names or name in names}
    for name, path in chosen.items():
        make(name, path)
    if "--show" in sys.argv:
        for name, path in chosen.items():
            for title, text in measure(path, set()):
                print(f"{name} {title}\n{text}\n")
        return 0
    failed, count, said = 0, len(chosen), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, different, sentences_of_it in pool.map(check, chosen.items()):
            said.update(sentences_of_it)
            if different:
                failed += 1
                print(f"FAILED the figures of {name} are not as expected (--show {name} prints them)")
                print("\n".join(different))
    if not names:
        count += 1
        different = compare_lines("sentences", [f"{said[text]:3} {text}" for text in sorted(said)])
        if different:
            failed += 1
            print("FAILED the sentences of the verdicts are not as expected")
            print("\n".join(different))
    print(f"{count - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
