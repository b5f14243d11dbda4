# Records an MPI job: each process has its rank, each collective its group, number and size.
command -v mpicc > /dev/null && command -v mpirun > /dev/null || { echo "SKIP no MPI (mpicc, mpirun)"; exit 77; }
[ -z "$SAN" ] || { echo "SKIP a sanitizer is not preloaded into MPI programs"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export MPIEXEC_UNIVERSE_SIZE=4 OMPI_MCA_btl_vader_single_copy_mechanism=none
mpicc -O1 -g -o solver "$TESTS/jobs/solver.c" || exit 1
mpirun -n 2 ./solver none 0 0 1 > /dev/null 2>&1 || { echo "SKIP mpirun does not work here"; exit 77; }

"$RIDGE" record -q -o job.ridge -- mpirun -n 2 ./solver none 0 0 5
"$RIDGE" query job.ridge "SELECT rank, local_rank, world_size FROM process WHERE rank != '' ORDER BY 1" --format csv
"$RIDGE" query job.ridge "SELECT p.rank, r.name, r.domain, count(*), json_extract(r.detail, '$.bytes') bytes,
    json_extract(r.detail, '$.\"Group size\"') ranks, max(json_extract(r.detail, '$.Seq')) seq
    FROM range r JOIN thread t ON t.id = r.thread JOIN process p ON p.id = t.process
    GROUP BY 1, 2, 3 ORDER BY 1, 2" --format csv
"$RIDGE" ranks job.ridge --json | grep -E '"(ranks_read|world_size|operations|matched|steps)"'

echo "-- a recorder in each rank"
mkdir traces
mpirun -n 2 "$RIDGE" record -q -o traces/run-%r.ridge -- ./solver none 0 0 5
"$RIDGE" merge traces -o merged.ridge
"$RIDGE" ranks merged.ridge --json | grep -E '"(ranks_read|matched)"'

echo "-- some ranks"
mpirun -n 2 "$RIDGE" record -q --ranks 1 -o one-%r.ridge -- ./solver none 0 0 5
ls one-*
"$RIDGE" record -q --ranks 1 -o some.ridge -- mpirun -n 2 ./solver none 0 0 5
"$RIDGE" query some.ridge "SELECT DISTINCT p.rank FROM range r JOIN thread t ON t.id = r.thread
    JOIN process p ON p.id = t.process" --format csv
