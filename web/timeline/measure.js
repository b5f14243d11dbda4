// What happened in a selected stretch of time? Its length, and for each device how much of it some
// kernel ran, how much a copy alone, and why it was idle for the rest.

import {CAUSES} from '../palette.js';

// Rows of a device's activities that can reach into [from, to): they are in order of start.
function firstRow(trace, rows, time) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
        const middle = low + high >>> 1;
        if (trace.activities.start[rows[middle]] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

function deviceRows(trace, device) {
    trace.deviceRows = trace.deviceRows || new Map();
    if (!trace.deviceRows.has(device)) {
        const rows = [];
        let longest = 0;
        for (let i = 0; i < trace.activities.count; i++)
            if (trace.queues[trace.activities.queue[i]]?.device === device) {
                rows.push(i);
                longest = Math.max(longest, trace.activities.duration[i]);
            }
        trace.deviceRows.set(device, {rows, longest});
    }
    return trace.deviceRows.get(device);
}

function measureDevice(trace, device, from, to) {
    const {rows, longest} = deviceRows(trace, device);
    const {start, duration, kind} = trace.activities;
    const sum = {device, activities: 0, kernels: 0, busy: 0, covered: 0, causes: new Float64Array(CAUSES.length)};
    let kernelsReached = from;
    let allReached = from;
    for (let i = firstRow(trace, rows, from - longest); i < rows.length && start[rows[i]] < to; i++) {
        const row = rows[i];
        const end = Math.min(to, start[row] + duration[row]);
        if (start[row] >= from) {
            sum.activities++;
            sum.kernels += kind[row] === 0;
        }
        if (end > allReached) {
            sum.covered += end - Math.max(allReached, start[row]);
            allReached = end;
        }
        if (kind[row] === 0 && end > kernelsReached) {
            sum.busy += end - Math.max(kernelsReached, start[row]);
            kernelsReached = end;
        }
    }
    return sum;
}

function addCauses(trace, sums, from, to) {
    const {start, duration, device, cause, count} = trace.gaps;
    for (let i = 0; i < count; i++) {
        const overlap = Math.min(to, start[i] + duration[i]) - Math.max(from, start[i]);
        const sum = overlap > 0 ? sums.find((one) => one.device === device[i]) : null;
        if (sum)
            sum.causes[Math.min(CAUSES.length - 1, cause[i])] += overlap;
    }
}

// One figure for each device that did something in the trace; times are the trace's own.
export function measureSpan(trace, from, to) {
    const sums = [];
    for (let device = 1; device < trace.devices.length; device++)
        if (deviceRows(trace, device).rows.length)
            sums.push(measureDevice(trace, device, from, to));
    addCauses(trace, sums, from, to);
    return sums;
}
