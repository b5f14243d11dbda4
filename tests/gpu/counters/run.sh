#!/bin/bash
# Counters of kernels with known traits, against ncu's own page. By hand, on a machine with an NVIDIA GPU, ncu and CuPy:
#   RIDGE=build/ridge tests/gpu/counters/run.sh [FOLDER]
here=$(cd "$(dirname "$0")" && pwd)
ridge=${RIDGE:-$PWD/build/ridge}
out=${1:-counters-result}
mkdir -p "$out"
program="python3 $here/kernels.py"
echo "== ridge counters"
"$ridge" counters -f -n 1 --report "$out/own.ncu-rep" -o "$out/counters.ridge" -- $program > "$out/counters.txt" 2>&1
echo "status $?"
cat "$out/counters.txt"
echo "== ncu"
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2> /dev/null | tail -n 1)
"$ncu" --version | tail -n 2
if [ -s "$out/own.ncu-rep" ]; then
    "$ncu" -i "$out/own.ncu-rep" --page details --csv > "$out/details.csv" 2> "$out/ncu.log"
    "$ncu" -i "$out/own.ncu-rep" --page raw --csv --print-units base > "$out/raw.csv" 2>> "$out/ncu.log"
    "$ncu" -i "$out/own.ncu-rep" --page details > "$out/details.txt" 2>> "$out/ncu.log"
    python3 "$here/compare.py" "$ridge" "$out/own.ncu-rep" "$out/details.csv" "$out/counters.ridge"
fi
