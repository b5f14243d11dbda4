"""Runs one program of a hold-out set, or times all of them.

    python3 tests/holdout/program.py SET NAME       # the faulty program, as a user would run it
    python3 tests/holdout/program.py SET --list     # the names
    python3 tests/holdout/program.py SET --time OUT # faulty and fixed in turns, without a profiler

HOLDOUT_LOCK names a file that is locked while a program uses the device, so that several can start at
once."""

import fcntl
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback

WARM_UP, ROUNDS = 5, 3
LONGEST_S = 45


def load(path):
    spec = importlib.util.spec_from_file_location("holdout_set", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps_of(programs, function):
    return getattr(function, "steps", programs.STEPS)


def wait_for_device(result):
    if "jax" in sys.modules:
        import jax
        jax.block_until_ready(result)
    if "cupy" in sys.modules:
        import cupy
        cupy.cuda.Device().synchronize()
    if "torch" in sys.modules:
        import torch
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()


def run(step, count, takes_turns):
    """A step is called once for each turn, a loop once with the number of its turns."""
    if takes_turns:
        result = step(count)
    else:
        for _ in range(count):
            result = step()
    wait_for_device(result)


def acquire_device():
    path = os.environ.get("HOLDOUT_LOCK")
    if path:
        handle = open(path, "w")
        fcntl.flock(handle, fcntl.LOCK_EX)
        return handle
    return None


def time_program(programs, function):
    """Nanoseconds of a step, faulty and fixed: the medians of rounds in turns."""
    variants, times = [function(False), function(True)], [[], []]
    steps, takes_turns = steps_of(programs, function), getattr(function, "takes_turns", False)
    for step in variants:
        run(step, WARM_UP, takes_turns)
    for _ in range(ROUNDS):
        for step, kept in zip(variants, times):
            started = time.perf_counter_ns()
            run(step, steps, takes_turns)
            kept.append((time.perf_counter_ns() - started) / steps)
    return [statistics.median(kept) for kept in times]


def time_executable(path):
    """A compiled program prints its own time."""
    rounds = [[float(subprocess.check_output([path, variant])) for variant in "01"] for _ in range(ROUNDS)]
    return [statistics.median(times) for times in zip(*rounds)]


def time_in_child(programs, function):
    """In a process of its own, so that one program's settings do not change the next one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        signal.alarm(LONGEST_S)
        try:
            os.write(writer, json.dumps(time_program(programs, function)).encode() + b"\n")
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.readline()  # not to the end: workers of a data loader may hold the pipe open
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def main():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    programs = load(sys.argv[1])
    if sys.argv[2] == "--list":
        print("\n".join(function.__name__ for function, _, _ in programs.PROGRAMS))
        return
    if sys.argv[2] != "--time":
        function = next(f for f, _, _ in programs.PROGRAMS if f.__name__ == sys.argv[2])
        library = "jax" if "jax" in sys.argv[2] else "cupy" if "cupy" in sys.argv[2] else "torch"
        function.load() if hasattr(function, "load") else importlib.import_module(library)
        lock = acquire_device()
        run(function(False), WARM_UP + steps_of(programs, function), getattr(function, "takes_turns", False))
        del lock
        return
    import torch  # once for all children; CUDA starts in each child
    times = {}
    for function in [f for f, right, _ in programs.PROGRAMS if right != ["healthy"]]:
        executable = os.path.join(os.path.dirname(sys.argv[3]), function.__name__)
        if not hasattr(function, "source"):
            times[function.__name__] = time_in_child(programs, function)
        elif os.path.exists(executable):
            times[function.__name__] = time_executable(executable)
        with open(sys.argv[3], "w") as output:
            json.dump(times, output, indent=1)


if __name__ == "__main__":
    main()
