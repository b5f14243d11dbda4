# What `ridge info` prints of a small Chrome trace, as text and as JSON.
cat > trace.json <<'JSON'
{"traceEvents":[
{"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}},
{"ph":"M","name":"thread_name","pid":7,"tid":9,"args":{"name":"main"}},
{"ph":"X","name":"outer","ts":10.5,"dur":100,"pid":7,"tid":9},
{"ph":"X","name":"inner","ts":20,"dur":30.25,"pid":7,"tid":9}
]}
JSON
"$RIDGE" info trace.json
"$RIDGE" info trace.json --format json
cat trace.json | "$RIDGE" info - | head -n 1
"$RIDGE" info <(gzip -c trace.json) --format json | grep '"rows"' | head -n 1
