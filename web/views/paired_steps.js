// The median step before above the one after, on one scale: what `ridge diff` matched is linked.

import {COPY_DIRECTIONS, MEMORY_KINDS} from '../data.js';
import {element, svg} from '../dom.js';
import {formatCount, formatDuration} from '../format.js';
import {nameColor} from '../palette.js';
import {bringTimeline, deviceIdOf} from './parts.js';

const PAIRED_WIDTH = 1200;
const PAIRED_LEFT = 60;
const PAIRED_LANE = 22;
const PAIRED_BETWEEN = 90;
const PAIRED_AXIS = 22;
const PAIRED_LANES_MAX = 8;
const PAIRED_EVENTS_MAX = 3000; // of a side; more are no picture

// As src/compare/side.c names what is no kernel.
function memberName(trace, row) {
    const {activities} = trace;
    if (activities.kind[row] === 0)
        return trace.short[activities.name[row]];
    if (activities.kind[row] === 2)
        return 'memset';
    const kinds = [activities.from_memory[row], activities.to_memory[row]].map((kind) => MEMORY_KINDS[kind]);
    const host = kinds.includes('pageable') ? ', pageable' : kinds.includes('pinned') ? ', pinned' : '';
    return `${COPY_DIRECTIONS[activities.direction[row]]} copy${host}`;
}

// The activities of the median step: {row, group, name, from, to, lane}, times from the step's start.
function stepEvents(trace, side, members) {
    const {activities, queues} = trace;
    const device = deviceIdOf(trace, side.device);
    const {start_ns: start, end_ns: end} = side.median_unit;
    const groups = new Map(members.map((member) => [member.name, member.row]));
    const lanes = new Map();
    const events = [];
    for (let row = 0; row < activities.count && events.length <= PAIRED_EVENTS_MAX; row++) {
        const queue = activities.queue[row];
        if (!queues[queue] || queues[queue].device !== device || activities.start[row] >= end || activities.start[row] + activities.duration[row] <= start)
            continue;
        const name = memberName(trace, row);
        if (!lanes.has(queue))
            lanes.set(queue, Math.min(lanes.size, PAIRED_LANES_MAX - 1));
        events.push({row, name, group: groups.get(name), lane: lanes.get(queue), from: Math.max(0, activities.start[row] - start),
            to: Math.min(end, activities.start[row] + activities.duration[row]) - start});
    }
    return {events, lanes: Math.max(1, Math.min(lanes.size, PAIRED_LANES_MAX))};
}

// [before, after] of events of one row of the difference: the nth with the nth, and where one side has
// more, several with one.
function linkedEvents(before, after) {
    const byGroup = new Map();
    [before, after].forEach((side, at) => side.events.forEach((event) => {
        if (event.group === undefined)
            return;
        if (!byGroup.has(event.group))
            byGroup.set(event.group, [[], []]);
        byGroup.get(event.group)[at].push(event);
    }));
    const links = [];
    for (const [a, b] of byGroup.values()) {
        const count = a.length && b.length ? Math.max(a.length, b.length) : 0;
        for (let i = 0; i < count; i++)
            links.push([a[Math.floor(i * a.length / count)], b[Math.floor(i * b.length / count)]]);
    }
    return links;
}

function changeClass(row) {
    if (!row || row.kind === 'both' && Math.abs(row.change_ns) * 50 < Math.max(row.before_ns, row.after_ns))
        return 'same';
    return row.kind === 'both' ? row.change_ns > 0 ? 'slower' : 'faster' : row.kind;
}

function changeText(row) {
    return row ? {same: 'as long as before', slower: 'longer than before', faster: 'shorter than before', gone: 'gone', new: 'new', replaced: 'replaced'}[changeClass(row)] : '';
}

function eventBox(page, trace, event, rows, x, y) {
    const row = rows[event.group];
    const box = svg('rect', {x: x(event.from), y: y + 2, width: Math.max(0.8, x(event.to) - x(event.from)), height: PAIRED_LANE - 4, rx: 1.5,
        class: `paired-event paired-${changeClass(row)}`,
        onclick: () => {
            page.pick({trace, table: 'activities', row: event.row});
            bringTimeline();
        }}, svg('title', {}, `${event.name}\n${formatDuration(event.to - event.from)}, ${changeText(row)}`));
    box.style.fill = `var(--name-${nameColor(event.name)})`;
    return box;
}

function linkPath([a, b], x, top, bottom, rows) {
    const middle = (top + bottom) / 2;
    const left = [x(a.from), x(b.from)];
    const right = [Math.max(x(a.to), left[0] + 0.8), Math.max(x(b.to), left[1] + 0.8)];
    const path = svg('path', {class: `paired-link paired-link-${changeClass(rows[a.group])}`,
        d: `M${left[0]} ${top}C${left[0]} ${middle} ${left[1]} ${middle} ${left[1]} ${bottom}L${right[1]} ${bottom}C${right[1]} ${middle} ${right[0]} ${middle} ${right[0]} ${top}Z`});
    path.style.fill = `var(--name-${nameColor(b.name)})`;
    return path;
}

function timeAxis(longest, x, y) {
    const rough = longest / 6;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * unit).find((value) => value >= rough);
    const marks = [];
    for (let time = 0; time <= longest; time += step)
        marks.push(svg('line', {x1: x(time), x2: x(time), y1: 0, y2: y, class: 'paired-grid'}),
            x(time) > PAIRED_WIDTH - 60 ? '' : svg('text', {x: x(time) + 3, y: y + 15, class: 'paired-time'}, formatDuration(time)));
    return marks;
}

export function pairedSteps(page, difference) {
    const sides = [stepEvents(page.traces[0], difference.before, difference.members_before), stepEvents(page.traces[1], difference.after, difference.members_after)];
    if (sides.some((side) => !side.events.length))
        return null;
    if (sides.some((side) => side.events.length > PAIRED_EVENTS_MAX))
        return element('p', {class: 'hint'}, `The ${difference.after.unit}s have more than ${formatCount(PAIRED_EVENTS_MAX)} activities: select fewer with --steps, --range or --window to see them linked.`);
    const lengths = [difference.before, difference.after].map((side) => side.median_unit.end_ns - side.median_unit.start_ns);
    const longest = Math.max(1, ...lengths);
    const x = (time) => PAIRED_LEFT + time / longest * (PAIRED_WIDTH - PAIRED_LEFT - 4);
    const top = sides[0].lanes * PAIRED_LANE;
    const bottom = top + PAIRED_BETWEEN;
    const end = bottom + sides[1].lanes * PAIRED_LANE;
    const links = linkedEvents(...sides);
    const drawing = svg('svg', {class: 'paired-steps', viewBox: `0 0 ${PAIRED_WIDTH} ${end + PAIRED_AXIS}`, role: 'img',
        'aria-label': `The median ${difference.before.unit} before (${formatDuration(lengths[0])}, ${formatCount(sides[0].events.length)} activities) above the one after (${formatDuration(lengths[1])}, ${formatCount(sides[1].events.length)} activities); ${formatCount(links.length)} links between matched activities`});
    drawing.append(...timeAxis(longest, x, end));
    for (const link of links)
        drawing.append(linkPath(link, x, (link[0].lane + 1) * PAIRED_LANE - 2, bottom + link[1].lane * PAIRED_LANE + 2, difference.rows));
    sides.forEach((side, at) => {
        const y = at ? bottom : 0;
        const height = side.lanes * PAIRED_LANE;
        drawing.append(svg('text', {x: PAIRED_LEFT - 8, y: y + height / 2 + 4, class: 'paired-side'}, at ? 'after' : 'before'),
            svg('rect', {x: x(0), y, width: x(lengths[at]) - x(0), height, class: 'paired-step'}));
        for (const event of side.events)
            drawing.append(eventBox(page, at, event, difference.rows, x, y + event.lane * PAIRED_LANE));
    });
    const shown = difference.before.units > 1 || difference.after.units > 1 ? `median ${difference.after.unit}` : difference.after.unit;
    return element('figure', {class: 'paired'},
        element('figcaption', {}, `The ${shown} of both on one scale. Links join what was matched; strong ones became longer, shorter or something else. Outlined boxes have no counterpart. A box leads to its place on the timeline.`), drawing);
}
