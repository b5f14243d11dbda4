"""The estimated time of a step without torch.profiler is within its error of the time measured without it.

The traces are of loops in tests/gpu/profiler_overhead.py on an H200; their times alone are of the same run."""

import json
import os
import subprocess
import sys

RIDGE = os.environ.get("RIDGE", "build/ridge")
ALONE = {"add-x4-plain": 30175 / 4, "layer_norm-plain": 17027}  # ns of a step: one kernel


def main():
    failed, here = 0, os.path.dirname(os.path.abspath(__file__))
    for name, alone in ALONE.items():
        path = os.path.join(here, "traces", name + ".json.gz")
        out = subprocess.run([RIDGE, "report", path, "--json"], stdout=subprocess.PIPE, check=True).stdout
        verdict = json.loads(out)["verdict"]
        without = (verdict["time_ns"] - verdict["profiler_ns"]) / verdict["steps"]
        if abs(without - alone) > verdict["profiler_error_ns"] / verdict["steps"]:
            print(f"FAILED {name}: {without:.0f} ns without the profiler, measured {alone:.0f} ns")
            failed += 1
    print(f"{len(ALONE) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
