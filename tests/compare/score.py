"""Does the first sentence of `ridge diff` name the change?

    RIDGE=build/ridge python3 tests/compare/score.py [--words] [FOLDER]

FOLDER (tests/compare/pairs) has pairs.json, made by `record`: for each pair what is expected of the first sentence,
and the step times that the programs measured themselves. --words prints every sentence. The last line is
`N passed, N failed` for run.sh: the share of named changes must reach the bar."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys

BAR = 0.95
HERE = os.path.dirname(os.path.abspath(__file__))


def judge(ridge, folder, name, truth):
    sides = [os.path.join(folder, f"{name}-{side}.ridge") for side in "ab"]
    done = subprocess.run([ridge, "diff", *sides, "--json"], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return False, done.stderr.strip(), 0
    diff = json.loads(done.stdout)
    changed = sum(part["change_ns"] for part in diff["parts"])
    exact = changed == diff["change_ns"] == sum(row["change_ns"] for row in diff["rows"])
    named = re.search(truth["expected"], diff["headline"], re.IGNORECASE) is not None
    return named and exact, diff["headline"] + ("" if exact else " (the parts do not sum to it)"), diff["change_ns"]


def main():
    words = "--words" in sys.argv
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    folder = paths[0] if paths else os.path.join(HERE, "pairs")
    ridge = os.environ.get("RIDGE", "build/ridge")
    with open(os.path.join(folder, "pairs.json")) as file:
        truths = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(truths, pool.map(lambda name: judge(ridge, folder, name, truths[name]), truths)))
    named = sum(good for good, _, _ in found.values())
    for name, (good, headline, _) in sorted(found.items()):
        if words or not good:
            print(f"{'    ' if good else 'MISS'} {name}: {headline}")
    share = named / max(len(found), 1)
    print(f"the first sentence names the change in {named} of {len(found)} pairs ({share:.0%}; bar {BAR:.0%})")
    print(f"{1 if share >= BAR else 0} passed, {0 if share >= BAR else 1} failed")
    sys.exit(share < BAR)


main()
