# ridge bench: its list, its mistakes, its files, going on after Ctrl-C. Figures are not looked at.
[ -z "${SAN:-}" ] || { echo "SKIP measuring with sanitizers takes minutes" && exit 77; }
export RIDGE_CACHE=$PWD/cache
say() { "$@" 2>&1; echo "status $?"; }
"$RIDGE" bench | sed -n '1p;3,4p;$p'
echo "- mistakes"
say "$RIDGE" bench fuson
say "$RIDGE" bench something
say "$RIDGE" bench fusion -d gpu
say "$RIDGE" bench fusion -d cpu,
say "$RIDGE" bench fusion -d cpu:9
say "$RIDGE" bench fusion -d cpu --size 0
say "$RIDGE" bench fusion -d cpu --size 4k,x
say "$RIDGE" bench fusion -d cpu --dtype f16
say "$RIDGE" bench layers -d cpu --dtype f64
say "$RIDGE" bench layers -d cpu --model x.gguf
say "$RIDGE" bench fusion -d cpu --seconds -1
say "$RIDGE" bench fusion -d cpu --against nothing 2>&1 | sed "s|$PWD||g"
say "$RIDGE" bench rwkv -d cpu --quick --rounds 3 --model nothing.gguf 2>&1 | tail -n 2
echo "not a model" > text.gguf
say "$RIDGE" bench rwkv -d cpu --quick --rounds 3 --model text.gguf 2>&1 | tail -n 2
say "$RIDGE" bench matmul -d cpu --size 100G 2>&1 | sed 's/has [0-9.]* GB/has N GB/'
echo taken > taken.json
say "$RIDGE" bench fusion -d cpu -o taken.json
say "$RIDGE" bench fusion -d cpu --peer numpy
RIDGE_PYTHON=$PWD/no-python "$RIDGE" bench fusion -d cpu --quick --rounds 3 --peer torch > out 2> err
echo "status $?"; wc -l < err | tr -d ' '; sed "s|$PWD||g" err | cut -c1-60
echo "- all devices, of which there is one"
OCL_ICD_VENDORS=$PWD/none VK_DRIVER_FILES=$PWD/none VK_ICD_FILENAMES=$PWD/none CUDA_VISIBLE_DEVICES= \
    "$RIDGE" bench fusion -d all --quick --rounds 3 -q --format csv | grep -c 'cpu:0' | sed 's/^[1-9][0-9]*$/cpu/'
echo "- formats"
"$RIDGE" bench fusion -d cpu --quick --rounds 3 -q --format csv | head -n 1 | tr ',' '\n' | head -n 6
"$RIDGE" bench fusion -d cpu --quick --rounds 3 -q --format md | grep -c '^| '
"$RIDGE" bench fusion -d cpu --quick --rounds 3 -q --json | grep -c '"label"'
"$RIDGE" bench fusion -d cpu --quick --rounds 3 -q | sed 's/[^ -~]/x/g; s/xxx/x/g' | awk 'length > 82'
echo "- files"
"$RIDGE" bench fusion pool -d cpu --quick -q --rounds 3 --trace t.ridge --plot p.svg --save kept -o results.txt
echo "status $?"; ls -- *.ridge *.svg results.txt
"$RIDGE" query t.ridge "SELECT count(*) > 60 AS kernels FROM kernel" | tail -n 1 | tr -d ' '
"$RIDGE" query t.ridge "SELECT name FROM range WHERE name LIKE 'chain%' ORDER BY start LIMIT 2" | tail -n 2
head -c 5 p.svg; echo
"$RIDGE" bench fusion pool -d cpu --quick -q --rounds 3 --against kept > compared
echo "status $?"; grep -c 'chain of 20' compared > /dev/null && echo "compared"
echo "- after Ctrl-C the same command goes on"
"$RIDGE" bench elementwise layers lora -d cpu --quick --seconds 0.2 --size 1000,2000 -q > partial 2> stopped &
for i in $(seq 1200); do
    [ -n "$(ls cache/bench-*.json 2> /dev/null)" ] && break
    sleep 0.1
done
kill -TERM $!; wait $!; echo "status $?"
sed "s/[0-9][0-9]* of [0-9][0-9]* lines/N of M lines/; s/: .*: stopped/: LINE: stopped/" stopped
before=$(grep -c '"checked": true' cache/bench-*.json)
"$RIDGE" bench elementwise layers lora -d cpu --quick --seconds 0.2 --size 1000,2000 -q --resume > whole
echo "status $?"
[ "$before" -ge 1 ] && echo "kept some"
ls cache | grep -c '^bench-'
exit 0
