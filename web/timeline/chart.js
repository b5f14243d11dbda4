// The timeline's state: which lanes there are and where, what part of time is shown, what is picked,
// selected and found. It draws itself when something changed, once a frame.

import {themeColor} from '../palette.js';
import {RULER_HEIGHT, drawFrame} from './draw.js';
import {makeFills, stringFills} from './fills.js';
import {laneAfter, laneFrom, laneGroups} from './lanes.js';

const LANE_HEIGHTS = {activity: 24, gap: 16, range: 18, call: 18, state: 8, sample: 9, counter: 36, step: 18};
const GROUP_HEIGHT = 26;
const LABEL_HEIGHT = 20;
const LEAST_SPAN = 20;

// From the start to the end of what a report is about.
function runOf(report, trace) {
    const chosen = report.selection.narrowed ? Object.values(report.devices || {}).map((device) => device.selected).filter((one) => one && one.windows) : [];
    const from = chosen.length ? Math.min(...chosen.map((one) => one.start_ns)) : 0;
    const to = chosen.length ? Math.max(...chosen.map((one) => one.end_ns)) : report.totals.trace_span_ns;
    return to - from >= 100 ? {from, to} : trace.span;
}

export class TimelineChart {
    constructor(page, canvas) {
        this.page = page;
        this.canvas = canvas;
        this.context = canvas.getContext('2d', {alpha: false});
        this.shifts = page.traces.map(() => 0);
        this.groups = [];
        for (const trace of page.traces) {
            trace.stringFills = stringFills(trace);
            for (const group of laneGroups(trace)) {
                group.title = page.traces.length > 1 ? `${'AB'[trace.index]} · ${group.label}` : group.label;
                group.closed = false;
                this.groups.push(group);
            }
        }
        const order = ['steps', 'device', 'process', 'others'];
        this.groups.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
        this.closeLesser();
        this.scroll = 0;
        this.picked = null;
        this.arrows = [];
        this.selection = null;
        this.found = null;
        this.focused = false;
        this.focusRow = null;
        this.ratio = 1;
        this.width = 800;
        this.height = 400;
        this.gutter = 150;
        this.plotWidth = 650;
        this.sized = false;
        this.wanted = false;
        this.frames = {count: 0, mean: 0, worst: 0, last: 0, reset: () => this.resetFrames()};
        this.layOut();
        this.view = this.home();
        this.scale = 1;
    }

    resetFrames() {
        Object.assign(this.frames, {count: 0, mean: 0, worst: 0, last: 0});
    }

    // Processes beyond the first few, and those in which hardly anything happened, begin closed.
    closeLesser() {
        this.groups.filter((group) => group.kind === 'others').forEach((group) => {
            group.closed = true;
        });
        const processes = this.groups.filter((group) => group.kind === 'process');
        processes.sort((a, b) => Math.max(...b.tracks.map((track) => track.weight)) - Math.max(...a.tracks.map((track) => track.weight)));
        processes.slice(4).forEach((group) => {
            group.closed = true;
        });
    }

    layOut() {
        this.rows = [];
        this.laneRows = new Map();
        this.bands = []; // where the lanes of each open group are
        let y = 0;
        for (const group of this.groups) {
            this.rows.push({group, y, height: GROUP_HEIGHT, lane: null});
            y += GROUP_HEIGHT;
            const top = y;
            for (const track of group.closed ? [] : group.tracks) {
                const least = Math.max(3, LABEL_HEIGHT - track.lanes.reduce((sum, lane) => sum + LANE_HEIGHTS[lane.kind], 0));
                track.lanes.forEach((lane, i) => {
                    const height = LANE_HEIGHTS[lane.kind];
                    const row = {group, track, lane, y, height, first: i === 0};
                    this.rows.push(row);
                    this.laneRows.set(lane, row);
                    y += height + (i + 1 === track.lanes.length ? least : 0);
                });
            }
            if (y > top)
                this.bands.push({group, y: top, height: y - top});
        }
        this.contentHeight = y;
        this.clampScroll();
    }

    around(spanOfTrace) {
        let from = Infinity;
        let to = -Infinity;
        this.page.traces.forEach((trace, i) => {
            const span = spanOfTrace(trace, i);
            from = Math.min(from, span.from + this.shifts[i]);
            to = Math.max(to, span.to + this.shifts[i]);
        });
        const margin = (to - from) * 0.01;
        return {from: from - margin, to: to + margin};
    }

    everything() {
        return this.around((trace) => trace.span);
    }

    // The run, or what of it the report is about: what lies beyond is a pause or of no interest.
    home() {
        return this.around((trace, i) => runOf(this.page.reports[i], trace));
    }

    setTheme() {
        const names = {ink: 'ink', soft: 'ink-soft', faint: 'ink-faint', card: 'card', lane: 'lane', line: 'line', grid: 'grid',
            group: 'group', focus: 'focus', arrow: 'arrow', picked: 'picked', selection: 'selection', counter: 'counter'};
        this.colors = {};
        for (const [key, name] of Object.entries(names))
            this.colors[key] = themeColor(name);
        this.fills = makeFills(this.context);
        this.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
        this.boldFont = `600 ${this.font}`;
        this.redraw();
    }

    // A canvas that gets a size is black until it is drawn, and a browser observes sizes after the
    // frame's drawing is done: so it is drawn at once.
    resize(givenWidth, givenHeight) {
        const width = Math.max(200, Math.floor(givenWidth));
        const height = Math.max(120, Math.floor(givenHeight));
        const ratio = Math.min(2, window.devicePixelRatio || 1);
        if (this.sized && width === this.width && height === this.height && ratio === this.ratio)
            return;
        this.sized = true;
        this.ratio = ratio;
        this.width = width;
        this.height = height;
        this.gutter = Math.round((this.width < 600 ? 84 : 168) * this.ratio) / this.ratio;
        this.plotWidth = this.width - this.gutter;
        this.canvas.width = Math.round(this.width * this.ratio);
        this.canvas.height = Math.round(this.height * this.ratio);
        this.canvas.style.height = `${this.height}px`;
        this.page.emit('timeline-size', {width: this.width, height: this.height});
        this.clampScroll();
        this.draw();
    }

    redraw() {
        if (this.wanted)
            return;
        this.wanted = true;
        requestAnimationFrame(() => {
            this.wanted = false;
            this.draw();
        });
    }

    draw() {
        const begun = performance.now();
        this.scale = (this.view.to - this.view.from) / this.plotWidth;
        drawFrame(this);
        const took = performance.now() - begun;
        const frames = this.frames;
        frames.count++;
        frames.last = took;
        frames.worst = Math.max(frames.worst, took);
        frames.mean += (took - frames.mean) / frames.count;
    }

    clampScroll() {
        const most = Math.max(0, this.contentHeight - (this.height - RULER_HEIGHT));
        this.scroll = Math.max(0, Math.min(most, this.scroll || 0));
    }

    scrollBy(pixels) {
        const before = this.scroll;
        this.scroll += pixels;
        this.clampScroll();
        if (this.scroll !== before)
            this.redraw();
        return this.scroll !== before;
    }

    rowTop(row) {
        return RULER_HEIGHT + row.y - this.scroll;
    }

    rowOfLane(lane) {
        return this.laneRows.get(lane) || null;
    }

    visibleRows() {
        return this.rows.filter((row) => row.y + row.height > this.scroll && row.y < this.scroll + this.height);
    }

    // Time never runs further away than one span of everything, nor nearer than some nanoseconds.
    setView(from, to) {
        const all = this.everything();
        const whole = all.to - all.from;
        if (!Number.isFinite(from) || !Number.isFinite(to))
            return;
        const middle = (from + to) / 2;
        const least = Math.max(LEAST_SPAN, Math.abs(middle) * 1e-13);
        let span = Math.min(Math.max(to - from, least), whole * 1.5);
        const lowest = all.from - span * 0.5;
        const highest = all.to + span * 0.5;
        span = Math.min(span, highest - lowest);
        const start = Math.max(lowest, Math.min(highest - span, middle - span / 2));
        this.view = {from: start, to: start + span};
        this.redraw();
        this.page.emit('view', this.view);
    }

    pan(share) {
        const by = (this.view.to - this.view.from) * share;
        this.setView(this.view.from + by, this.view.to + by);
    }

    // About a place of the plot, 0 to 1.
    zoom(factor, about = 0.5) {
        const span = this.view.to - this.view.from;
        const fixed = this.view.from + span * about;
        this.setView(fixed - span / factor * about, fixed + span / factor * (1 - about));
    }

    fit() {
        const all = this.home();
        this.setView(all.from, all.to);
    }

    // Shows [from, to) with some room around it.
    showSpan(from, to) {
        const room = Math.max((to - from) * 0.15, 10);
        this.setView(from - room, to + room);
    }

    timeAt(x) {
        return this.view.from + (x - this.gutter) * (this.view.to - this.view.from) / this.plotWidth;
    }

    rowAt(y) {
        const at = y - RULER_HEIGHT + this.scroll;
        return y < RULER_HEIGHT ? null : this.rows.find((row) => at >= row.y && at < row.y + row.height) || null;
    }

    // The event under the pointer, or the nearest within a few pixels.
    eventAt(x, y) {
        const row = this.rowAt(y);
        if (!row || !row.lane || x < this.gutter)
            return null;
        const lane = row.lane;
        const time = this.timeAt(x) - this.shifts[lane.trace.index];
        const near = 4 * (this.view.to - this.view.from) / this.plotWidth;
        const at = laneAfter(lane, time);
        if (at < lane.count && lane.starts[at] <= time)
            return {lane, at};
        const before = at > 0 && time - lane.ends[at - 1] <= near ? at - 1 : -1;
        const after = at < lane.count && lane.starts[at] - time <= near ? at : -1;
        if (before < 0 && after < 0)
            return null;
        const nearer = before < 0 || after >= 0 && lane.starts[after] - time < time - lane.ends[before];
        return {lane, at: nearer ? after : before};
    }

    // Where a row of a table is among the lanes.
    locate(traceIndex, table, tableRow) {
        for (const group of this.groups) {
            if (group.trace.index !== traceIndex)
                continue;
            for (const track of group.tracks)
                for (const lane of track.lanes) {
                    if (lane.table !== table)
                        continue;
                    let low = 0;
                    let high = lane.count;
                    while (low < high) {
                        const middle = low + high >>> 1;
                        if (lane.rows[middle] < tableRow)
                            low = middle + 1;
                        else
                            high = middle;
                    }
                    if (low < lane.count && lane.rows[low] === tableRow)
                        return {lane, at: low, group};
                }
        }
        return null;
    }

    // Opens the lane's group and scrolls it into sight.
    reveal(lane) {
        const group = this.groups.find((one) => one.tracks.some((track) => track.lanes.includes(lane)));
        if (group && group.closed) {
            group.closed = false;
            this.layOut();
        }
        const row = this.rowOfLane(lane);
        if (!row)
            return;
        const room = this.height - RULER_HEIGHT;
        if (row.y < this.scroll + 20 || row.y + row.height > this.scroll + room - 10)
            this.scroll = row.y - room / 3;
        this.clampScroll();
        this.redraw();
    }

    spanOfEvent(event) {
        const shift = this.shifts[event.lane.trace.index];
        return {from: event.lane.starts[event.at] + shift, to: event.lane.ends[event.at] + shift};
    }

    // Moves to an event only when it is not to be seen, or too small to be.
    moveTo(event) {
        const {from, to} = this.spanOfEvent(event);
        const span = this.view.to - this.view.from;
        this.reveal(event.lane);
        if (to - from < span / this.plotWidth * 2 || to - from > span * 2)
            this.showSpan(from - (to - from) * 3, to + (to - from) * 3);
        else if (from < this.view.from || to > this.view.to)
            this.setView((from + to - span) / 2, (from + to + span) / 2);
    }

    toggle(group) {
        group.closed = !group.closed;
        this.layOut();
        this.redraw();
    }

    // How many events of a lane start in [from, to) of the page's time.
    countIn(lane, from, to) {
        const shift = this.shifts[lane.trace.index];
        return laneFrom(lane, to - shift) - laneFrom(lane, from - shift);
    }
}
