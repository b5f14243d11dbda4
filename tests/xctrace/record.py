"""`xctrace record` of the stand-in: runs or attaches to the program and writes the bundle, with all
the tables that `export` then serves."""
import gzip
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
import tables  # noqa: E402

SCENARIO = os.environ.get("XCTRACE_STANDIN", "synchronous")
MUTANT = {name: value for name, value in os.environ.items() if name == "RIDGE_MUTANT"}  # see tests/mutants
REFUSALS = {
    "denied": "Recording failed. Not authorized to record: developer mode is disabled",
    "no-xcode": "xctrace requires Xcode to be installed. Run xcode-select to select it",
    "license": "You have not agreed to the Xcode license agreements",
    "sip": "Failed to attach to target process: the target lacks get-task-allow",
}
WITH_VALUE = {"--output", "--template", "--instrument", "--time-limit", "--attach", "--env",
              "--target-stdin", "--target-stdout", "--device", "--window", "--package", "--run-name"}
FLAGS = {"--no-prompt", "--all-processes", "--append-run", "--quiet"}
TEMPLATES = {"Metal System Trace", "Time Profiler", "Allocations"}


def refuse(message, status=64):
    print(message, file=sys.stderr)
    sys.exit(status)


def parse(words):
    options, launch = {"--instrument": []}, None
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--launch":
            if not words or words.pop(0) != "--" or not words:
                refuse("--launch needs -- and a command")
            launch, words = words, []
        elif word in FLAGS:
            options[word] = True
        elif word in WITH_VALUE and words:
            value = words.pop(0)
            if word == "--instrument":
                options[word].append(value)
            elif word in options:
                refuse(f"{word} is given twice")
            else:
                options[word] = value
        else:
            refuse(f"Unknown option or missing value: {word}")
    return options, launch


def check(options, launch):
    ways = [launch is not None, "--attach" in options, "--all-processes" in options]
    if sum(ways) != 1:
        refuse("one of --launch, --attach and --all-processes is needed")
    if options.get("--template") not in TEMPLATES:
        refuse(f"Unable to find template {options.get('--template')}")
    for name in options["--instrument"]:
        if name not in TEMPLATES:
            refuse(f"Unable to find instrument {name}")
    if not options.get("--output", "").endswith(".trace") or os.path.exists(options["--output"]):
        refuse("--output must be a .trace bundle that does not exist")
    if not re.fullmatch(r"\d+(ms|s|m|h)", options.get("--time-limit", "1s")):
        refuse("--time-limit needs a number and ms, s, m or h")
    if "--no-prompt" not in options:
        refuse("would ask about privacy: pass --no-prompt")


def seconds(limit):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", limit).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def wait_for_exec(child, command):
    """The time limit counts from the start of the program, not of `ridge launch`."""
    launcher = b"\0".join(word.encode() for word in command) + b"\0"
    while child.poll() is None:
        with open(f"/proc/{child.pid}/cmdline", "rb") as file:
            words = file.read()
        if words and words != launcher:
            return
        time.sleep(0.01)


def run_launched(command, limit):
    null, started, stopped = subprocess.DEVNULL, [], []

    def stop(*_):
        stopped.append(1)
        for child in started:
            child.terminate()

    signal.signal(signal.SIGINT, stop)
    child = subprocess.Popen(command, cwd="/", env={"PATH": "/usr/bin:/bin", "INSTRUMENTS": "1", **MUTANT},
                             stdin=null, stdout=null, stderr=null, start_new_session=True)
    started.append(child)
    if stopped:
        child.terminate()
    print(f"Launching process: {command[0]}.\nCtrl-C to stop the recording", flush=True)
    try:
        if limit:
            wait_for_exec(child, command)
        code = child.wait(seconds(limit) if limit else None)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    return child.pid, code


def run_attached(target, limit):
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    pid = int(target)
    if "XCTRACE_STARTED" in os.environ:
        open(os.environ["XCTRACE_STARTED"], "w").close()
    if not os.path.exists(f"/proc/{pid}"):
        refuse(f"Cannot find process for provided pid: {pid}", 11)
    end = time.monotonic() + (seconds(limit) if limit else 1e9)
    while not stopped and time.monotonic() < end and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.02)
    return pid, 0


def record(words):
    options, launch = parse(words)
    check(options, launch)
    if SCENARIO in REFUSALS:
        refuse(REFUSALS[SCENARIO], 1)
    print(f"Starting recording with the {options['--template']} template.", flush=True)
    limit = options.get("--time-limit")
    pid, code = run_launched(launch, limit) if launch else run_attached(options["--attach"], limit)
    if SCENARIO == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("Recording completed. Saving output file...", flush=True)
    about = {"pid": pid, "code": code, "name": os.path.basename((launch or ["process"])[0]),
             "arguments": " ".join((launch or [""])[1:]),
             "allocations": "Allocations" in options["--instrument"]}
    save(options["--output"], about)
    sys.exit(0 if code == 0 else 54)  # as the real one does when the program fails


# ---- the bundle ----

def real_tables(pid):
    folder = os.path.join(os.environ["RIDGE_FIXTURES"], "xctrace", "m1-compute-baseline")
    found, contents = {}, ""
    for name in os.listdir(folder):
        opener = gzip.open if name.endswith(".gz") else open
        with opener(f"{folder}/{name}", "rt", encoding="utf-8") as file:
            text = tables.retarget(file.read(), 17804, pid)
        schema = re.search(r'<schema name="([^"]*)"', text)
        if schema:
            found[schema.group(1)] = text
        else:
            contents = text
    return contents, found


def own_tables(about):
    pid, code, scenario = about["pid"], about["code"], SCENARIO
    program = tables.Program(about["name"], pid)
    if scenario == "empty":
        program.foreign(30)
    elif scenario == "lost":
        for _ in range(40):
            program.buffer([("gemm", 30_000)], intervals=False)
        program.foreign(30)
    else:
        tables.PROGRAMS.get(scenario, tables.synchronous)(program)
        program.foreign(30)
    schemas = [f"table-{i}" for i in range(82 - len(tables.COLUMNS))] if scenario == "schemas" else []
    reason = f"signal({-code})" if code < 0 else None
    contents = program.contents(max(code, 0), reason, schemas, about["arguments"],
                                about["allocations"])
    return contents, program.exports()


ALLOCATIONS = """<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]/detail[2]'>%s
</node></trace-query-result>
"""


def allocations():
    row = ('<row address="0x6000%04x" category="Malloc 256 Bytes" live="%s" '
           'responsible-caller="tensor_new" size="256" responsible-library="python3" '
           'timestamp="00:00.5%02d.000"/>')
    return ALLOCATIONS % "\n".join(row % (i, "false" if i % 2 else "true", i) for i in range(40))


def save(bundle, about):
    contents, found = real_tables(about["pid"]) if SCENARIO == "real" else own_tables(about)
    if SCENARIO == "truncated":
        found["metal-gpu-intervals"] = found["metal-gpu-intervals"][:20_000]
    if SCENARIO == "bad-table":
        del found["device-thermal-state-intervals"]
    folder = f"{bundle}/Trace1.run"
    os.makedirs(folder)
    open(f"{bundle}/form.template", "w").close()
    for name, text in {**found, "contents": contents, "allocations": allocations()}.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


record(sys.argv[1:])
