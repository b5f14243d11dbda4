// How much memory was in use over time, on each device and the host, and when it was most.

import {element, svg} from '../dom.js';
import {formatBytes, formatCount, formatDuration, formatPercent, formatTick} from '../format.js';
import {chartFrame, roundTicks, shortTick, withTitle} from './chart.js';
import {bringTimeline, deviceIdOf, deviceTitle, emptyNote, figureRow, followWidth, traceLabel} from './parts.js';

const RESIDENT = 'resident memory'; // how ridge record names these counters
const RESIDENT_CURVES = 4;

// Running totals after each event of one device: {time, used, reserved}. Where the source tells no
// totals they are counted from what came and went.
function memoryCurve(trace, id) {
    const {time, device, operation, bytes, allocated, reserved, count} = trace.memory;
    const curve = {time: [], used: [], reserved: [], told: false, anyReserved: false};
    for (let i = 0; i < count && !curve.told; i++)
        curve.told = device[i] === id && allocated[i] > 0;
    let used = 0;
    let least = 0;
    for (let i = 0; i < count; i++) {
        if (device[i] !== id)
            continue;
        used += operation[i] === 0 ? bytes[i] : -bytes[i];
        least = Math.min(least, used);
        curve.time.push(time[i]);
        curve.used.push(curve.told ? allocated[i] : used);
        curve.reserved.push(reserved[i]);
        curve.anyReserved = curve.anyReserved || reserved[i] > 0;
    }
    if (!curve.told && least < 0) // released what was there before the trace began
        curve.used = curve.used.map((value) => value - least);
    return curve;
}

// What the system said of processes, as counters: [{title, summary, curve}], most first.
function residentCurves(trace) {
    const curves = new Map();
    const {counters, strings} = trace;
    for (let i = 0; i < counters.count; i++) {
        if (!strings[counters.name[i]].startsWith(RESIDENT))
            continue;
        if (!curves.has(counters.name[i]))
            curves.set(counters.name[i], {time: [], used: [], reserved: [], anyReserved: false, most: 0, mostAt: 0});
        const curve = curves.get(counters.name[i]);
        curve.time.push(counters.time[i]);
        curve.used.push(counters.value[i]);
        if (counters.value[i] > curve.most) {
            curve.most = counters.value[i];
            curve.mostAt = counters.time[i];
        }
    }
    return [...curves].sort((a, b) => b[1].most - a[1].most).slice(0, RESIDENT_CURVES).map(([name, curve]) => (
        {title: strings[name], curve, summary: {high_water_bytes: curve.most, high_water_at_ns: curve.mostAt, absolute: true}}));
}

// A step line with at most a few points a pixel: within one, its lowest and highest value.
function stepPath(curve, values, frame, close) {
    const pieces = [];
    let column = -1;
    let [low, high, last] = [0, 0, 0];
    const flush = () => {
        if (column >= 0 && high > low)
            pieces.push(`V${frame.y(high).toFixed(1)}V${frame.y(low).toFixed(1)}`);
        if (column >= 0)
            pieces.push(`V${frame.y(last).toFixed(1)}`);
    };
    const start = frame.x(curve.time[0]);
    for (let i = 0; i < values.length; i++) {
        const x = Math.round(frame.x(curve.time[i]) * 2) / 2;
        if (x !== column) {
            flush();
            pieces.push(`H${x}`);
            column = x;
            low = high = values[i];
        }
        low = Math.min(low, values[i]);
        high = Math.max(high, values[i]);
        last = values[i];
    }
    flush();
    return `M${start.toFixed(1)} ${frame.y(close ? 0 : values[0]).toFixed(1)}${pieces.join('')}H${frame.right}${close ? `V${frame.bottom}H${start.toFixed(1)}Z` : ''}`;
}

function memoryChart(page, one, width) {
    const {curve, summary, trace} = one;
    const {span} = page.traces[trace];
    const most = Math.max(1, summary.high_water_bytes, curve.used.reduce((a, b) => Math.max(a, b), 0), curve.reserved.reduce((a, b) => Math.max(a, b), 0));
    const capacity = one.capacity > 0 && most > one.capacity * 0.5 ? one.capacity : 0;
    const top = Math.max(most, capacity) * 1.06;
    const ticks = roundTicks(span.from, span.to, width / 120);
    const frame = chartFrame({
        width, height: 220, left: 88, label: `Memory of ${one.title} over time; most in use ${formatBytes(most)}`,
        x: {from: span.from, to: span.to, ticks, text: (tick) => formatTick(tick, ticks.length > 1 ? ticks[1] - ticks[0] : 1), title: 'time'},
        y: {from: 0, to: top, ticks: roundTicks(0, top, 5), text: (tick) => shortTick(formatBytes(tick, 3))},
    });
    if (curve.anyReserved)
        frame.plot.append(svg('path', {class: 'memory-reserved', d: stepPath(curve, curve.reserved, frame, false)}));
    frame.plot.append(svg('path', {class: 'memory-area', d: stepPath(curve, curve.used, frame, true)}));
    frame.plot.append(svg('path', {class: 'memory-line', d: stepPath(curve, curve.used, frame, false)}));
    if (capacity)
        frame.plot.append(svg('line', {class: 'roof', x1: frame.left, x2: frame.right, y1: frame.y(capacity), y2: frame.y(capacity)}),
            svg('text', {class: 'roof-name', x: frame.left + 6, y: frame.y(capacity) - 5}, `all it has: ${formatBytes(capacity)}`));
    const at = Math.min(span.to, Math.max(span.from, summary.high_water_at_ns || 0));
    const peak = curve.used.reduce((a, b) => Math.max(a, b), 0);
    const near = frame.x(at) > (frame.left + frame.right) / 2;
    frame.plot.append(withTitle(svg('circle', {class: 'high-water', cx: frame.x(at), cy: frame.y(peak), r: 4}), `most in use: ${formatBytes(summary.high_water_bytes)} at ${formatDuration(at)}`),
        svg('text', {class: 'roof-name', x: frame.x(at) + (near ? -8 : 8), y: frame.y(peak) - 6, 'text-anchor': near ? 'end' : 'start'}, `${formatBytes(summary.high_water_bytes)} at ${formatDuration(at)}`));
    frame.root.classList.add('clickable');
    frame.root.addEventListener('click', (event) => {
        const box = frame.root.getBoundingClientRect();
        const share = ((event.clientX - box.left) * width / box.width - frame.left) / (frame.right - frame.left);
        const time = span.from + Math.min(1, Math.max(0, share)) * (span.to - span.from);
        const reach = (span.to - span.from) / 50;
        page.show({trace, from: time - reach, to: time + reach});
        bringTimeline();
    });
    return frame.root;
}

function memoryOf(page, one) {
    const {summary} = one;
    const figures = [
        ['most in use', formatBytes(summary.high_water_bytes), one.capacity > 0 ? `${formatPercent(summary.high_water_bytes / one.capacity)} of ${formatBytes(one.capacity, 3)}` : ''],
    ];
    if (summary.allocations > 0 || summary.frees > 0)
        figures.push(['allocations', formatCount(summary.allocations), formatBytes(summary.allocated_bytes)], ['releases', formatCount(summary.frees), formatBytes(summary.freed_bytes)]);
    if (summary.reserved_max_bytes > 0)
        figures.splice(1, 0, ['most reserved', formatBytes(summary.reserved_max_bytes), 'dashed line']);
    const chart = element('div', {class: 'chart-host'});
    const block = element('div', {class: 'memory'}, element('h3', {}, one.title), figureRow(figures),
        element('p', {}, element('button', {type: 'button', class: 'link', onclick: () => {
            const reach = (page.traces[one.trace].span.to - page.traces[one.trace].span.from) / 100;
            page.show({trace: one.trace, from: summary.high_water_at_ns - reach, to: summary.high_water_at_ns + reach});
            bringTimeline();
        }}, 'show the peak on the timeline')), chart);
    if (!summary.absolute)
        block.append(element('p', {class: 'faint'}, 'Counted from 0 at the start of the trace: a lower bound of what was in use.'));
    return [block, () => followWidth(chart, (width) => memoryChart(page, one, width))];
}

// What has a curve: [{trace, title, summary, curve, capacity}]
function memoryPlaces(page) {
    const places = [];
    page.reports.forEach((report, trace) => {
        const decoded = page.traces[trace];
        const summaries = ((report.memory || {}).devices || []).map((summary) => {
            const key = Object.keys(report.devices || {}).find((name) => report.devices[name].label === summary.label && report.devices[name].session === summary.session) ?? summary.label;
            const id = deviceIdOf(decoded, key);
            const device = decoded.devices[id] || {name: ''};
            return {trace, id, summary, title: traceLabel(page, trace) + deviceTitle(key, device), capacity: device.memory_bytes || 0};
        });
        if (report.memory && report.memory.host)
            summaries.push({trace, id: 0, summary: report.memory.host, title: `${traceLabel(page, trace)}host`, capacity: 0});
        for (const one of summaries) {
            one.curve = memoryCurve(decoded, one.id);
            if (one.curve.time.length)
                places.push(one);
        }
        for (const one of residentCurves(decoded))
            places.push({...one, trace, capacity: 0, title: traceLabel(page, trace) + one.title});
    });
    return places;
}

export function viewMemory(page, host) {
    const places = memoryPlaces(page);
    if (!places.length) {
        host.append(emptyNote('No allocation is in this trace.', 'ridge record keeps those of CUDA and OpenCL and what each process holds; with torch.profiler use profile_memory=True.'));
        return;
    }
    for (const one of places) {
        const [block, draw] = memoryOf(page, one);
        host.append(block);
        draw();
    }
}
