"""Scores the reports of a hold-out set.

    python3 tests/holdout/score.py tests/holdout/set1.py OUT

For each program: is the first finding right, is the remedy named among the fixes of the first three
findings, and how far is the predicted gain from the gain of the fix that was really made (both as shares
of the time)? Healthy programs must not be blamed for more than 3 %."""

import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import load

BLAMED = 0.03


def findings_of(path):
    with open(path) as file:
        verdict = json.load(file)["verdict"]
    return verdict, [f for f in verdict["findings"] if not f["minor"]] or verdict["findings"][:1]


def remedy_words(verdict):
    words = [verdict["engineer"] or ""]
    for finding in verdict["findings"][:3]:
        words += [fix["words"] for fix in finding["fixes"]] + [finding["cause"] or "", finding["summary"] or ""]
    return " ".join(words)


def score_program(name, right, remedy, out, times):
    path = os.path.join(out, name + ".json")
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return {"name": name, "missing": True}
    verdict, findings = findings_of(path)
    first = findings[0]
    row = {"name": name, "missing": False, "healthy": right == ["healthy"], "first": first["kind"],
           "right": first["kind"] in right, "named": bool(remedy) and bool(re.search(remedy, remedy_words(verdict), re.I)),
           "steps": verdict["steps"], "predicted": first["recoverable_share"] or 0}
    if row["healthy"]:
        row["right"] = row["right"] or row["predicted"] <= BLAMED
    pair = times.get(name)
    row["measured"] = 1 - pair[1] / pair[0] if pair else None
    return row


def percent(value):
    return "" if value is None else f"{100 * value:.1f} %"


def print_rows(rows):
    print(f"{'program':22} {'first finding':18} right named steps predicted measured")
    for row in rows:
        if row["missing"]:
            print(f"{row['name']:22} not recorded")
            continue
        named = "" if row["healthy"] else "yes" if row["named"] else "no"
        print(f"{row['name']:22} {row['first']:18} {'yes' if row['right'] else 'NO':5} {named:5} {row['steps']:5} "
              f"{percent(row['predicted']):>9} {'' if row['healthy'] else percent(row['measured']):>8}")


def print_totals(rows):
    rows = [row for row in rows if not row["missing"]]
    faults = [row for row in rows if not row["healthy"]]
    healthy = [row for row in rows if row["healthy"]]
    print(f"right first finding: {sum(r['right'] for r in rows)} of {len(rows)}")
    print(f"remedy named: {sum(r['named'] for r in faults)} of {len(faults)}")
    print(f"healthy programs blamed for more than 3 %: {sum(not r['right'] for r in healthy)} of {len(healthy)}")
    errors = [abs(r["predicted"] - r["measured"]) / r["measured"] for r in faults
              if r["right"] and r["measured"] and r["measured"] > BLAMED]
    if errors:
        print(f"recovered time, median relative difference: {percent(statistics.median(errors))} of {len(errors)}")


def main():
    programs, out, times = load(sys.argv[1]).PROGRAMS, sys.argv[2], {}
    if os.path.exists(os.path.join(out, "times.json")):
        with open(os.path.join(out, "times.json")) as file:
            times = json.load(file)
    rows = [score_program(f.__name__, right, remedy, out, times) for f, right, remedy in programs]
    print_rows(rows)
    print_totals(rows)


if __name__ == "__main__":
    main()
