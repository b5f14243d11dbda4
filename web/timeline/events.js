// What is there to say about one event? Its name, and the lines of its details.

import {ACTIVITY_KINDS, CALL_CLASSES, COPY_DIRECTIONS, MEMORY_KINDS, RANGE_CATEGORIES, THREAD_STATES, isPause} from '../data.js';
import {formatBytes, formatCount, formatDuration, formatPercent, formatRate} from '../format.js';
import {CAUSES} from '../palette.js';
import {laneAfter} from './lanes.js';

function mergedName(table, row) {
    return table.merged && table.merged[row] ? `${formatCount(table.merged[row])} short events` : null;
}

export function eventName(trace, tableName, row) {
    const table = trace[tableName];
    switch (tableName) {
    case 'activities':
        return mergedName(table, row) || trace.short[table.name[row]] || ACTIVITY_KINDS[table.kind[row]] || 'activity';
    case 'gaps':
        return CAUSES[Math.min(CAUSES.length - 1, table.cause[row])].name;
    case 'states':
        return THREAD_STATES[table.state[row]] || 'unknown';
    case 'samples':
        return trace.strings[trace.stacks.function[table.stack[row]] || 0] || 'sample';
    case 'counters':
        return `${trace.strings[table.name[row]]}: ${Number(table.value[row].toPrecision(6))}`;
    case 'steps':
        return trace.strings[table.name[row]] || `step ${row + 1}`;
    case 'ranges':
        if (isPause(trace, row))
            return 'paused';
        // falls through
    default:
        return mergedName(table, row) || trace.strings[table.name[row]] || 'no name';
    }
}

function triple(x, y, z) {
    return x || y || z ? `${formatCount(x)} × ${formatCount(y)} × ${formatCount(z)}` : null;
}

function launchLines(trace, row) {
    const launch = trace.activities.launch[row];
    if (launch < 0)
        return [['launched by', 'not recorded']];
    const calls = trace.calls;
    const delay = trace.activities.start[row] - calls.start[launch];
    const thread = trace.threads[calls.thread[launch]];
    return [
        ['launched by', `${trace.strings[calls.name[launch]]}, ${formatDuration(calls.duration[launch])}`],
        ['on', thread ? thread.label : null],
        ['from call to start', delay < 0 ? `${formatDuration(delay)} (the clocks disagree)` : formatDuration(delay)],
        ...callLines(trace, launch),
    ];
}

function workLines(table, row) {
    const lines = [];
    const bytes = table.bytes[row];
    const duration = table.duration[row];
    if (Number.isFinite(bytes) && (bytes > 0 || table.kind[row] !== 0))
        lines.push(['bytes', duration > 0 ? `${formatBytes(bytes)}, ${formatRate(bytes / duration * 1e9)}` : formatBytes(bytes)]);
    if (table.flops[row] > 0)
        lines.push(['operations', duration > 0 ? `${formatCount(table.flops[row])} flop, ${(table.flops[row] / duration).toPrecision(4)} GFLOP/s` : `${formatCount(table.flops[row])} flop`]);
    return lines;
}

function activityLines(trace, row) {
    const table = trace.activities;
    const queue = trace.queues[table.queue[row]];
    const device = queue && trace.devices[queue.device];
    const kind = table.kind[row];
    const lines = [
        ['kind', ACTIVITY_KINDS[kind] || 'unknown'],
        ['device', device ? device.display : null],
        ['queue', queue ? queue.label : null],
        ['grid', triple(table.grid_x[row], table.grid_y[row], table.grid_z[row])],
        ['block', triple(table.block_x[row], table.block_y[row], table.block_z[row])],
        ['registers', table.registers[row] ? `${table.registers[row]} a thread` : null],
        ['shared memory', table.shared[row] ? formatBytes(table.shared[row]) : null],
        ['occupancy', table.occupancy[row] ? `${formatPercent(table.occupancy[row])}, theoretical` : null],
    ];
    if (kind === 1)
        lines.push(['direction', COPY_DIRECTIONS[table.direction[row]]],
            ['memory', `${MEMORY_KINDS[table.from_memory[row]]} to ${MEMORY_KINDS[table.to_memory[row]]}`]);
    if (table.graph[row])
        lines.push(['graph', String(table.graph[row])]);
    return [...lines, ...workLines(table, row), ...launchLines(trace, row)];
}

function gapLines(trace, row) {
    const table = trace.gaps;
    const next = table.next[row];
    const device = trace.devices[table.device[row]];
    return [
        ['cause', CAUSES[Math.min(CAUSES.length - 1, table.cause[row])].text],
        ['device', device ? device.display : null],
        ['ended by', next >= 0 ? eventName(trace, 'activities', next) : 'the end of the recording'],
        ...(next >= 0 ? callLines(trace, trace.activities.launch[next]) : []),
    ];
}

// "train.py:88", or '' where the line is not known.
export function lineName(trace, stack) {
    const {stacks, strings} = trace;
    return stacks.line[stack] ? `${strings[stacks.file[stack]].replace(/^.*\//, '')}:${stacks.line[stack]}` : '';
}

// Python's library and installed packages are not the program's own.
function isOwn(trace, stack) {
    return trace.stacks.line[stack] > 0 && !/^<|-packages\/|\/lib\/python3/.test(trace.strings[trace.stacks.file[stack]]);
}

// The innermost frame of the program's own files, else the innermost with a line; 0: none.
export function ownFrame(trace, stack) {
    let own = stack;
    while (own > 0 && !isOwn(trace, own))
        own = trace.stacks.parent[own];
    return own || (stack > 0 && trace.stacks.line[stack] ? stack : 0);
}

// The line of a call with its text, and the frames around it.
function callLines(trace, call) {
    const stack = call >= 0 ? trace.calls.stack[call] : 0;
    const own = ownFrame(trace, stack);
    if (!own)
        return [];
    return [['line', `${lineName(trace, own)}  ${trace.strings[trace.stacks.source[own]] || ''}`.trim()], ...stackLines(trace, stack)];
}

function stackLines(trace, stack) {
    const frames = [];
    for (let at = stack; at > 0 && frames.length < 24; at = trace.stacks.parent[at]) {
        const line = lineName(trace, at);
        frames.push((trace.strings[trace.stacks.function[at]] || '?') + (line ? ` (${line})` : ''));
    }
    return frames.map((frame, i) => [i === 0 ? 'in' : 'called by', frame]);
}

function tableLines(trace, tableName, row) {
    const table = trace[tableName];
    const thread = table.thread && trace.threads[table.thread[row]];
    const of = ['thread', thread ? thread.label : null];
    switch (tableName) {
    case 'activities':
        return activityLines(trace, row);
    case 'gaps':
        return gapLines(trace, row);
    case 'calls':
        return [['kind', `call, ${CALL_CLASSES[table.class[row]]}`], of,
            ['result', table.result[row] ? `error ${table.result[row]}` : null], ...callLines(trace, row)];
    case 'ranges':
        return [['kind', `range, ${RANGE_CATEGORIES[table.category[row]]}`], of];
    case 'samples':
        return [['kind', 'sample'], of, ...stackLines(trace, table.stack[row])];
    case 'steps':
        return [['kind', table.warm_up[row] ? 'step, warm-up' : 'step']];
    default:
        return [['kind', tableName.replace(/s$/, '')], of];
    }
}

// [label, text] of everything that is known about an event; what is not known is left out.
export function eventLines(trace, tableName, row) {
    const table = trace[tableName];
    const start = table.start ? table.start[row] : table.time[row];
    const lines = [['start', formatDuration(start, 7)]];
    if (table.duration)
        lines.push(['duration', formatDuration(table.duration[row])]);
    if (table.merged && table.merged[row])
        lines.push(['stands for', `${formatCount(table.merged[row])} events, each shorter than ${formatDuration(trace.merged.shorter_ns)}`]);
    return [...lines, ...tableLines(trace, tableName, row)].filter(([, text]) => text !== null && text !== undefined && text !== '');
}

// The ranges open at a moment on a thread, outermost first.
export function rangePath(groups, trace, thread, time) {
    const path = [];
    for (const group of groups) {
        if (group.trace !== trace || group.kind === 'device')
            continue;
        for (const track of group.tracks) {
            if (track.thread !== thread)
                continue;
            for (const lane of track.lanes) {
                const at = lane.kind === 'range' ? laneAfter(lane, time) : lane.count;
                if (at < lane.count && lane.starts[at] <= time)
                    path.push({lane, at});
            }
        }
    }
    return path;
}
