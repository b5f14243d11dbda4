# Whatever is wrong with a file, import and info say it in one line, exit 2, and leave nothing.
try() {
    "$RIDGE" "$@" > printed 2> said
    code=$?
    [ -s printed ] && echo "printed something: $(head -c 200 printed)"
    [ "$(wc -l < said)" = 1 ] || echo "not one line: $(wc -l < said)"
    rm -f printed
    sed "s/^/$code: /" said
    rm -f said
    for left in *.ridge *.tmp; do if [ -e "$left" ]; then echo "left behind: $left"; fi; done
}

each() {
    try info "$1"
    try import "$1" -o out.ridge
}

: > empty.json
each empty.json

printf '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]}' > good.json
gzip -nc good.json | head -c 40 > cut.json.gz
each cut.json.gz

head -c 60 good.json > cut.json
each cut.json

printf 'version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 345\n' > pointer.json
each pointer.json

printf 'just some words\n' > words.txt
each words.txt

printf '\000\001\377\376\200\201\000\000\007\013' > noise.bin
each noise.bin

printf '<!DOCTYPE html><html><body>Sign in</body></html>' > page.json
each page.json

printf '%%PDF-1.7' > paper.pdf
each paper.pdf


each missing.json
each .

mkdir folder
each folder

ln -s loop.json loop.json
each loop.json
