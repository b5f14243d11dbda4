# The session in the README is what ridge prints.
cd "$TESTS/.." || exit 1
sed -n '/^\$ ridge report/,/^  …$/p' README.md | sed '1d;$d' > "$OLDPWD/expected"
lines=$(wc -l < "$OLDPWD/expected")
"$RIDGE" report examples/train.ridge | head -n "$lines" | diff "$OLDPWD/expected" - &&
    echo "the README's session is real"
