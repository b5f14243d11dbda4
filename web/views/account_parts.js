// Where a device's time went, as a tree: busy into kernels, copies into directions, idle into causes
// and those into the host's own code. Every part has {name, time, fill, about, find, parts()}.

import {GAP_CAUSES, COPY_DIRECTIONS, MEMORY_KINDS} from '../data.js';
import {CAUSES, nameColor} from '../palette.js';
import {formatCount} from '../format.js';
import {deviceIdOf} from './parts.js';

const ACCOUNT_PARTS = 24; // so many names stand apart, the rest together

const byTime = (a, b) => b.time - a.time;

// The longest `ACCOUNT_PARTS` as they are, the others as one part that divides further.
function longestParts(parts, words) {
    const sorted = parts.filter((part) => part.time > 0).sort(byTime);
    if (sorted.length <= ACCOUNT_PARTS + 1)
        return sorted;
    const rest = sorted.slice(ACCOUNT_PARTS);
    return [...sorted.slice(0, ACCOUNT_PARTS), {
        name: `${formatCount(rest.length)} other ${words}`, time: rest.reduce((sum, part) => sum + part.time, 0),
        fill: 'var(--idle)', parts: () => longestParts(rest, words),
    }];
}

function namedPart(trace, name, time, count) {
    return {
        name: name || 'outside every range', time, about: count ? `${formatCount(count)} stretches` : '',
        fill: name ? `var(--name-${nameColor(name)})` : 'var(--line)', find: name ? {trace, name} : null,
    };
}

function kernelParts(source) {
    const {device, trace} = source;
    return longestParts(device.kernels.map((kernel) => ({
        name: kernel.name, time: kernel.total_ns, about: `${formatCount(kernel.count)} kernels`, full: kernel.full_name,
        fill: `var(--name-${nameColor(kernel.name)})`, find: {trace, kernel: kernel.name},
    })), 'kernels');
}

// How long copies of each direction ran while no kernel did: each moment is that of the copy that
// began first, so that the parts sum to the exposed time.
function exposedByDirection(trace, id) {
    const {start, duration, queue, kind, direction, from_memory, to_memory, count} = trace.activities;
    const exposed = new Map();
    let kernelsUntil = -Infinity;
    let copiesUntil = -Infinity;
    let pending = []; // copies whose end may still be covered by a kernel that begins later
    const add = (copy, from, to) => {
        if (to > from)
            exposed.set(copy, (exposed.get(copy) || 0) + to - from);
    };
    const settle = (until, covered) => {
        const left = [];
        for (const stretch of pending) {
            add(stretch.copy, stretch.from, Math.min(stretch.to, until));
            const from = Math.max(stretch.from, covered);
            if (stretch.to > from)
                left.push({...stretch, from});
        }
        pending = left;
    };
    for (let i = 0; i < count; i++) {
        if (!trace.queues[queue[i]] || trace.queues[queue[i]].device !== id)
            continue;
        const end = start[i] + duration[i];
        if (kind[i] === 0) {
            settle(start[i], end);
            kernelsUntil = Math.max(kernelsUntil, end);
            continue;
        }
        const memory = direction[i] === 2 ? to_memory[i] : from_memory[i];
        const from = Math.max(start[i], kernelsUntil, copiesUntil);
        copiesUntil = Math.max(copiesUntil, end);
        if (end > from)
            pending.push({copy: kind[i] === 2 ? 'sets' : `${COPY_DIRECTIONS[direction[i]]}|${MEMORY_KINDS[memory]}`, from, to: end});
    }
    settle(Infinity, Infinity);
    return exposed;
}

function copyPart(trace, name, time, find, parts) {
    const direction = COPY_DIRECTIONS.indexOf(name.split(' ')[0]);
    return {name, time, fill: direction < 0 ? 'var(--set)' : `var(--name-${direction})`, find: find ? {trace, name: find} : null, parts};
}

function exposedParts(source, decoded, wanted) {
    const exposed = exposedByDirection(decoded, deviceIdOf(decoded, source.key));
    let sum = 0;
    const directions = new Map();
    for (const [copy, time] of exposed) {
        const [direction, memory] = copy.split('|');
        sum += time;
        if (!directions.has(direction))
            directions.set(direction, []);
        directions.get(direction).push([memory, time]);
    }
    if (Math.abs(sum - wanted) > wanted * 1e-6 + 1)
        return null;
    const parts = [...directions].map(([direction, kinds]) => copyPart(source.trace, direction, kinds.reduce((total, [, time]) => total + time, 0),
        direction === 'sets' ? 'memset' : direction, kinds.length < 2 ? null :
            () => kinds.map(([memory, time]) => copyPart(source.trace, `${direction} ${memory}`, time)).sort(byTime)));
    return parts.sort(byTime);
}

// A narrowed report, or a page with merged events: only the sums of the copies are known.
function summedCopies(source) {
    const {device, trace} = source;
    const parts = Object.entries(device.copies || {}).map(([direction, copies]) => copyPart(trace, direction, copies.time_ns, direction));
    if (device.memsets && device.memsets.time_ns > 0)
        parts.push(copyPart(trace, 'sets', device.memsets.time_ns, 'memset'));
    return parts;
}

function hostParts(source) {
    const {gaps} = source.device;
    const named = (names) => longestParts(names.map((row) => namedPart(source.trace, row.name, row.time_ns, row.count)), 'names');
    if (!gaps.host_states)
        return named(gaps.host || []);
    const about = {running: 'the thread ran', ready: 'it could run but had no processor', blocked: 'it waited', unknown: 'not told'};
    return Object.entries(gaps.host_states).filter(([, state]) => state.time_ns > 0).map(([name, state]) => ({
        name, time: state.time_ns, about: about[name] || '', fill: `var(--name-${nameColor(name)})`, parts: () => named(state.names || []),
    }));
}

function causeParts(source) {
    const {gaps} = source.device;
    return GAP_CAUSES.map((name, index) => {
        const cause = (gaps.causes || {})[name] || {time_ns: 0, gaps: 0};
        const part = {name, time: cause.time_ns, about: CAUSES[index].text, cause: index, fill: `var(--${CAUSES[index].color})`};
        if (name === 'host')
            part.parts = () => hostParts(source);
        else if (name === 'sync' && (gaps.sync_calls || []).length)
            part.parts = () => longestParts(gaps.sync_calls.map((row) => namedPart(source.trace, row.name, row.time_ns, row.count)), 'calls');
        return part;
    }).filter((part) => part.time > 0).sort(byTime);
}

// The whole: a part whose parts are busy, exposed communication, exposed copies and idle. `account` is the device's or its
// steady one's; only the first divides further.
export function accountTree(page, source) {
    const {account} = source.device;
    const decoded = page.traces[source.trace];
    const kernelSum = account.kernel_sum_ns;
    const narrowed = page.reports[source.trace].selection.narrowed || decoded.merged;
    return {
        name: 'whole', time: account.window_ns,
        parts: () => [
            {name: 'busy', time: account.busy_ns, about: 'a compute kernel ran', fill: 'var(--kernel)', parts: () => kernelParts(source),
                remark: kernelSum > (account.busy_ns + (account.exposed_communication_ns || 0)) * 1.0001 ? ['Kernels overlap: their times sum to', kernelSum] : null},
            {name: 'exposed communication', time: account.exposed_communication_ns || 0, about: 'a collective ran, and no compute kernel', fill: 'var(--communication)'},
            {name: 'exposed copies', time: account.exposed_copy_ns, about: 'a copy or set ran, and no kernel', fill: 'var(--copy)',
                parts: () => (!narrowed && exposedParts(source, decoded, account.exposed_copy_ns)) || summedCopies(source)},
            {name: 'idle', time: account.idle_ns, about: 'nothing ran', fill: 'var(--idle)', parts: () => causeParts(source)},
        ].filter((part) => part.time > 0),
    };
}
