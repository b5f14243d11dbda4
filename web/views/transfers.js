// What was moved, how fast: by direction and kind of host memory as a table, and every copy as a
// point of size and rate.

import {element, svg} from '../dom.js';
import {COPY_DIRECTIONS, MEMORY_KINDS} from '../data.js';
import {formatBytes, formatCount, formatDuration, formatPercent, formatRate} from '../format.js';
import {chartFrame, decadesAround, markShape, powerTicks, withTitle} from './chart.js';
import {deviceLimits} from './kernel_limits.js';
import {actAsButton, bringTimeline, chooseSource, deviceIdOf, deviceSources, emptyNote, followWidth, moveWithArrows} from './parts.js';
import {sectionTable, tablesOf} from './sections.js';

const POINT_CELL = 5; // pixels: copies this near to each other are one point
const COPY_LIMITS = {to_device_pinned: ['HtoD', 'pinned'], to_device_pageable: ['HtoD', 'pageable'], to_host_pinned: ['DtoH', 'pinned'], to_host_pageable: ['DtoH', 'pageable']};

// The host's side of a copy is what makes it fast or slow.
function hostMemory(activities, i) {
    const direction = COPY_DIRECTIONS[activities.direction[i]];
    const kind = direction === 'DtoH' ? activities.to_memory[i] : activities.from_memory[i];
    return direction === 'DtoD' || direction === 'PtoP' ? '' : MEMORY_KINDS[kind] || 'unknown';
}

// [{direction, memory, rows: of activities, …sums}], most time first.
function copyFamilies(trace, id) {
    const {activities, queues} = trace;
    const families = new Map();
    for (let i = 0; i < activities.count; i++) {
        if (activities.kind[i] !== 1 || !queues[activities.queue[i]] || queues[activities.queue[i]].device !== id)
            continue;
        const direction = COPY_DIRECTIONS[activities.direction[i]];
        const memory = hostMemory(activities, i);
        const key = `${direction} ${memory}`;
        if (!families.has(key))
            families.set(key, {key, direction, memory, rows: [], bytes: 0, time: 0, knownTime: 0});
        const family = families.get(key);
        family.rows.push(i);
        family.time += activities.duration[i];
        if (Number.isFinite(activities.bytes[i])) {
            family.bytes += activities.bytes[i];
            family.knownTime += activities.duration[i];
        }
    }
    return [...families.values()].sort((a, b) => b.time - a.time);
}

function pointFill(family) {
    return `var(--name-${[0, 1, 2, 3, 4, 5][COPY_DIRECTIONS.indexOf(family.direction)]})`;
}

function pointLook(family) {
    const fill = pointFill(family);
    return family.memory === 'pageable' ? {fill: 'var(--card)', stroke: fill, 'stroke-width': 2} : {fill, stroke: 'var(--card)', 'stroke-width': 0.75};
}

function drawCopyLimits(frame, source, families) {
    const known = deviceLimits(source.device).filter((limit) => {
        const [direction, memory] = COPY_LIMITS[limit.key] || [];
        return families.some((family) => family.direction === direction && family.memory === memory);
    });
    let below = -Infinity;
    for (const limit of known.sort((a, b) => b.rate - a.rate)) {
        const y = frame.y(limit.rate);
        below = Math.max(y - 5, below + 20);
        frame.plot.append(svg('line', {class: 'roof', x1: frame.left, x2: frame.right, y1: y, y2: y}),
            svg('text', {class: 'roof-name', x: frame.left + 6, y: below}, `${COPY_LIMITS[limit.key].join(' ')}: ${formatRate(limit.rate, 3)} ${limit.source}`));
    }
}

// Copies that fall together are one point, named by the longest of them.
function copyPoints(frame, activities, families) {
    const points = new Map();
    for (const family of families)
        for (const row of family.rows) {
            if (!(activities.bytes[row] > 0) || !(activities.duration[row] > 0))
                continue;
            const x = frame.x(activities.bytes[row]);
            const y = frame.y(activities.bytes[row] / activities.duration[row] * 1e9);
            const key = `${family.key} ${Math.round(x / POINT_CELL)} ${Math.round(y / POINT_CELL)}`;
            const point = points.get(key);
            if (!point)
                points.set(key, {family, row, x, y, count: 1});
            else {
                point.count++;
                if (activities.duration[row] > activities.duration[point.row])
                    point.row = row;
            }
        }
    return [...points.values()].sort((a, b) => a.x - b.x);
}

function transferChart(page, source, families, width) {
    const {activities} = page.traces[source.trace];
    let [least, most, slowest, fastest] = [Infinity, 0, Infinity, 0];
    for (const family of families)
        for (const row of family.rows) {
            const rate = activities.bytes[row] / activities.duration[row] * 1e9;
            if (!(rate > 0) || !Number.isFinite(rate))
                continue;
            least = Math.min(least, activities.bytes[row]);
            most = Math.max(most, activities.bytes[row]);
            slowest = Math.min(slowest, rate);
            fastest = Math.max(fastest, rate);
        }
    const sizes = decadesAround(Math.max(2, least), most);
    const rates = decadesAround(slowest, fastest);
    const frame = chartFrame({
        width, height: 320, left: 88, label: `Copies of ${source.title}: size and rate`,
        x: {from: sizes[0], to: sizes[1], log: true, ticks: powerTicks(...sizes, width / 80), text: (tick) => formatBytes(tick, 1), title: 'size of the copy'},
        y: {from: rates[0], to: rates[1], log: true, ticks: powerTicks(...rates, 7), text: (tick) => formatRate(tick, 1)},
    });
    drawCopyLimits(frame, source, families);
    const marks = copyPoints(frame, activities, families).map((point) => {
        const bytes = activities.bytes[point.row];
        const words = `${point.family.key}: ${formatBytes(bytes)} in ${formatDuration(activities.duration[point.row])}, ${formatRate(bytes / activities.duration[point.row] * 1e9)}`
            + (point.count > 1 ? `, and ${formatCount(point.count - 1)} like it` : '');
        const size = Math.min(9, 4 + Math.log2(point.count) * 0.5);
        const mark = markShape(Math.max(0, COPY_DIRECTIONS.indexOf(point.family.direction) - 1), point.x, point.y, size, {class: 'dot', ...pointLook(point.family)});
        actAsButton(mark, words, () => {
            page.pick({trace: source.trace, table: 'activities', row: point.row});
            bringTimeline();
        });
        return withTitle(mark, words);
    });
    moveWithArrows(marks);
    frame.plot.append(...marks);
    return frame.root;
}

function transferLegend(families) {
    const list = element('ul', {class: 'view-legend'});
    for (const family of families) {
        const shape = markShape(Math.max(0, COPY_DIRECTIONS.indexOf(family.direction) - 1), 8, 8, 5, pointLook(family));
        list.append(element('li', {}, svg('svg', {class: 'swatch', width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true'}, shape), element('span', {}, family.key)));
    }
    return list;
}

function showTransfers(page, source, place) {
    const trace = page.traces[source.trace];
    const families = copyFamilies(trace, deviceIdOf(trace, source.key));
    const account = source.device.account;
    if (!families.length) {
        place.append(emptyNote(`${source.title} has no copies in this trace: what it worked on was there already, or copies were not recorded.`));
        return;
    }
    place.append(element('p', {class: 'hint'}, account.copy_union_ns > 0
        ? `Copies and sets ran for ${formatDuration(account.copy_union_ns)}; ${formatPercent(account.overlap)} of that under kernels, ${formatDuration(account.exposed_copy_ns)} while no kernel ran.` : ''));
    place.append(...tablesOf(page, source.trace, 'copies', source.key).map(sectionTable));
    if (families.some((family) => family.bytes > 0 && family.knownTime > 0)) {
        const chart = element('div', {class: 'chart-host'});
        place.append(transferLegend(families), chart);
        followWidth(chart, (width) => transferChart(page, source, families, width));
    } else {
        place.append(emptyNote('The sizes of these copies were not recorded, so their rate is unknown.'));
    }
}

export function viewTransfers(page, host) {
    const sources = deviceSources(page).filter((source) => source.device.account);
    if (!sources.length)
        return false;
    const moving = sources.filter((source) => Object.keys(source.device.copies || {}).length);
    if (!moving.length) {
        host.append(emptyNote('No copy is in this trace: what the kernels worked on was on the device already, or copies were not recorded.'));
        return;
    }
    chooseSource(host, 'device', moving, (source, place) => showTransfers(page, source, place));
}
