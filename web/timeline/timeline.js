// The timeline's section: what keys, pointers and the other views do with the chart.

import {element} from '../dom.js';
import {formatCount, formatDuration} from '../format.js';
import {TimelineChart} from './chart.js';
import {RULER_HEIGHT} from './draw.js';
import {eventLines, eventName} from './events.js';
import {watchInput} from './input.js';
import {fillPanel} from './panel.js';
import {eachLane, markMatches, nextMatch} from './search.js';
import {makeLegend, makeShift, makeTable, makeTools} from './tools.js';

const HEIGHT_MOST = 640;

function describeEvent(event) {
    const {lane, at} = event;
    const row = lane.rows[at];
    const lines = eventLines(lane.trace, lane.table, row).slice(0, 4).map(([label, text]) => `${label} ${text}`);
    return `${eventName(lane.trace, lane.table, row)}: ${lines.join(', ')}`;
}

// What a call launched, found when first asked.
function launchedBy(chart, event) {
    const trace = event.lane.trace;
    if (!trace.launched) {
        trace.launched = new Map();
        for (let i = trace.activities.count - 1; i >= 0; i--) {
            const call = trace.activities.launch[i];
            if (call >= 0)
                trace.launched.set(call, [i, ...(trace.launched.get(call) || []).slice(0, 63)]);
        }
    }
    const rows = trace.launched.get(event.lane.rows[event.at]) || [];
    return rows.map((row) => chart.locate(trace.index, 'activities', row)).filter((one) => one);
}

function arrowsOf(chart, event) {
    const {lane, at} = event;
    if (lane.table === 'calls')
        return launchedBy(chart, event).map((one) => [event, one]);
    if (lane.table !== 'activities')
        return [];
    const launch = lane.trace.activities.launch[lane.rows[at]];
    const call = launch >= 0 ? chart.locate(lane.trace.index, 'calls', launch) : null;
    return call ? [[call, event]] : [];
}

function makeTip(host) {
    const tip = element('div', {class: 'tip', role: 'tooltip', hidden: true});
    host.append(tip);
    return (event, place, width) => {
        tip.hidden = !event;
        if (!event)
            return;
        const row = event.lane.rows[event.at];
        const lines = eventLines(event.lane.trace, event.lane.table, row).slice(0, 4);
        tip.replaceChildren(element('strong', {}, eventName(event.lane.trace, event.lane.table, row).slice(0, 160)),
            element('span', {}, lines.map(([label, text]) => `${label} ${text}`).join(' · ')));
        tip.style.left = `${Math.max(4, Math.min(width - 330, place.x + 14))}px`;
        tip.style.top = `${place.y + 18}px`;
    };
}

// Picking, finding, selecting: what the page and the reader ask of the timeline.
function makeActions(page, chart, parts) {
    const actions = {
        refresh() {
            fillPanel(chart, parts.panel, actions);
            chart.redraw();
        },
        pickEvent(event, move = true) {
            chart.picked = event;
            chart.arrows = event ? arrowsOf(chart, event) : [];
            if (event) {
                chart.focusRow = null;
                if (move)
                    chart.moveTo(event);
                page.announce(describeEvent(event));
            }
            actions.refresh();
            page.emit('pick', event ? {trace: event.lane.trace.index, table: event.lane.table, row: event.lane.rows[event.at]} : null);
        },
        measure(a, b, done) {
            chart.selection = {trace: 0, from: Math.min(a, b), to: Math.max(a, b)};
            chart.picked = null;
            chart.arrows = [];
            if (done)
                page.announce(`Selected ${formatDuration(chart.selection.to - chart.selection.from)}`);
            actions.refresh();
            if (done)
                page.emit('select', chart.selection);
        },
        unselect() {
            const had = chart.selection !== null;
            chart.selection = null;
            actions.pickEvent(null);
            if (had)
                page.emit('select', null);
        },
        click(place) {
            const row = chart.rowAt(place.y);
            if (row && !row.lane) {
                chart.toggle(row.group);
                page.announce(`${row.group.title} ${row.group.closed ? 'closed' : 'open'}`);
                return;
            }
            actions.pickEvent(chart.eventAt(place.x, place.y), false);
        },
        hover(place) {
            const row = place && chart.rowAt(place.y);
            chart.canvas.style.cursor = place && place.y < RULER_HEIGHT ? 'col-resize' : row && !row.lane ? 'pointer' : 'default';
            parts.tip(place ? chart.eventAt(place.x, place.y) : null, place, chart.width);
        },
        zoomToEvent(event) {
            const {from, to} = chart.spanOfEvent(event);
            chart.reveal(event.lane);
            chart.showSpan(from, to);
        },
        zoomTo(place) {
            const event = chart.eventAt(place.x, place.y);
            if (event)
                actions.zoomToEvent(event);
        },
        zoomBy: (factor) => chart.zoom(factor),
        fit: () => chart.fit(),
        fitSelected() {
            if (chart.picked)
                actions.zoomToEvent(chart.picked);
            else if (chart.selection)
                chart.showSpan(chart.selection.from, chart.selection.to);
            else
                chart.fit();
        },
        search() {
            parts.host.scrollIntoView({block: 'nearest'});
            parts.tools.search.focus();
            parts.tools.search.select();
        },
        searchFor(text, move) {
            return actions.find(text ? {name: text} : null, move);
        },
        find(query, move = true) {
            const found = markMatches(chart.groups, query);
            chart.found = query ? {query, count: found.count, total: found.total} : null;
            parts.tools.found.textContent = query ? `${formatCount(found.count)} found, ${formatDuration(found.total)}` : '';
            if (query && move) {
                parts.tools.search.value = query.kernel ?? query.range ?? query.name ?? '';
                if (found.longest)
                    actions.pickEvent(found.longest);
            }
            if (query)
                page.announce(`${formatCount(found.count)} found`);
            chart.redraw();
            page.emit('find', chart.found);
            return {count: found.count, total: found.total};
        },
        findLike(event) {
            const names = event.lane.trace[event.lane.table].name;
            const name = names[event.lane.rows[event.at]];
            const kernel = event.lane.table === 'activities' && event.lane.trace.activities.kind[event.lane.rows[event.at]] === 0;
            actions.find(kernel ? {kernel: event.lane.trace.short[name]} : {name: event.lane.trace.strings[name]}, false);
            parts.tools.search.value = kernel ? event.lane.trace.short[name] : event.lane.trace.strings[name];
        },
        next(direction) {
            if (!chart.found || chart.found.count === 0)
                return;
            const here = chart.picked && chart.picked.lane.matches ? chart.picked : null;
            actions.pickEvent(nextMatch(chart, here, direction));
        },
        step(direction) {
            const picked = chart.picked;
            if (!picked) {
                actions.lane(direction);
                return;
            }
            const at = picked.at + direction;
            if (at >= 0 && at < picked.lane.count)
                actions.pickEvent({lane: picked.lane, at});
        },
        end(direction) {
            if (chart.picked)
                actions.pickEvent({lane: chart.picked.lane, at: direction < 0 ? 0 : chart.picked.lane.count - 1});
        },
        // Up and down: rows of the chart, headings too.
        lane(direction) {
            const current = chart.picked ? chart.rowOfLane(chart.picked.lane) : chart.focusRow;
            let at = chart.rows.indexOf(current) + direction;
            if (current === null || current === undefined)
                at = chart.rows.findIndex((row) => row.lane && row.lane.kind === 'activity');
            const row = chart.rows[at];
            if (!row)
                return;
            if (!row.lane || row.lane.count === 0) {
                chart.picked = null;
                chart.arrows = [];
                chart.focusRow = row;
                page.announce(row.lane ? row.track.label : `${row.group.title}, ${row.group.closed ? 'closed' : 'open'}`);
                chart.scroll = Math.min(Math.max(chart.scroll, row.y - chart.height + 80), row.y);
                chart.clampScroll();
                actions.refresh();
                return;
            }
            const middle = chart.picked ? chart.spanOfEvent(chart.picked).from : (chart.view.from + chart.view.to) / 2;
            actions.pickEvent(nearestIn(chart, row.lane, middle));
        },
        enter() {
            if (chart.focusRow && !chart.focusRow.lane) {
                const group = chart.focusRow.group;
                chart.toggle(group);
                chart.focusRow = chart.rows.find((row) => !row.lane && row.group === group);
                page.announce(group.closed ? 'closed' : 'open');
            } else if (chart.picked) {
                actions.zoomToEvent(chart.picked);
            }
        },
        launch() {
            if (chart.arrows.length === 0)
                return;
            const [call, activity] = chart.arrows[0];
            actions.pickEvent(chart.picked.lane === call.lane && chart.picked.at === call.at ? activity : call);
        },
        shift(ns) {
            chart.shifts[1] = Number.isFinite(ns) ? ns : 0;
            chart.redraw();
        },
        focus: () => chart.canvas.focus(),
        help: () => page.help(),
    };
    return actions;
}

function nearestIn(chart, lane, time) {
    const local = time - chart.shifts[lane.trace.index];
    let best = 0;
    let low = 0;
    let high = lane.count - 1;
    while (low <= high) {
        const middle = low + high >>> 1;
        if (Math.abs(lane.starts[middle] - local) < Math.abs(lane.starts[best] - local))
            best = middle;
        if (lane.starts[middle] < local)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return {lane, at: best};
}

// What the page object offers of the timeline.
function offer(page, chart, actions, section) {
    const shifted = (trace, time) => time + chart.shifts[trace || 0];
    const into = () => (section.closest('section') || section).scrollIntoView({block: 'nearest', behavior: 'auto'});
    page.select = ({trace, from, to}) => {
        chart.selection = {trace: trace || 0, from: shifted(trace, from), to: shifted(trace, to)};
        chart.picked = null;
        chart.arrows = [];
        chart.showSpan(chart.selection.from, chart.selection.to);
        actions.refresh();
        into();
        page.announce(`Selected ${formatDuration(to - from)}`);
        page.emit('select', chart.selection);
    };
    page.show = ({trace, from, to}) => {
        chart.showSpan(shifted(trace, from), shifted(trace, to));
        into();
    };
    page.pick = ({trace, table, row}) => {
        const event = chart.locate(trace || 0, table, row);
        if (event)
            actions.pickEvent({lane: event.lane, at: event.at});
        into();
        return event !== null;
    };
    page.find = (query) => {
        if (query)
            into();
        return actions.find(query, true);
    };
    Object.defineProperty(page, 'view', {get: () => ({...chart.view})});
    Object.defineProperty(page, 'selection', {get: () => chart.selection && {...chart.selection}});
    Object.defineProperty(page, 'picked', {get: () => chart.picked && {trace: chart.picked.lane.trace.index, table: chart.picked.lane.table, row: chart.picked.lane.rows[chart.picked.at]}});
    page.frames = chart.frames;
    page.timeline = chart;
}

function mergedNote(trace) {
    return element('p', {class: 'note'}, `${formatCount(trace.merged.events)} events shorter than ${formatDuration(trace.merged.shorter_ns)} are drawn merged with their neighbors; ridge query sees each of them in the trace.`);
}

export function buildTimeline(page, host) {
    const canvas = element('canvas', {id: 'timeline-canvas', tabindex: '0', role: 'application', 'aria-roledescription': 'timeline',
        'aria-label': 'Timeline of devices, queues, threads and ranges. Arrow keys move between events, question mark lists all keys. The same as a table is below.'});
    const chart = new TimelineChart(page, canvas);
    const parts = {host};
    const late = {};
    const relay = new Proxy({}, {get: (_, name) => (...given) => late.actions[name](...given)});
    parts.tools = makeTools(relay);
    parts.panel = element('aside', {class: 'panel', 'aria-label': 'Details'});
    const stage = element('div', {class: 'stage'}, canvas);
    parts.tip = makeTip(stage);
    late.actions = makeActions(page, chart, parts);
    const legend = makeLegend(page, chart);
    host.append(parts.tools.bar, ...(page.traces.length > 1 ? [makeShift(chart, late.actions)] : []),
        element('div', {class: 'timeline'}, stage, parts.panel), ...(legend.list ? [legend.list] : []),
        ...page.traces.filter((trace) => trace.merged).map(mergedNote));
    chart.setTheme();
    legend.paint();
    let events = 0;
    let hidden = 0;
    eachLane(chart.groups, (lane) => {
        events += lane.count;
        hidden += lane.hidden || 0;
    });
    if (hidden)
        host.append(element('p', {class: 'note'}, `${formatCount(hidden)} events lie under too many others at once to be drawn; the figures count them all.`));
    if (events === 0)
        host.append(element('p', {class: 'note'}, 'There is no event in this trace.'));
    host.append(makeTable(chart));
    fillPanel(chart, parts.panel, late.actions);
    offer(page, chart, late.actions, host);
    watchInput(chart, late.actions);
    canvas.addEventListener('focus', () => {
        chart.focused = true;
        chart.redraw();
    });
    canvas.addEventListener('contextrestored', () => chart.setTheme());
    canvas.addEventListener('blur', () => {
        chart.focused = false;
        chart.redraw();
    });
    page.on('timeline-size', ({height}) => parts.panel.style.setProperty('--stage-height', `${height + 2}px`));
    page.on('theme', () => {
        chart.setTheme();
        legend.paint();
    });
    const fitHeight = () => Math.min(HEIGHT_MOST, Math.max(220, chart.contentHeight + RULER_HEIGHT + 12), Math.max(300, window.innerHeight * 0.75));
    new ResizeObserver(() => chart.resize(stage.clientWidth, fitHeight())).observe(stage);
    chart.resize(stage.clientWidth || 900, fitHeight());
}
