# The functions of a Python program, as its stacks name them: tests/fixtures/sums.py, recorded with a
# Python 3.12 that keeps no frame pointers (ridge record --sample-rate 499 -- python3 sums.py).
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
trace=$TESTS/fixtures/python.ridge
"$RIDGE" report "$trace" | sed -n '/^For /,/flame/p; /^Python functions/,/^$/p'
"$RIDGE" report "$trace" --format md | sed -n '/^### Python/,/squares/p'
"$RIDGE" report "$trace" --json | python3 -c '
import json, sys
samples = json.load(sys.stdin)["samples"]
python = [one for one in samples["functions"] if one["module"] == "[python]"]
print(sum(one["own_samples"] for one in samples["functions"]) == samples["count"], sum(one["self_samples"] for one in python))'
