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
echo "- libraries that crash when they are loaded or called"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0 # in a sanitized build too they die by the signal
# A CUPTI whose cuptiGetVersion() crashes, as pip's does without a driver, and a driver that crashes.
cat > cupti.c << 'C'
#include "abi/cupti.h"
#include "abi/cupti_symbols.h"
#define DEFINE(name, parameters) cupti_result name(void) { return *(volatile cupti_result *)0; }
CUPTI_SYMBOLS(DEFINE)
C
cat > driver.c << 'C'
#include <signal.h>
__attribute__((constructor)) static void start(void) { raise(SIGSEGV); }
C
mkdir drivers
${CC:-cc} -shared -fPIC -w -I "$TESTS/../src" -o libcupti.so cupti.c
${CC:-cc} -shared -fPIC -o drivers/libcuda.so.1 driver.c
ask() {
    "$@" doctor > found
    case $? in 0 | 1) echo "$(grep -c '^  \(yes\|no \)' found) lines" ;; esac
}
RIDGE_CUPTI=$PWD/libcupti.so ask $RIDGE
LD_LIBRARY_PATH=$PWD/drivers ask $RIDGE
tr -s ' \n' ' ' < found | grep -o 'no cuda .* reinstall the driver'
$RIDGE doctor extra
echo $?
