// Which events have a name? All names are asked once; each lane then counts its matches, so that a
// frame knows of any stretch of it whether there is one inside, and the next one is found at once.

// Of each string: 1 when it is meant.
function matchingStrings(trace, query) {
    const wanted = new Uint8Array(trace.strings.length);
    const text = (query.kernel ?? query.range ?? query.name ?? '').toString();
    const lower = text.toLowerCase();
    for (let i = 0; i < wanted.length; i++) {
        if (query.name !== undefined)
            wanted[i] = trace.strings[i].toLowerCase().includes(lower) || trace.short[i].toLowerCase().includes(lower) ? 1 : 0;
        else
            wanted[i] = trace.strings[i] === text || trace.short[i] === text ? 1 : 0;
    }
    return wanted;
}

function laneAsked(lane, query) {
    if (query.kernel !== undefined)
        return lane.kind === 'activity';
    if (query.range !== undefined)
        return lane.kind === 'range' || lane.kind === 'step';
    return ['activity', 'range', 'call', 'step'].includes(lane.kind);
}

export function eachLane(groups, visit) {
    for (const group of groups)
        for (const track of group.tracks)
            for (const lane of track.lanes)
                visit(lane, group);
}

// Marks the matches of a query in all lanes; null: of none. Returns {count, total, longest}.
export function markMatches(groups, query) {
    const strings = new Map();
    const found = {count: 0, total: 0, longest: null};
    let longest = -1;
    eachLane(groups, (lane) => {
        lane.matches = null;
        const traceAsked = !query || query.trace === undefined || query.trace === lane.trace.index;
        if (!query || !traceAsked || !laneAsked(lane, query))
            return;
        if (!strings.has(lane.trace))
            strings.set(lane.trace, matchingStrings(lane.trace, query));
        const wanted = strings.get(lane.trace);
        const source = lane.trace[lane.table];
        const matches = new Uint32Array(lane.count + 1);
        for (let i = 0; i < lane.count; i++) {
            const row = lane.rows[i];
            const kernel = query.kernel === undefined || source.kind[row] === 0;
            const hit = kernel && wanted[source.name[row]] === 1 ? 1 : 0;
            matches[i + 1] = matches[i] + hit;
            const length = lane.ends[i] - lane.starts[i];
            if (hit && length > longest) {
                longest = length;
                found.longest = {lane, at: i};
            }
            if (hit)
                found.total += length;
        }
        lane.matches = matches;
        found.count += matches[lane.count];
    });
    return found;
}

// The place of the nth match (from 0) of a lane.
function nthMatch(lane, nth) {
    let low = 0;
    let high = lane.count;
    while (low < high) {
        const middle = low + high >>> 1;
        if (lane.matches[middle + 1] > nth)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// The match after (or before) an event in order of time over all lanes, from the other end behind
// the last. `from` is {lane, at} or null.
export function nextMatch(chart, from, direction) {
    const lanes = [];
    eachLane(chart.groups, (lane) => {
        if (lane.matches && lane.matches[lane.count] > 0)
            lanes.push(lane);
    });
    const key = (lane, at) => [lane.starts[at] + chart.shifts[lane.trace.index], lanes.indexOf(lane)];
    const after = (a, b) => a[0] > b[0] || a[0] === b[0] && a[1] > b[1];
    const here = from ? [chart.spanOfEvent(from).from, lanes.indexOf(from.lane)] : null;
    let best = null;
    let edge = null;
    lanes.forEach((lane) => {
        const all = lane.matches[lane.count];
        let low = 0;
        let high = all;
        while (here && low < high) {
            const middle = low + high >>> 1;
            const beyond = after(key(lane, nthMatch(lane, middle)), here);
            const same = from.lane === lane && nthMatch(lane, middle) === from.at;
            if (direction > 0 ? beyond : beyond || same)
                high = middle;
            else
                low = middle + 1;
        }
        const nth = direction > 0 ? low : low - 1;
        const candidate = here && nth >= 0 && nth < all ? {lane, at: nthMatch(lane, nth)} : null;
        const last = {lane, at: nthMatch(lane, direction > 0 ? 0 : all - 1)};
        const better = (a, b) => !b || after(key(b.lane, b.at), key(a.lane, a.at)) === direction > 0;
        if (candidate && better(candidate, best))
            best = candidate;
        if (better(last, edge))
            edge = last;
    });
    return best || edge;
}
