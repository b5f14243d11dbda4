// Why the device was idle, by how long: a histogram of its gaps, stacked by cause. A bar shows its
// longest gaps, and those the timeline.

import {element, svg} from '../dom.js';
import {GAP_CAUSES} from '../data.js';
import {CAUSES} from '../palette.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {causeFill, causeLegend, causePatterns} from './cause_patterns.js';
import {chartFrame, roundTicks, shortTick, withTitle} from './chart.js';
import {bucketEdge, bucketsOfGaps, gapAt, gapsOfDevice} from './gap_buckets.js';
import {actAsButton, bringTimeline, chooseSource, deviceIdOf, deviceSources, emptyNote, figureRow, followWidth, labeledSelect, moveWithArrows} from './parts.js';
import {sectionTable, tablesOf} from './sections.js';
import {dataTable} from './table.js';

const LONGEST_GAPS = 100;

let gapChartCount = 0;

function bucketWords(bucket) {
    const parts = GAP_CAUSES.map((name, index) => [name, bucket.causes[index]]).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
    return `${formatDuration(bucket.from)} to ${formatDuration(bucket.to)}: ${formatCount(bucket.gaps.length)} gaps, ${formatDuration(bucket.time)}; `
        + parts.map(([name, time]) => `${name} ${formatDuration(time, 3)}`).join(', ');
}

function gapChart(source, buckets, byTime, width, choose) {
    const prefix = `gaps-${++gapChartCount}`;
    const keys = [...buckets.keys()];
    const [first, last] = [Math.min(...keys), Math.max(...keys)];
    const edges = [];
    for (let key = first; key <= last + 1; key++)
        edges.push(key);
    const most = Math.max(...[...buckets.values()].map((bucket) => byTime ? bucket.time : bucket.gaps.length));
    const every = Math.max(1, Math.ceil(edges.length / Math.max(2, width / 70)));
    const frame = chartFrame({
        width, height: 280, label: `Gaps of ${source.title} by length, stacked by cause`,
        x: {from: first, to: last + 1, grid: false, ticks: edges.filter((edge, index) => index % every === 0),
            text: (key) => formatDuration(bucketEdge(key), 1), title: 'length of the gap'},
        y: {from: 0, to: most, ticks: roundTicks(0, most, 5), text: (tick) => byTime ? shortTick(formatDuration(tick, 3)) : formatCount(tick)},
    });
    frame.root.append(causePatterns(prefix));
    const bars = [...buckets.values()].sort((a, b) => a.key - b.key).map((bucket) => {
        const bar = svg('g', {class: 'bar'});
        const [left, right] = [frame.x(bucket.key) + 1.5, frame.x(bucket.key + 1) - 1.5];
        bar.append(svg('rect', {class: 'bar-reach', x: left, y: frame.top, width: right - left, height: frame.bottom - frame.top}));
        let below = 0;
        const values = byTime ? bucket.causes : bucket.counts;
        for (let cause = 0; cause < GAP_CAUSES.length; cause++) {
            if (!(values[cause] > 0))
                continue;
            const y = frame.y(below + values[cause]);
            bar.append(svg('rect', {x: left, y, width: right - left, height: Math.max(0.75, frame.y(below) - y), fill: causeFill(prefix, cause), class: 'bar-part'}));
            below += values[cause];
        }
        actAsButton(bar, bucketWords(bucket), () => choose(bucket, bar));
        return withTitle(bar, bucketWords(bucket));
    });
    moveWithArrows(bars);
    frame.plot.append(...bars);
    return frame.root;
}

function longestTable(page, source, gaps, numbers, caption) {
    const trace = page.traces[source.trace];
    const longest = numbers.slice().sort((a, b) => gaps.duration[b] - gaps.duration[a]).slice(0, LONGEST_GAPS);
    const rows = Array.from(longest, (number) => gapAt(trace, gaps, number, GAP_CAUSES.length));
    const nextName = (gap) => gap.next >= 0 ? trace.short[trace.activities.name[gap.next]] : '';
    const causesOf = (gap) => GAP_CAUSES.map((name, index) => [name, gap.causes[index]]).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
    return dataTable({
        caption, rows, sort: ['length', true],
        columns: [
            {key: 'start', title: 'at', value: (gap) => gap.start, text: (gap) => formatDuration(gap.start, 6)},
            {key: 'length', title: 'length', number: true, value: (gap) => gap.duration, text: (gap) => formatDuration(gap.duration),
                share: (gap) => gap.duration / rows[0].duration},
            {key: 'cause', title: 'causes', value: (gap) => (causesOf(gap)[0] || [''])[0],
                text: (gap) => causesOf(gap).map(([name, time]) => `${name} ${formatPercent(time / gap.duration)}`).join(', ')},
            {key: 'next', title: 'ended by', value: nextName, wide: true},
        ],
        onpick: (gap) => {
            page.select({trace: source.trace, from: gap.start, to: gap.start + gap.duration});
            bringTimeline();
        },
    });
}

function showGaps(page, source, place) {
    const summary = source.device.gaps;
    const trace = page.traces[source.trace];
    const gaps = gapsOfDevice(trace, deviceIdOf(trace, source.key));
    if (!gaps.count) {
        place.append(emptyNote(`${source.title} was never idle between its first activity and its last.`));
        return;
    }
    const buckets = bucketsOfGaps(trace, gaps, GAP_CAUSES.length);
    const caused = (index) => [...buckets.values()].some((bucket) => bucket.causes[index] > 0);
    const total = summary.total_ns || 1;
    const texts = GAP_CAUSES.map((name) => {
        const cause = (summary.causes || {})[name];
        return cause ? `${formatDuration(cause.time_ns, 3)}, ${formatPercent(cause.time_ns / total)}` : '';
    });
    place.append(figureRow([
        ['gaps', formatCount(summary.count)], ['together', formatDuration(summary.total_ns)], ['median', formatDuration(summary.median_ns)],
        ['99th percentile', formatDuration(summary.p99_ns)], ['longest', formatDuration(summary.max_ns)],
    ]));
    place.append(causeLegend(CAUSES.map((cause, index) => index).filter(caused), texts));
    const chart = element('div', {class: 'chart-host'});
    const below = element('div', {});
    let byTime = true;
    const choose = (bucket) => {
        below.replaceChildren(longestTable(page, source, gaps, bucket.gaps, `The longest gaps of ${formatDuration(bucket.from)} to ${formatDuration(bucket.to)}`));
        const longest = bucket.gaps.reduce((a, b) => gaps.duration[b] > gaps.duration[a] ? b : a);
        page.select({trace: source.trace, from: gaps.start[longest], to: gaps.start[longest] + gaps.duration[longest]});
    };
    place.append(element('div', {class: 'view-bar'}, labeledSelect('height', ['time idle', 'number of gaps'], (index) => {
        byTime = index === 0;
        redraw();
    })), chart, below);
    below.append(longestTable(page, source, gaps, Uint32Array.from(gaps.first, (_, number) => number), 'The longest gaps'));
    const tables = tablesOf(page, source.trace, 'gaps', source.key).filter((table) => table.key !== 'longest_gaps');
    place.append(...tables.map(sectionTable));
    const redraw = followWidth(chart, (width) => gapChart(source, buckets, byTime, width, choose));
}

export function viewGaps(page, host) {
    const sources = deviceSources(page).filter((source) => source.device.gaps);
    if (!sources.length)
        return false;
    chooseSource(host, 'device', sources, (source, place) => showGaps(page, source, place));
}
