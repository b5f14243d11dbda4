# Shapes that a Kineto trace lacks come from PyTorch's execution trace of the same run, by record function id.
cat > trace.json << 'JSON'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5,"args":{"Record function id":12}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":5,"args":{"Record function id":13,"Input Dims":[[2]]}},
{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":1,"tid":1,"ts":20,"dur":5,"args":{"Record function id":99}}]}
JSON
cat > nodes.json << 'JSON'
{"schema":"1.1.1-chakra.0.0.4","pid":1,"nodes":[
 {"id":3,"name":"aten::mm","ctrl_deps":2,"inputs":{"values":[[4,5,0,8,4,"cpu"]],"shapes":[[2, 4],[4, 3]],"types":["Tensor(float)","Tensor(float)"]},
  "outputs":{"shapes":[[2,3]]},"attrs":[{"name":"rf_id","type":"uint64","value":12},{"name":"op_schema","type":"string","value":"mm(Tensor)"}]},
 {"id":4,"name":"aten::add","inputs":{"shapes":[[9]],"types":["Tensor(float)"]},"attrs":[{"name":"rf_id","type":"uint64","value":13}]}]}
JSON
"$RIDGE" import trace.json --execution-trace nodes.json -q -o run.ridge
"$RIDGE" query run.ridge "SELECT name, detail FROM range ORDER BY start" --format csv
echo '-- an older schema'
echo '{"schema":"1.0","nodes":[{"id":1,"inputs":[1],"input_shapes":[[7]],"input_types":["Tensor(long int)"],"rf_id":99}]}' > old.json
"$RIDGE" import trace.json --execution-trace old.json -q -f -o run.ridge
"$RIDGE" query run.ridge "SELECT name, detail FROM range WHERE name = 'aten::mul'" --format csv
echo '-- mistakes'
"$RIDGE" import trace.json --execution-trace trace.json -q -o no.ridge
"$RIDGE" import trace.json --execution-trace missing.json -q -o no.ridge
"$RIDGE" info nodes.json
ls no.ridge 2> /dev/null
exit 0
