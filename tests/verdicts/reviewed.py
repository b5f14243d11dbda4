"""The first sentence of the verdict on every reviewed trace (reviewed.txt) is as reviewed.

    RIDGE=build/ridge python3 tests/verdicts/reviewed.py FIXTURES"""

import json
import os
import subprocess
import sys

RIDGE = os.environ.get("RIDGE", "build/ridge")


def entries(path):
    with open(path) as file:
        blocks = file.read().split("\n\n")[1:]
    return [block.strip().split("\n") for block in blocks if block.strip()]


def main():
    here, passed, failed = os.path.dirname(os.path.abspath(__file__)), 0, 0
    for trace, sentence, _ in entries(os.path.join(here, "reviewed.txt")):
        path = os.path.join(sys.argv[1], trace)
        if not os.path.exists(path):
            continue
        done = subprocess.run([RIDGE, "report", path, "--json"], stdout=subprocess.PIPE)
        headline = json.loads(done.stdout)["verdict"]["manager"] if done.returncode == 0 else "no report"
        if headline.startswith(sentence):
            passed += 1
        else:
            print(f"FAILED {trace}: {headline}\n  reviewed: {sentence}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
