// How even is the run? The duration of every step, warm-up apart.

import {element, svg} from '../dom.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {chartFrame, mostOf, roundTicks, shortTick, withTitle} from './chart.js';
import {actAsButton, asTable, bringTimeline, emptyNote, figureRow, fileName, followWidth, moveWithArrows, traceLabel} from './parts.js';
import {dataTable} from './table.js';

const STEP_SOURCES = {
    profiler: 'marked by the profiler', ranges: 'a range that repeats and fills the run', periodic: 'a sequence of activities that repeats',
};
const STEP_BARS = 600; // with more steps a bar stands for several: its longest

let stepChartCount = 0;

function groupSteps(list, bars) {
    const each = Math.ceil(list.length / bars);
    const groups = [];
    for (let at = 0; at < list.length; at += each) {
        let longest = at;
        for (let i = at; i < Math.min(list.length, at + each); i++)
            if (list[i].duration_ns > list[longest].duration_ns)
                longest = i;
        groups.push({at, count: Math.min(each, list.length - at), index: longest, step: list[longest]});
    }
    return groups;
}

function stepsChart(steps, show, width) {
    const groups = groupSteps(steps.list, Math.min(STEP_BARS, Math.max(40, width / 3)));
    const most = mostOf(groups, (group) => group.step.duration_ns, 1);
    const hatch = `steps-${++stepChartCount}`;
    const ticks = roundTicks(1, steps.list.length, Math.min(steps.list.length, width / 90)).filter((tick) => Number.isInteger(tick));
    const frame = chartFrame({
        width, height: 240, left: 88, label: `Duration of ${steps.list.length} steps; median ${formatDuration(steps.median_ns)}`,
        x: {from: 0.5, to: steps.list.length + 0.5, grid: false, ticks, text: formatCount, title: 'step'},
        y: {from: 0, to: most * 1.05, ticks: roundTicks(0, most * 1.05, 5), text: (tick) => shortTick(formatDuration(tick, 3))},
    });
    frame.root.append(svg('defs', {}, svg('pattern', {id: hatch, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
        svg('rect', {width: 6, height: 6, fill: 'var(--card)'}), svg('path', {d: 'M1.5 0V6', class: 'warm-up-stroke'}))));
    const gap = frame.x(2) - frame.x(1) > 6 ? 1.5 : 0;
    const bars = groups.map((group) => {
        const left = frame.x(group.at + 0.5) + gap;
        const barWidth = Math.min(80, Math.max(0.8, frame.x(group.at + group.count + 0.5) - gap - left));
        const center = (left + frame.x(group.at + group.count + 0.5) - gap) / 2;
        const y = frame.y(group.step.duration_ns);
        const words = `step ${group.index + 1}${group.step.name ? ` (${group.step.name})` : ''}: ${formatDuration(group.step.duration_ns)}`
            + (group.step.warm_up ? ', warm-up' : '') + (group.count > 1 ? `, the longest of ${group.count}` : '');
        const bar = svg('g', {class: 'bar'}, svg('rect', {class: 'bar-reach', x: center - barWidth / 2, y: frame.top, width: barWidth, height: frame.bottom - frame.top}),
            svg('rect', {class: group.step.warm_up ? 'step-bar warm-up' : 'step-bar', x: center - barWidth / 2, y, width: barWidth, height: Math.max(0.75, frame.bottom - y),
                fill: group.step.warm_up ? `url(#${hatch})` : null}));
        actAsButton(bar, words, () => show(group.step));
        return withTitle(bar, words);
    });
    moveWithArrows(bars);
    frame.plot.append(...bars);
    if (steps.median_ns > 0)
        frame.plot.append(svg('line', {class: 'median', x1: frame.left, x2: frame.right, y1: frame.y(steps.median_ns), y2: frame.y(steps.median_ns)}),
            svg('text', {class: 'roof-name halo', x: frame.right - 4, y: frame.y(steps.median_ns) - 5, 'text-anchor': 'end'}, `median ${formatDuration(steps.median_ns)}`));
    return frame.root;
}

function stepsOf(page, trace, steps, host) {
    const show = (step) => {
        page.select({trace, from: step.start_ns, to: step.start_ns + step.duration_ns});
        bringTimeline();
    };
    if (page.traces.length > 1)
        host.append(element('h3', {}, traceLabel(page, trace) + fileName(page.traces[trace].name)));
    const figures = [
        ['steps', formatCount(steps.count), STEP_SOURCES[steps.source] || ''],
        ['warm-up', formatCount(steps.warm_up), steps.warm_up ? 'hatched' : ''],
        ['median', formatDuration(steps.median_ns)], ['shortest', formatDuration(steps.min_ns)], ['longest', formatDuration(steps.max_ns)],
        ['variation', formatPercent(steps.variation), steps.settled === false ? 'the run never became even' : ''],
    ];
    const chart = element('div', {class: 'chart-host'});
    host.append(figureRow(figures), chart, asTable('As a table', () => dataTable({
        caption: 'Every step', rows: steps.list.map((step, index) => ({...step, index: index + 1})), sort: ['index', false], onpick: show,
        columns: [
            {key: 'index', title: 'step', value: (row) => row.index, text: (row) => formatCount(row.index)},
            {key: 'name', title: 'name', value: (row) => row.name, wide: true},
            {key: 'start', title: 'at', number: true, value: (row) => row.start_ns, text: (row) => formatDuration(row.start_ns, 6)},
            {key: 'duration', title: 'duration', number: true, value: (row) => row.duration_ns, text: (row) => formatDuration(row.duration_ns)},
            {key: 'against', title: 'of the median', number: true, value: (row) => row.duration_ns, text: (row) => formatPercent(row.duration_ns / steps.median_ns)},
            {key: 'warm', title: 'warm-up', value: (row) => row.warm_up ? 'yes' : 'no'},
        ],
    })));
    followWidth(chart, (width) => stepsChart(steps, show, width));
}

export function viewSteps(page, host) {
    let shown = 0;
    page.reports.forEach((report, trace) => {
        if (!report.steps || !(report.steps.list || []).length)
            return;
        stepsOf(page, trace, report.steps, host);
        shown++;
    });
    if (!shown)
        host.append(emptyNote('Nothing in this run repeats often enough to be called a step.',
            'A range around each iteration (NVTX, record_function, profiler.step()) marks them.'));
}
