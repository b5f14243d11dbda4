// The panel beside the timeline: the details of the picked event, or what a selection measures.

import {clearElement, element} from '../dom.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {CAUSES} from '../palette.js';
import {eventLines, eventName, rangePath} from './events.js';
import {measureSpan} from './measure.js';

function listOf(lines) {
    return element('dl', {class: 'facts'}, lines.map(([label, text]) => [element('dt', {}, label), element('dd', {}, text)]));
}

function fullName(trace, table, row) {
    const names = trace[table].name;
    const named = table === 'activities' || table === 'calls' || table === 'ranges';
    const name = named && !(trace[table].merged && trace[table].merged[row]) ? trace.strings[names[row]] : '';
    return name || eventName(trace, table, row);
}

// The ranges around an event, or around the call that launched it, as buttons that go there.
function pathOf(chart, event, actions) {
    const {lane, at} = event;
    const trace = lane.trace;
    const row = lane.rows[at];
    let thread = 0;
    let time = lane.starts[at];
    if (lane.table === 'activities') {
        const launch = trace.activities.launch[row];
        if (launch < 0)
            return null;
        thread = trace.calls.thread[launch];
        time = trace.calls.start[launch];
    } else if (lane.table === 'calls' || lane.table === 'ranges') {
        thread = trace[lane.table].thread[row];
    }
    const path = thread ? rangePath(chart.groups, trace, thread, time).filter((one) => one.lane !== lane || one.at !== at) : [];
    const around = path.filter((one) => lane.table !== 'ranges' || one.lane.ends[one.at] >= lane.ends[at] && one.lane.starts[one.at] <= lane.starts[at]);
    if (around.length === 0)
        return null;
    return element('div', {class: 'path'}, element('span', {class: 'hint'}, 'inside '),
        around.map((one, i) => [i ? ' › ' : '', element('button', {type: 'button', class: 'link', onclick: () => actions.pickEvent(one)},
            eventName(trace, one.lane.table, one.lane.rows[one.at]))]));
}

function eventPanel(chart, event, actions) {
    const {lane, at} = event;
    const row = lane.rows[at];
    const named = ['activities', 'calls', 'ranges'].includes(lane.table);
    const buttons = [element('button', {type: 'button', onclick: () => actions.zoomToEvent(event)}, 'Zoom to it')];
    if (chart.arrows.length)
        buttons.push(element('button', {type: 'button', onclick: actions.launch}, lane.table === 'calls' ? 'To what it launched' : 'To its launch'));
    if (named)
        buttons.push(element('button', {type: 'button', onclick: () => actions.findLike(event)}, 'Find all of this name'));
    return [
        element('h3', {class: 'event-name'}, fullName(lane.trace, lane.table, row)),
        listOf(eventLines(lane.trace, lane.table, row)),
        pathOf(chart, event, actions),
        element('div', {class: 'buttons'}, buttons),
    ];
}

function deviceMeasure(trace, sum, length) {
    const causes = [...sum.causes].map((time, i) => [time, CAUSES[i]]).filter(([time]) => time > 0).sort((a, b) => b[0] - a[0]);
    return [
        element('h4', {}, trace.devices[sum.device].display),
        listOf([
            ['activities', `${formatCount(sum.activities)}, of them ${formatCount(sum.kernels)} kernels`],
            ['busy', `${formatDuration(sum.busy)}, ${formatPercent(sum.busy / length)}`],
            ['copies alone', sum.covered > sum.busy ? `${formatDuration(sum.covered - sum.busy)}, ${formatPercent((sum.covered - sum.busy) / length)}` : 'none'],
            ['nothing ran', `${formatDuration(length - sum.covered)}, ${formatPercent((length - sum.covered) / length)}`],
            ...causes.map(([time, cause]) => [`idle: ${cause.name}`, `${formatDuration(time)}, ${formatPercent(time / length)}`]),
        ]),
    ];
}

function selectionPanel(chart, selection, actions) {
    const length = selection.to - selection.from;
    const parts = chart.page.traces.flatMap((trace) => {
        const shift = chart.shifts[trace.index];
        const sums = measureSpan(trace, selection.from - shift, selection.to - shift);
        const title = chart.page.traces.length > 1 ? [element('h4', {class: 'trace-title'}, `${'AB'[trace.index]} · ${trace.title}`)] : [];
        return [...title, ...sums.map((sum) => deviceMeasure(trace, sum, length))];
    });
    return [
        element('h3', {}, `Selected: ${formatDuration(length)}`),
        listOf([['from', formatDuration(selection.from, 7)], ['to', formatDuration(selection.to, 7)],
            ['that is', `${(1e9 / length).toPrecision(4)} a second`]]),
        ...parts,
        element('div', {class: 'buttons'}, element('button', {type: 'button', onclick: () => chart.showSpan(selection.from, selection.to)}, 'Zoom to it'),
            element('button', {type: 'button', onclick: actions.unselect}, 'Unselect')),
    ];
}

function emptyPanel() {
    return [element('p', {class: 'hint'}, 'Click an event for its details, drag on the ruler to measure. ',
        element('kbd', {}, 'W'), ' ', element('kbd', {}, 'S'), ' zoom, ', element('kbd', {}, 'A'), ' ', element('kbd', {}, 'D'), ' move, ',
        element('kbd', {}, '/'), ' searches, ', element('kbd', {}, '?'), ' tells the rest.')];
}

export function fillPanel(chart, host, actions) {
    clearElement(host);
    host.classList.toggle('empty', !chart.picked && !chart.selection);
    const parts = chart.picked ? eventPanel(chart, chart.picked, actions)
        : chart.selection ? selectionPanel(chart, chart.selection, actions) : emptyPanel();
    host.append(...parts.flat(3).filter((part) => part));
}
