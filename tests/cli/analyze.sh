# One word: doctor, recording, counters where an NVIDIA GPU did the work, report and page. The exit status is the program's.
"$RIDGE" analyze -o run.ridge -- sh -c 'echo the program ran; exit 3' > out 2> err
echo "status $?"
grep -c '^  \(yes\|no\) ' out | sed 's/^[1-9][0-9]*$/doctor has rows/'
grep -x 'the program ran' out
grep -x 'run.ridge' out
grep -o '^recorded ' err
grep -o '^counters.*' err
grep -x 'page      run.html' err
head -c 15 run.html
echo
"$RIDGE" query run.ridge "SELECT count(*) > 0 AS processes FROM process"

echo '-- quiet, without a page'
"$RIDGE" analyze -q --no-page -o quiet.ridge -- true > out 2> err
echo "status $?"
grep -c '^  \(yes\|no\) ' out
cat err
ls quiet.*

echo '-- what cannot be'
"$RIDGE" analyze -q -o run.ridge -- true
echo "status $?"
"$RIDGE" analyze -q -o no.ridge -- ./no-such-program
echo "status $?"
"$RIDGE" analyze
echo "status $?"
exit 0
