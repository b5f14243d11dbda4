# The doctor's answer differs from machine to machine; its form does not.
$RIDGE doctor > text
case $? in 0 | 1) echo "ends with yes or no" ;; esac
sed -n 's/^  \(yes\|no \)  \(.\{17\}\)  .*/\2/p' text | sed 's/ *$//'
awk 'length($0) > 80' text
awk 'END { print NR <= 32 ? "one screen" : "too long: " NR }' text
$RIDGE doctor --json > json
case $? in 0 | 1) echo "ends with yes or no" ;; esac
python3 - << 'PYTHON'
import json
found = json.load(open("json"))
print(found["schema"], found["version"], type(found["can_record"]).__name__)
for row in found["backends"]:
    assert bool(row["found"]) == row["usable"] and bool(row["step"]) != row["usable"], row
print(len(found["backends"]), "backends, each with what was found or a step")
PYTHON
$RIDGE doctor extra
echo $?
