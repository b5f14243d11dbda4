// What lanes does the timeline have? Every device with its idle time and its queues, every process
// with its threads: their ranges by depth, calls, states and samples. Processes in which hardly
// anything happened (a shell around the program, a helper that started and ended) share a group.
//
// A lane is a list of events that do not overlap, in order of time: `rows` of a table, with starts
// and ends. What overlaps goes into the next lane of its group. Sums of the durations up to each
// event tell how full any stretch of time is without looking at its events one by one.

import {isPause} from '../data.js';

const LANES_DEEP = 48;
const FEW_SAMPLES = 10; // a process with fewer has no weight
const FEW_OF_ALL = 0.01; // nor has one with less of all samples
const FOLDED_LEAST = 3; // fewer processes are not worth a group

function makeLane(trace, table, kind, rows) {
    const source = trace[table];
    const times = source.start || source.time;
    const count = rows.length;
    const starts = new Float64Array(count);
    const ends = new Float64Array(count);
    const sums = new Float64Array(count + 1);
    let longest = 0;
    for (let i = 0; i < count; i++) {
        const row = rows[i];
        starts[i] = times[row];
        ends[i] = times[row] + (source.duration ? source.duration[row] : 0);
        sums[i + 1] = sums[i] + ends[i] - starts[i];
        longest = Math.max(longest, ends[i] - starts[i]);
    }
    return {trace, table, kind, rows, count, starts, ends, sums, longest};
}

// Distributes rows (in order of start) over lanes so that none overlap, each as high up as it can.
// What would need more lanes than that is counted as hidden.
function packLanes(trace, table, kind, rows, deepest = LANES_DEEP) {
    const source = trace[table];
    const lanes = [];
    const reached = [];
    let hidden = 0;
    for (const row of rows) {
        const start = source.start[row];
        const end = start + source.duration[row];
        let at = 0;
        while (at < lanes.length && reached[at] > start && at + 1 < deepest)
            at++;
        if (at === lanes.length) {
            lanes.push([]);
            reached.push(-Infinity);
        }
        if (reached[at] > start && reached[at] >= end) {
            hidden++;
            continue;
        }
        lanes[at].push(row);
        reached[at] = Math.max(reached[at], end);
    }
    const made = lanes.map((list) => makeLane(trace, table, kind, Uint32Array.from(list)));
    if (hidden)
        made[made.length - 1].hidden = hidden;
    return made;
}

// Rows of a table by what they belong to, in their order. Quick for a million rows: counts first.
function rowsBy(owners, count) {
    const sizes = new Map();
    for (let i = 0; i < count; i++)
        sizes.set(owners[i], (sizes.get(owners[i]) || 0) + 1);
    const lists = new Map();
    for (const [owner, size] of sizes)
        lists.set(owner, {rows: new Uint32Array(size), used: 0});
    for (let i = 0; i < count; i++) {
        const list = lists.get(owners[i]);
        list.rows[list.used++] = i;
    }
    return new Map([...lists].map(([owner, list]) => [owner, list.rows]));
}

function deviceGroups(trace) {
    const byQueue = rowsBy(trace.activities.queue, trace.activities.count);
    const byDevice = rowsBy(trace.gaps.device, trace.gaps.count);
    const rangesByQueue = rowsBy(trace.ranges.queue, trace.ranges.count);
    const groups = [];
    for (let id = 1; id < trace.devices.length; id++) {
        const tracks = [];
        const gaps = byDevice.get(id);
        if (gaps)
            tracks.push({label: 'idle, by cause', lanes: [makeLane(trace, 'gaps', 'gap', gaps)]});
        for (let queue = 1; queue < trace.queues.length; queue++) {
            if (trace.queues[queue].device !== id)
                continue;
            const lanes = [];
            if (rangesByQueue.has(queue))
                lanes.push(...packLanes(trace, 'ranges', 'range', rangesByQueue.get(queue)));
            if (byQueue.has(queue))
                lanes.push(...packLanes(trace, 'activities', 'activity', byQueue.get(queue), 8));
            if (lanes.length)
                tracks.push({label: trace.queues[queue].label, lanes});
        }
        tracks.push(...counterTracks(trace, id));
        if (tracks.length)
            groups.push({label: trace.devices[id].display, kind: 'device', trace, id, tracks, pauses: devicePauses(trace, id)});
    }
    return groups;
}

// A device's work is not recorded while the processes that use it are paused.
function devicePauses(trace, id) {
    const users = new Set(trace.queues.filter((queue) => queue && queue.device === id).map((queue) => queue.process));
    return pauseLane(trace, (process) => users.has(process) || users.has(0) || users.size === 0);
}

// A counter is a curve: its samples are the lane's events, each lasting until the next, and the last
// until the end of everything: what does not change is not written again.
function counterTracks(trace, device) {
    const counters = trace.counters;
    const byName = new Map();
    for (let i = 0; i < counters.count; i++) {
        if (counters.device[i] !== device)
            continue;
        if (!byName.has(counters.name[i]))
            byName.set(counters.name[i], []);
        byName.get(counters.name[i]).push(i);
    }
    const tracks = [];
    for (const [name, rows] of byName) {
        rows.sort((a, b) => counters.time[a] - counters.time[b]);
        const lane = makeLane(trace, 'counters', 'counter', Uint32Array.from(rows));
        for (let i = 0; i + 1 < lane.count; i++)
            lane.ends[i] = lane.starts[i + 1];
        lane.ends[lane.count - 1] = Math.max(lane.starts[lane.count - 1], trace.span.to);
        lane.most = rows.reduce((most, row) => Math.max(most, counters.value[row]), 0);
        tracks.push({label: trace.strings[name], lanes: [lane]});
    }
    return tracks;
}

function threadTrack(trace, id, ranges, calls, samples, states) {
    const lanes = [];
    if (states)
        lanes.push(...packLanes(trace, 'states', 'state', states, 1));
    if (ranges)
        lanes.push(...packLanes(trace, 'ranges', 'range', ranges));
    if (calls)
        lanes.push(...packLanes(trace, 'calls', 'call', calls, 4));
    if (samples)
        lanes.push(makeLane(trace, 'samples', 'sample', samples));
    return {label: trace.threads[id] ? trace.threads[id].label : 'no thread', lanes, thread: id};
}

// The pauses among some rows of ranges, as a lane; null when there is none.
function pauseLane(trace, wanted) {
    const {ranges} = trace;
    const rows = [];
    for (let i = 0; trace.paused && i < ranges.count; i++)
        if (isPause(trace, i) && wanted(trace.threads[ranges.thread[i]]?.process || 0))
            rows.push(i);
    rows.sort((a, b) => ranges.start[a] - ranges.start[b]);
    return rows.length ? packLanes(trace, 'ranges', 'pause', rows, 1)[0] : null;
}

function threadsByProcess(trace) {
    const ranges = rowsBy(trace.ranges.thread, trace.ranges.count);
    const calls = rowsBy(trace.calls.thread, trace.calls.count);
    const samples = rowsBy(trace.samples.thread, trace.samples.count);
    const states = rowsBy(trace.states.thread, trace.states.count);
    const byProcess = new Map();
    for (let id = 0; id < Math.max(trace.threads.length, 1); id++) {
        let own = ranges.get(id);
        if (own && (id === 0 || trace.paused))
            own = own.filter((row) => !isPause(trace, row) && (id !== 0 || trace.ranges.queue[row] === 0));
        if (!(own && own.length) && !calls.has(id) && !samples.has(id) && !states.has(id))
            continue;
        const process = trace.threads[id] ? trace.threads[id].process : 0;
        if (!byProcess.has(process))
            byProcess.set(process, []);
        const track = threadTrack(trace, id, own && own.length ? own : null, calls.get(id), samples.get(id), states.get(id));
        track.events = (calls.has(id) ? calls.get(id).length : 0) + (own ? own.length : 0);
        track.samples = samples.has(id) ? samples.get(id).length : 0;
        track.weight = track.events * 4 + track.samples;
        byProcess.get(process).push(track);
    }
    return byProcess;
}

function processGroups(trace) {
    const launching = new Set();
    for (let i = 0; i < trace.activities.count; i++)
        launching.add(trace.queues[trace.activities.queue[i]]?.process);
    const groups = [];
    for (const [id, tracks] of threadsByProcess(trace)) {
        tracks.sort((a, b) => b.weight - a.weight);
        const process = trace.processes[id];
        const label = process ? `${process.name || 'process'} (${process.pid})` : 'host';
        const few = tracks.reduce((sum, track) => sum + track.samples, 0) < Math.max(FEW_SAMPLES, trace.samples.count * FEW_OF_ALL);
        const slight = process && few && !launching.has(id) && tracks.every((track) => track.events === 0);
        groups.push({label, kind: 'process', trace, id, tracks, slight, pauses: pauseLane(trace, (of) => of === id)});
    }
    return foldSlight(trace, groups);
}

// Processes without weight as one group, each thread by its process's name; never the weightiest.
function foldSlight(trace, groups) {
    const weight = (group) => group.tracks.reduce((sum, track) => sum + track.weight, 0);
    const most = groups.reduce((a, b) => a && weight(a) >= weight(b) ? a : b, null);
    const folded = groups.filter((group) => group.slight && group !== most);
    if (folded.length < FOLDED_LEAST)
        return groups;
    const tracks = folded.flatMap((group) => group.tracks.map((track) => {
        const name = trace.threads[track.thread].name;
        return {...track, label: name && !group.label.startsWith(name) ? `${group.label} ${name}` : group.label};
    }));
    return [...groups.filter((group) => !folded.includes(group)),
        {label: `${folded.length} other processes`, kind: 'others', trace, id: -1, tracks, pauses: null}];
}

function stepTrack(trace) {
    if (trace.steps.count === 0)
        return [];
    const rows = Uint32Array.from({length: trace.steps.count}, (_, i) => i);
    return [{label: 'steps', kind: 'steps', trace, tracks: [{label: 'steps', lanes: packLanes(trace, 'steps', 'step', rows, 2)}]}];
}

// Groups of tracks of lanes, of one trace.
export function laneGroups(trace) {
    return [...stepTrack(trace), ...deviceGroups(trace), ...processGroups(trace)];
}

// First place in a lane whose event ends after `time`.
export function laneAfter(lane, time, from = 0) {
    let low = from;
    let high = lane.count;
    while (low < high) {
        const middle = low + high >>> 1;
        if (lane.ends[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// First place in a lane whose event starts at `time` or later, looking near `from` first.
export function laneFrom(lane, time, from = 0) {
    let low = from;
    let step = 1;
    while (low + step < lane.count && lane.starts[low + step] < time) {
        low += step;
        step *= 2;
    }
    let high = Math.min(lane.count, low + step);
    while (low < high) {
        const middle = low + high >>> 1;
        if (lane.starts[middle] >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
