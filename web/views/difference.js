// What changed between two traces, as `ridge diff` has it: the answer, a waterfall from the step
// before to the step after, both steps with what was matched linked, the rows that changed, counts.

import {element, svg} from '../dom.js';
import {formatBytes, formatCount, formatDuration} from '../format.js';
import {pairedSteps} from './paired_steps.js';
import {bringTimeline, fileName} from './parts.js';
import {dataTable} from './table.js';

const WATERFALL_ROW = 26;
const WATERFALL_TITLE = 170;
const WATERFALL_VALUE = 90;
const WATERFALL_WIDTH = 860;

function signedDuration(ns) {
    return (ns > 0 ? '+' : '') + formatDuration(ns);
}

// [title, from, to, kind] of each bar.
function waterfallBars(difference) {
    let at = difference.before.step_ns;
    const bars = [['before', 0, at, 'total']];
    for (const part of difference.parts) {
        if (part.change_ns === 0)
            continue;
        const idle = part.part !== 'busy' && !part.part.startsWith('exposed');
        bars.push([(idle ? 'idle: ' : '') + part.title, at, at + part.change_ns, part.change_ns < 0 ? 'less' : 'more']);
        at += part.change_ns;
    }
    bars.push(['after', 0, difference.after.step_ns, 'total']);
    return bars;
}

function waterfall(difference) {
    const bars = waterfallBars(difference);
    const longest = Math.max(1, ...bars.map(([, from, to]) => Math.max(from, to)));
    const room = WATERFALL_WIDTH - WATERFALL_TITLE - WATERFALL_VALUE;
    const drawing = svg('svg', {class: 'waterfall', viewBox: `0 0 ${WATERFALL_WIDTH} ${bars.length * WATERFALL_ROW}`, role: 'img',
        'aria-label': bars.map(([title, from, to, kind]) => `${title} ${kind === 'total' ? formatDuration(to) : signedDuration(to - from)}`).join(', ')});
    bars.forEach(([title, from, to, kind], row) => {
        const left = WATERFALL_TITLE + Math.min(from, to) / longest * room;
        const width = Math.max(1.5, Math.abs(to - from) / longest * room);
        const y = row * WATERFALL_ROW;
        const value = kind === 'total' ? formatDuration(to) : signedDuration(to - from);
        drawing.append(
            svg('text', {x: WATERFALL_TITLE - 10, y: y + 17, class: 'waterfall-title'}, title),
            svg('rect', {x: left, y: y + 4, width, height: WATERFALL_ROW - 8, rx: 2, class: `waterfall-${kind}`}),
            svg('text', {x: WATERFALL_WIDTH, y: y + 17, class: 'waterfall-value'}, value));
    });
    return drawing;
}

function sideText(row, side) {
    const count = row[`count_${side}`];
    const names = row[`names_${side}`];
    if (names === 0)
        return '';
    if (row.part !== 'busy' && !row.part.startsWith('exposed'))
        return formatDuration(row[`${side}_ns`]);
    return `${Number.isInteger(count) ? formatCount(count) : (count || 0).toPrecision(3)} × ${formatDuration(row[`duration_${side}_ns`])}`;
}

function rowText(row) {
    const names = [row.name_before, row.name_after].map((name, i) => {
        const more = (i ? row.names_after : row.names_before) - 1;
        return name === null ? null : name + (more > 0 ? ` and ${more} more` : '');
    });
    if (row.part !== 'busy' && !row.part.startsWith('exposed'))
        return `idle, ${row.title}${names[0] || names[1] ? ': ' : ''}${names[0] || names[1] || ''}`;
    if (row.kind === 'replaced')
        return `${names[0]} → ${names[1]}`;
    return (row.kind === 'both' ? '' : `${row.kind}: `) + (names[0] ?? names[1]);
}

function changedRows(page, difference) {
    const rows = difference.rows.filter((row) => row.change_ns !== 0);
    return dataTable({
        caption: `In a ${difference.after.unit}: the changes sum to the difference`, rows, sort: ['size', true],
        filter: 'Filter by name', filterText: rowText,
        columns: [
            {key: 'what', title: 'what', value: rowText, wide: true, hint: (row) => row.shapes_after && row.shapes_before !== row.shapes_after ? `${row.shapes_before} → ${row.shapes_after}` : null},
            {key: 'size', title: 'change', number: true, value: (row) => Math.abs(row.change_ns), text: (row) => signedDuration(row.change_ns)},
            {key: 'count', title: 'by number', number: true, value: (row) => Math.abs(row.by_count_ns), text: (row) => row.by_count_ns ? signedDuration(row.by_count_ns) : ''},
            {key: 'duration', title: 'by duration', number: true, value: (row) => Math.abs(row.by_duration_ns), text: (row) => row.by_duration_ns ? signedDuration(row.by_duration_ns) : ''},
            {key: 'before', title: 'before', number: true, value: (row) => row.before_ns, text: (row) => sideText(row, 'before')},
            {key: 'after', title: 'after', number: true, value: (row) => row.after_ns, text: (row) => sideText(row, 'after')},
        ],
        onpick: (row) => {
            const trace = row.names_after ? 1 : 0;
            if (row.part === 'busy')
                page.find({trace, kernel: trace ? row.name_after : row.name_before});
            bringTimeline();
        },
    });
}

function countText(row, value) {
    if (!Number.isFinite(value))
        return '?';
    if (row.count.startsWith('bytes'))
        return formatBytes(value);
    if (row.count === 'idle')
        return formatDuration(value);
    return Number.isInteger(value) ? formatCount(value) : value.toPrecision(3);
}

function changedCounts(difference) {
    const rows = difference.counts.filter((row) => Math.abs((row.after ?? 0) - (row.before ?? 0)) > 0.25);
    if (!rows.length)
        return null;
    return dataTable({
        caption: `Counts in a ${difference.after.unit}`, rows, sort: ['count', false],
        columns: [
            {key: 'count', title: 'count', value: (row) => row.title},
            {key: 'before', title: 'before', number: true, value: (row) => row.before, text: (row) => countText(row, row.before)},
            {key: 'after', title: 'after', number: true, value: (row) => row.after, text: (row) => countText(row, row.after)},
        ],
    });
}

function changedLines(difference) {
    const titles = new Map([...difference.counts.map((row) => [row.count, row.title]), ['idle', 'idle before its work']]);
    const rows = difference.lines.flatMap((line) => [...line.counts, {count: 'idle', before: line.idle_before_ns, after: line.idle_after_ns}].filter((count) => count.before !== count.after).map((count) => ({...line, ...count})));
    if (!rows.length)
        return null;
    return dataTable({
        caption: `Lines whose calls or idle time changed, in a ${difference.after.unit}`, rows, sort: ['size', true],
        columns: [
            {key: 'line', title: 'line', wide: true, value: (row) => `${fileName(row.file)}:${row.line_after ?? row.line_before} ${row.source}`, hint: (row) => row.file},
            {key: 'count', title: 'count', value: (row) => titles.get(row.count)},
            {key: 'before', title: 'before', number: true, value: (row) => row.before, text: (row) => countText(row, row.before)},
            {key: 'after', title: 'after', number: true, value: (row) => row.after, text: (row) => countText(row, row.after)},
            {key: 'size', title: 'change', number: true, value: (row) => Math.abs(row.after - row.before), text: (row) => (row.after > row.before ? '+' : '') + countText(row, row.after - row.before)},
        ],
    });
}

export function viewDifference(page, host) {
    const {difference} = page;
    if (!difference)
        return false;
    host.append(element('p', {class: 'difference-headline'}, difference.headline), element('p', {}, difference.second));
    if (difference.conditions.length)
        host.append(element('ul', {class: 'difference-conditions'}, difference.conditions.map((condition) => element('li', {}, condition.words))));
    if (difference.prediction)
        host.append(element('p', {}, difference.prediction.words));
    host.append(waterfall(difference));
    const paired = pairedSteps(page, difference);
    if (paired)
        host.append(paired);
    host.append(changedRows(page, difference));
    for (const table of [changedCounts(difference), changedLines(difference)])
        if (table)
            host.append(table);
}
