# A report of Nsight Systems is exported by nsys, here by a stand-in that copies an export.
[ -n "$FIXTURES" ] && [ -e "$FIXTURES/nsys/mock.sqlite" ] || { echo "SKIP there are no fixtures"; exit 77; }
"$RIDGE" info "$FIXTURES/nsys/mock.sqlite" 2>&1 | grep -q "built without" && { echo "SKIP there is no SQLite"; exit 77; }
printf 'NVIDIA Tegra Profiler Report\0' > run.nsys-rep
mkdir bin temporary
export TMPDIR=$PWD/temporary
cat > bin/nsys << 'SCRIPT'
#!/bin/sh
echo "nsys prints a lot"
[ "$1 $2 $3 $4 $5 $6" = "export --type sqlite --force-overwrite true --output" ] || exit 9
[ "$8" = run.nsys-rep ] || exit 3
cp "$FIXTURES/nsys/mock.sqlite" "$7"
SCRIPT
chmod +x bin/nsys
PATH=$PWD/bin:$PATH
"$RIDGE" query run.nsys-rep "SELECT count(*) AS kernels FROM kernel"
"$RIDGE" query "$FIXTURES/nsys/mock.sqlite" "SELECT count(*) AS kernels FROM kernel"
echo '-- an export that fails'
cp run.nsys-rep newer.nsys-rep
"$RIDGE" info newer.nsys-rep
echo "status $?"
ls temporary
