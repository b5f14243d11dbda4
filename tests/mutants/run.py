#!/usr/bin/env python3
"""Mutation testing: how many small faults does the test suite notice? See README.md.

    tests/mutants/run.py [--build DIR] [--count 300] [--seed 1] [--only PREFIX] [--jobs N] [--list]

Prints the survivors with the tests that were tried, and killed/total for each folder."""

import argparse
import collections
import concurrent.futures
import glob
import hashlib
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import mutate  # noqa: E402

FOLDERS = ["analysis", "whatif", "diagnose", "import", "trace", "spool", "record"]
SUITES = ["tests/truth/run.sh", "tests/probe/run.sh", "tests/opencl/run.sh", "tests/vulkan/run.sh",
          "tests/compare/run.sh", "tests/corpus/run.sh", "tests/xctrace/run.sh"]
PARTS = {"tests/fuzz/run.sh": ["damaged", "ablated_kineto", "ablated_nsys", "ablated_perfetto", "ablated_rpd",
                               "ablated_xctrace", "ablated_xplane", "report"],
         "tests/faults/run.sh": ["report-text", "report-imported", "whatif", "info-json", "export-sqlite", "import-ridge",
                                 "import-kineto", "import-perfetto", "import-nsys", "import-rpd", "import-xplane",
                                 "import-xctrace"]}  # a suite's own parts
VERDICTS = ["catalogue.py", "profiler_cost.py", "check.py --count --random 30", "check.py --count --ablate 10 *.gz"]
UNRELATED = {"bench", "completion", "devices", "full_disk", "usage"}  # of tests/cli
SLOW = 60  # seconds; a longer test is not tried
BATCH = 40  # unit tests in one process
# gcc accepts these with a warning; as a real change they would not pass review.
REJECTED = ["-Werror=int-conversion", "-Werror=incompatible-pointer-types", "-Werror=discarded-qualifiers",
            "-Werror=enum-conversion"]


# ---- sites ----

def load_sources():
    """Without those that the Makefile leaves out because their library is not here."""
    sources = {}
    objects = os.environ.get("MUTANT_UNIT", "").split()
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(ROOT, "src", folder, "**", "*.c"), recursive=True)):
            name = os.path.relpath(path, ROOT)
            if objects and not any(each.endswith(f"/{name[:-2]}.o") for each in objects):
                print(f"not used: {name} (its library is not here)")
                continue
            with open(path, encoding="utf-8") as file:
                sources[name] = mutate.Source(name, file.read())
    number = 0
    for source in sources.values():
        for site in source.sites:
            number += 1
            site.id = number
    return sources


def load_equivalent():
    """Rows of `file function | before | after | reason`."""
    rows = {}
    with open(os.path.join(HERE, "equivalent"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                place, before, after, reason = (part.strip() for part in line.split(" | "))
                rows[place, before, after] = reason
    return rows


def choose(sources, equivalent, count, seed, prefix):
    """Files get mutants in proportion to their length, and within a file each kind its turn."""
    candidates, lines = {}, {}
    for path, source in sources.items():
        sites = [site for site in source.sites if site.key() not in equivalent]
        if path.startswith(prefix) and sites:
            candidates[path] = sites
            lines[path] = source.text.count("\n")
    total, owed, chosen = sum(lines.values()), 0.0, []
    for path, sites in candidates.items():
        owed += count * lines[path] / total
        order = turns(sites, random.Random(f"{seed} {path}"))
        taken = order[:min(round(owed), len(order))]
        owed -= len(taken)
        chosen += taken
    return chosen


def turns(sites, generator):
    kinds = collections.defaultdict(list)
    for site in sites:
        kinds[site.kind].append(site)
    for kind in sorted(kinds):
        generator.shuffle(kinds[kind])
    names, order = sorted(kinds), []
    generator.shuffle(names)
    while any(kinds.values()):
        order += [kinds[name].pop() for name in names if kinds[name]]
    return order


# ---- the build ----

class Build:
    """The programs with all mutants compiled in. What has none is taken from the project's own build."""

    def __init__(self, folder, jobs):
        self.project = folder
        self.folder = os.path.join(folder, "mutants")
        self.jobs = jobs
        self.compiler = os.environ.get("CC", "cc").split()
        self.flags = os.environ["MUTANT_FLAGS"].split() + ["-O0", "-w", f"-I{HERE}"]
        self.traps = self.accepted(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
        self.leaks = self.accepted(["-fsanitize=leak"])
        self.address = self.accepted(["-fsanitize=address"])
        self.libraries = os.environ["MUTANT_LIBRARIES"].split()
        with open(os.path.join(HERE, "mutate.py"), "rb") as file:
            self.generator = file.read()

    def accepted(self, flags):
        """The flags, if a program with them runs here. Leaks cannot be found where ptrace is not allowed."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            made = subprocess.run([*self.compiler, *flags, "-x", "c", "-o", program, "-"], capture_output=True,
                                  input=b"int main(void) { return 0; }")
            runs = made.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0
        return flags if runs else []

    def each(self, function, sources):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(function, sources.values()))

    def put(self, source, suffix, text):
        path = os.path.join(self.folder, source.path[:-2] + suffix)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def get(self, source, suffix):
        try:
            with open(os.path.join(self.folder, source.path[:-2] + suffix), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    @staticmethod
    def text(source, sites):
        return f'#include "mutant.h"\n#line 1 "{source.path}"\n{source.rewritten(sites)}'

    def drop_rejected(self, source):
        """Drops the sites that do not compile. They are kept as numbers from the first one of the file."""
        first = source.sites[0].id if source.sites else 0
        key = hashlib.sha256(source.text.encode() + self.generator).hexdigest()
        kept = self.get(source, ".rejected").split()
        if not kept or kept[0] != key:
            rejected = set()
            while True:
                found = self.rejected(source, rejected)
                if not found:
                    break
                rejected |= found
            kept = [key, *(str(number - first) for number in sorted(rejected))]
            self.put(source, ".rejected", " ".join(kept))
        rejected = {int(number) + first for number in kept[1:]}
        source.sites = [site for site in source.sites if site.id not in rejected]

    def rejected(self, source, known):
        """The sites of the compiler's errors. gcc names no column in a long line, so each site begins one."""
        text = self.text(source, [site for site in source.sites if site.id not in known]).split("\n", 2)[2]
        text = '#include "mutant.h"\n' + re.sub(r"mutant_(?:is|differs)\(", r"\n\g<0>", text)
        command = ["gcc", *self.flags[:-2], f"-I{HERE}", *REJECTED, "-fsyntax-only", "-fmax-errors=0",
                   "-fno-diagnostics-show-caret", "-fdiagnostics-column-unit=byte",
                   self.put(source, ".check.c", text)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
        lines, found, unclear = text.encode().split(b"\n"), set(), None
        for match in re.finditer(r"\.check\.c:(\d+):(\d+): (error: .*|warning: pointer.*type mismatch|"
                                 r"note: in expansion of macro)", done.stderr):
            if match[3].startswith("note") and not unclear:
                continue
            before = b"\n".join([*lines[:int(match[1]) - 1], lines[int(match[1]) - 1][:int(match[2]) + 1]])
            line = re.split(rb"\n(?!mutant_)", before)[-1]
            numbers = re.findall(rb"mutant_(?:is|differs)\((\d+)(?:\) \?|,)", line)
            found |= set(map(int, numbers[-1:]))
            unclear = None if numbers else match[0]
        if done.returncode != 0 and not found - known:
            raise RuntimeError(f"{source.path}: {done.stderr}")
        return found - known

    def compile(self, source):
        text = self.text(source, source.sites) + f"/* {' '.join(self.traps + self.address)} */\n"
        if self.get(source, ".built") == text:
            return
        path = self.put(source, ".c", text)
        command = [*self.compiler, *self.flags, *self.traps, "-c", path, "-o"]
        self.run([*command, path[:-2] + ".o"])
        self.run([*command, path[:-2] + ".address.o", *self.address])
        self.put(source, ".built", text)

    def run(self, command):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")

    def objects(self, variable, sources, ending=".o"):
        """The objects that the Makefile names, with ours in place of those that have mutants."""
        names = []
        for name in os.environ[variable].split():
            path = os.path.relpath(os.path.join(ROOT, name), self.project)
            names.append(os.path.join(self.folder, path[:-2] + ending) if path[:-2] + ".c" in sources else name)
        return names

    def link(self, sources):
        switch = os.path.join(self.folder, "mutant.o")
        self.run([*self.compiler, *self.flags, "-c", "-o", switch, os.path.join(HERE, "mutant.c")])
        self.run([*self.compiler, "-o", os.path.join(self.folder, "ridge"), switch,
                  *self.objects("MUTANT_RIDGE", sources), *self.libraries])
        for name, variable in {"unit": "MUTANT_UNIT", "fuzz-driver": "MUTANT_FUZZ"}.items():
            self.run([*self.compiler, *(self.address or self.leaks), "-o", os.path.join(self.folder, name), switch,
                      *self.objects(variable, sources, ".address.o"), *self.libraries])
        for name in ("libridge-memory.so", "dependencies.mk"):
            if os.path.exists(os.path.join(self.project, name)):
                shutil.copy(os.path.join(self.project, name), self.folder)
        parts = os.path.join(self.folder, "probe-parts.a")
        if os.path.exists(parts):
            os.remove(parts)
        self.run(["ar", "rcs", parts, switch, *self.objects("MUTANT_PROBE_PARTS", sources)])
        self.run([*self.compiler, "-shared", "-Wl,-z,nodelete", "-o",
                  os.path.join(self.folder, "libridge-probe.so"),
                  *self.objects("MUTANT_PROBE", sources), parts, "-ldl", "-pthread"])


# ---- tests ----

class Test:
    def __init__(self, name, command, folder, expected=None, path=""):
        self.name, self.command, self.folder, self.expected = name, command, folder, expected
        self.path = path or command[0]  # the text of the test
        self.seconds, self.reached = 0.0, b""
        self.sanitized = name.startswith(("unit ", "tests/fuzz"))  # their programs have the address sanitizer


class Suite:
    def __init__(self, build, jobs, scratch):
        self.build, self.jobs, self.scratch = build, jobs, scratch
        self.serial = 0
        self.killers = collections.defaultdict(list)  # the tests that killed mutants of a file
        self.end, self.slow, self.most = math.inf, SLOW, math.inf
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("RIDGE", "MAKE", "UPDATE"))}
        absent = os.path.join(scratch, "no-fixtures")
        self.environment.update(
            LC_ALL="C", NO_COLOR="1", TZ="UTC", RIDGE=os.path.join(build.folder, "ridge"),
            TESTS=os.path.join(ROOT, "tests"), BUILD=build.folder, RIDGE_FIXTURES=absent, FIXTURES=absent,
            RIDGE_CACHE=os.path.join(build.folder, "cache"), RIDGE_PAGER="cat", PYTHONDONTWRITEBYTECODE="1",
            FUZZ_COUNT="160", MALLOC_PERTURB_="165", LSAN_OPTIONS="exitcode=99:print_suppressions=0",
            ASAN_OPTIONS="exitcode=99:allocator_may_return_null=1:hard_rss_limit_mb=8000:"
                         f"detect_leaks={int(bool(build.leaks))}")
        self.tests = self.unit_tests() + self.scripts()

    def unit_tests(self):
        tests = []
        for path in sorted(glob.glob(os.path.join(ROOT, "tests/unit/*/*.c"))):
            with open(path, encoding="utf-8") as file:
                names = re.findall(r"^TEST\((\w+)\)", file.read(), re.M)
            folder = os.path.basename(os.path.dirname(path))
            tests += [Test(f"unit {name}", [os.path.join(self.build.folder, "unit"), name], folder, path=path)
                      for name in names]
        return tests

    def scripts(self):
        tests = []
        for path in SUITES:
            if os.path.exists(os.path.join(ROOT, path)):
                tests.append(Test(path, [os.path.join(ROOT, path)], ""))
        for path, words in PARTS.items():
            tests += [Test(f"{path} {word}", [os.path.join(ROOT, path), word], "") for word in words]
        tests += [self.verdict_test(line.split()) for line in VERDICTS]
        figures = os.path.join(ROOT, "tests/figures/figures.py")
        tests.append(Test("tests/figures", [sys.executable, figures], "", path=figures))
        for path in sorted(glob.glob(os.path.join(ROOT, "tests/figures/expected/*.txt"))):
            name = os.path.basename(path)[:-4]
            tests.append(Test(f"tests/figures {name}",
                              [sys.executable, os.path.join(ROOT, "tests/figures/figures.py"), name], "", path=path))
        for path in sorted(glob.glob(os.path.join(ROOT, "tests/cli/*.sh"))):
            if os.path.basename(path)[:-3] in UNRELATED:
                continue
            with open(path[:-3] + ".out", "rb") as file:
                expected = file.read()
            tests.append(Test(f"tests/cli/{os.path.basename(path)}",
                              ["bash", os.path.join(ROOT, "tests/cli", os.path.basename(path))], "",
                              expected, path))
        return tests

    @staticmethod
    def verdict_test(words):
        folder = os.path.join(ROOT, "tests/verdicts")
        command = [sys.executable, os.path.join(folder, words[0])]
        for word in words[1:]:
            command += sorted(glob.glob(os.path.join(folder, "traces", word))) if "*" in word else [word]
        return Test(f"tests/verdicts {' '.join(words)}", command, "", path=command[1])

    def run(self, test, mutant, limit, patience=None):
        """Whether the test passes. A test that uses the processor for longer than the limit fails, or waits too long."""
        self.serial += 1
        folder = os.path.join(self.scratch, f"run-{self.serial}")
        os.makedirs(folder)
        environment = {**self.environment, "TMPDIR": folder}
        if mutant:
            environment["RIDGE_MUTANT"] = mutant
        # tests/probe sets limits of its own, and sanitizers reserve terabytes
        memory = "" if "probe" in test.name or test.sanitized else "-v 8000000"
        limits = f"ulimit -t {math.ceil(limit)} {memory} -f 600000 -c 0; exec \"$@\""
        process = subprocess.Popen(
            ["bash", "-c", limits, "test", *test.command], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if test.expected is not None else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if test.expected is not None else subprocess.DEVNULL,
            cwd=folder if test.expected is not None else ROOT, start_new_session=True)
        try:
            printed, _ = process.communicate(timeout=patience or limit * 3 + 10)
        except subprocess.TimeoutExpired:
            printed = b""
            process.returncode = 124
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if process.stdout:
            process.stdout.close()
        subprocess.run(["chmod", "-R", "u+rwx", folder]) if test.expected is not None else None
        shutil.rmtree(folder, ignore_errors=True)
        return process.returncode == 0 and (test.expected is None or printed == test.expected)

    def trace(self, size):
        """Runs each test once: how long it takes and which sites it reaches. Drops those that fail."""
        sources = hashlib.sha256()
        for path in sorted(glob.glob(os.path.join(self.build.folder, "src/**/*.built"), recursive=True)):
            with open(path, "rb") as file:
                sources.update(file.read())

        def one(test):
            kept = self.kept_trace(test, sources.copy())
            if not os.path.exists(kept):
                passes = trace(test)
                self.keep_trace(test, passes, kept)
                return passes
            with open(kept, "rb") as file:
                first, rest = file.read().split(b"\n", 1)
            test.seconds, test.reached = float(first.split()[1]), zlib.decompress(rest)
            return first.split()[0] == b"1"

        def trace(test):
            path = os.path.join(self.scratch, f"reached-{id(test)}")
            with open(path, "wb") as file:
                file.truncate(size)
            started = time.monotonic()
            passes = any(self.run(test, f"trace:{path}", self.slow, 2 * self.slow) for _ in range(2))
            test.seconds = time.monotonic() - started
            with open(path, "rb") as file:
                test.reached = file.read()
            os.remove(path)
            return passes
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            passes = list(pool.map(one, sorted(self.tests, key=lambda test: test.expected is not None)))
        ordered = sorted(self.tests, key=lambda test: test.expected is not None)
        for test, passed in zip(ordered, passes):
            if not passed or test.seconds > self.slow:
                print(f"not used: {test.name} ({'it takes too long' if passed else 'it fails or is skipped here'})")
        self.tests = [test for test, passed in zip(ordered, passes) if passed and test.seconds <= self.slow]

    def kept_trace(self, test, key):
        """The file of a trace. A change of a source or of the test makes it another."""
        key.update(test.name.encode())
        with open(test.path, "rb") as file:
            key.update(file.read() + (test.expected or b""))
        return os.path.join(self.build.folder, "traces", key.hexdigest())

    @staticmethod
    def keep_trace(test, passes, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".part", "wb") as file:
            file.write(f"{int(passes)} {test.seconds}\n".encode() + zlib.compress(test.reached))
        os.rename(path + ".part", path)

    def try_mutant(self, site):
        """The test that fails with the mutant (twice, and passes without it), and how many were tried."""
        tests = [test for test in self.tests if test.reached[site.id]]
        known, spent = self.killers[site.path], 0.0
        for test in self.batches(tests, site.path.split("/")[1], known):
            if time.monotonic() > self.end:
                return None, -1
            spent += test.seconds
            if spent > self.most and not test.sanitized:
                break
            limit = 10 * test.seconds + 2
            mutant = str(site.id)
            if not self.run(test, mutant, limit) and not self.run(test, mutant, limit) and \
                    self.run(test, None, limit):
                if test not in known:
                    known.append(test)
                return test, len(tests)
        return None, len(tests)

    @staticmethod
    def batches(tests, module, known):
        """Known killers first, then quick unit tests in few processes, those of the folder first; then by time."""
        quick = [test for test in tests if test.name.startswith("unit ") and test.seconds < 1]
        quick.sort(key=lambda test: (test.folder != module, test.seconds))
        slow = sorted((test for test in tests if test not in quick), key=lambda test: test.seconds)
        order = [test for test in known if test in tests]
        for i in range(0, len(quick), BATCH):
            part = quick[i:i + BATCH]
            batch = Test(part[0].name, part[0].command[:1] + [test.name.split()[1] for test in part], module)
            batch.seconds = sum(test.seconds for test in part)
            order.append(batch)
        return order + [test for test in slow if test not in known]


# ---- the score ----

def isolate(build):
    """Mutants send signals and delete files. They get process ids and a /tmp of their own."""
    if os.environ.get("RIDGE_MUTANTS_ISOLATED"):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # process 1 has no default action
        for folder in ("/tmp", "/dev/shm"):
            if not ROOT.startswith(folder) and not build.startswith(folder):
                subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
        return True
    for flags in ("-pmf", "-Urpmf"):
        probe = ["unshare", flags, "--kill-child", "--mount-proc", "true"]
        if shutil.which("unshare") and subprocess.run(probe, capture_output=True).returncode == 0:
            os.environ["RIDGE_MUTANTS_ISOLATED"] = "1"
            os.execvp("unshare", ["unshare", flags, "--kill-child", "--mount-proc", sys.executable, *sys.argv])
    return False


def describe(site):
    return f"{site.path}:{site.line} {site.function}: {site.kind}: {site.before} -> {site.after or '(nothing)'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, help="stop trying mutants after that time; the rest does not count")
    parser.add_argument("--slow", type=float, default=SLOW, help="tests that take longer are not tried; more on a busy machine")
    parser.add_argument("--most", type=float, default=math.inf,
                        help="seconds of tests for one mutant, shortest first; it survives if they pass")
    parser.add_argument("--again", metavar="LOG", help="only the survivors that LOG names")
    parser.add_argument("--unreached", metavar="FILE", help="write the sites that no test reaches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print the chosen mutants and stop")
    parser.add_argument("--killed", action="store_true", help="print the killed ones too")
    arguments = parser.parse_args()
    if not isolate(os.path.abspath(arguments.build)):
        sys.exit("mutants send signals and delete files: run this where unshare(1) works")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it, and in the background it is ignored
    started = time.monotonic()
    build, sources = Build(os.path.abspath(arguments.build), arguments.jobs), load_sources()
    total = sum(len(source.sites) for source in sources.values())
    build.each(build.drop_rejected, sources)
    chosen = choose(sources, load_equivalent(), arguments.count, arguments.seed, arguments.only)
    if arguments.again:
        with open(arguments.again, encoding="utf-8") as file:
            survivors = {re.sub(r":[0-9]+ ", " ", line[len("survived "):].rsplit(" (", 1)[0], count=1)
                         for line in file if line.startswith("survived ")}
        chosen = [site for source in sources.values() for site in source.sites
                  if re.sub(r":[0-9]+ ", " ", describe(site), count=1) in survivors]
    print(f"{sum(len(s.sites) for s in sources.values())} sites in {len(sources)} files; seed {arguments.seed} "
          f"takes {len(chosen)}", flush=True)
    if arguments.list:
        print("\n".join(describe(site) for site in chosen))
        return
    build.each(build.compile, sources)
    build.link(sources)
    print(f"built after {time.monotonic() - started:.0f} s", flush=True)
    scratch = tempfile.mkdtemp(prefix="ridge-mutants.")  # printed paths must be short
    try:
        suite = Suite(build, arguments.jobs, scratch)
        if arguments.seconds:
            suite.end = started + arguments.seconds
            random.Random(arguments.seed).shuffle(chosen)
        suite.slow, suite.most = arguments.slow, arguments.most
        suite.trace(total + 1)
        if arguments.unreached:
            write_unreached(suite, sources, arguments.unreached)
        score(suite, chosen, arguments)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{time.monotonic() - started:.0f} s")


def write_unreached(suite, sources, path):
    with open(path, "w", encoding="utf-8") as file:
        for source in sources.values():
            for site in source.sites:
                if not any(test.reached[site.id] for test in suite.tests):
                    print(describe(site), file=file)


def score(suite, chosen, arguments):
    print(f"{len(suite.tests)} tests reach sites", flush=True)
    killed, alive, tries = collections.Counter(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for site, (test, tried) in zip(chosen, pool.map(suite.try_mutant, chosen)):
            folder = "/".join(site.path.split("/")[:2])
            if tried < 0:
                continue
            tries += 1
            (killed if test else alive)[folder] += 1
            if test and arguments.killed:
                print(f"killed {describe(site)} by {test.name}{' and others' if len(test.command) > 2 and test.sanitized else ''}", flush=True)
            elif not test:
                how = f"{tried} tests tried" if tried else "no test makes a difference there"
                print(f"survived {describe(site)} ({how})", flush=True)
    for folder in sorted({**killed, **alive}):
        print(f"{folder:14} {killed[folder]:4}/{killed[folder] + alive[folder]}")
    share = 100 * killed.total() / max(1, tries)
    print(f"{'all':14} {killed.total():4}/{tries} killed, {share:.1f} %" +
          (f"; no time for {len(chosen) - tries}" if tries < len(chosen) else ""))


if __name__ == "__main__":
    main()
