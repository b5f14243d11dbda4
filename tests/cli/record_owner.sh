# Whose files are trusted: in a user namespace the system's files belong to no known user.
place=$(mktemp -d /tmp/ridge-owner.XXXXXX) || exit 1
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
cp "$RIDGE" "$(dirname "$RIDGE")/libridge-probe.so" "$place"
mkdir -m 777 "$place/output"
chmod 1777 "$place/output"
as_user() { "$@"; }
[ "$(id -u)" != 0 ] || as_user() { setpriv --reuid 12345 --regid 12345 --clear-groups "$@"; }
as_user unshare -r true 2> /dev/null || {
    echo "SKIP user namespaces are not available"
    exit 77
}
unset XDG_RUNTIME_DIR TMPDIR
cd "$place/output" || exit 1
record() { as_user "$@" "$place/ridge" record --no-sampling -f -o x.ridge -- sh -c 'case $RIDGE_SPOOL in /tmp/*) echo a spool in /tmp ;; esac' 2> said; }
missing() { sed -n 's/^lost      \(nothing; \)*//p; /unrecorded/p' said | sed "s|$place/||g"; }

echo "- a user"
record
missing
echo "- the root of a user namespace"
record unshare -r
missing
echo "- a user that has no number"
record unshare -U
missing
