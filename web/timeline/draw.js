// Draws a frame: the ruler, the names of the lanes, the lanes, and what is picked and selected.

import {formatTick} from '../format.js';
import {laneAfter, laneFrom} from './lanes.js';
import {cutText, drawSpans} from './spans.js';

export const RULER_HEIGHT = 30;

// A step from each value to the next; of those that fall on one pixel the highest. There is nothing
// before the first value, and the last holds as long as the lane says.
function drawCounter(chart, lane, y, height) {
    const {context, scale} = chart;
    const shift = chart.shifts[lane.trace.index];
    const from = chart.view.from - shift;
    const values = lane.trace.counters.value;
    const top = lane.most > 0 ? lane.most : 1;
    context.fillStyle = chart.colors.counter;
    let at = laneAfter(lane, from);
    while (at < lane.count) {
        const x = Math.max(0, Math.floor((lane.starts[at] - from) / scale));
        if (x > chart.plotWidth)
            break;
        const next = Math.max(at + 1, laneFrom(lane, from + (x + 1) * scale, at));
        let most = 0;
        const step = Math.max(1, Math.floor((next - at) / 8));
        for (let i = at; i < next; i += step)
            most = Math.max(most, values[lane.rows[i]]);
        most = Math.max(most, values[lane.rows[next - 1]]);
        const end = Math.max(x + 1, Math.min(chart.plotWidth, Math.floor((lane.ends[next - 1] - from) / scale)));
        const level = Math.max(1, height * Math.min(1, most / top));
        context.fillRect(x, y + height - level, end - x, level);
        at = next;
    }
}

function tickStep(scale) {
    const least = 110 * scale;
    const power = 10 ** Math.floor(Math.log10(least));
    for (const factor of [1, 2, 5, 10])
        if (power * factor >= least)
            return Math.max(1, power * factor);
    return power * 10;
}

// Moments at which the ruler has a label.
export function rulerTicks(view, scale) {
    const step = tickStep(scale);
    const ticks = [];
    for (let k = Math.ceil(view.from / step); k * step <= view.to && ticks.length < 100; k++)
        ticks.push(k * step);
    return {step, ticks};
}

function drawRuler(chart) {
    const {context, view, scale, colors} = chart;
    const {step, ticks} = rulerTicks(view, scale);
    context.fillStyle = colors.card;
    context.fillRect(0, 0, chart.width, RULER_HEIGHT);
    context.fillStyle = colors.line;
    context.fillRect(0, RULER_HEIGHT - 1, chart.width, 1);
    context.fillStyle = colors.soft;
    context.textBaseline = 'middle';
    const largest = Math.max(Math.abs(view.from), Math.abs(view.to));
    for (const tick of ticks) {
        const x = chart.gutter + (tick - view.from) / scale;
        if (x > chart.gutter - 1)
            context.fillRect(Math.round(x), RULER_HEIGHT - 7, 1, 7);
        if (x > chart.gutter - 1 && x < chart.width - 48)
            context.fillText(formatTick(tick, step, largest), x + 4, RULER_HEIGHT / 2);
    }
}

function drawGrid(chart) {
    const {context, view, scale} = chart;
    context.fillStyle = chart.colors.grid;
    for (const tick of rulerTicks(view, scale).ticks)
        context.fillRect(Math.round((tick - view.from) / scale), 0, 1, chart.height);
}

// When a process was not recorded, behind all its lanes.
function drawPauses(chart) {
    for (const {group, y, height} of chart.bands) {
        const top = RULER_HEIGHT + y - chart.scroll;
        if (group.pauses && top < chart.height && top + height > RULER_HEIGHT)
            drawSpans(chart, group.pauses, top, height);
    }
}

function drawGroupRow(chart, row, y) {
    const {context, colors} = chart;
    context.fillStyle = colors.group;
    context.fillRect(0, y, chart.width, row.height - 2);
    context.fillStyle = colors.ink;
    context.font = chart.boldFont;
    const letters = Math.floor((chart.width - 40) / 6.6);
    context.fillText(`${row.group.closed ? '▸' : '▾'} ${row.group.title.slice(0, letters)}`, 8, y + row.height / 2);
    context.font = chart.font;
    if (chart.focusRow === row && chart.focused) {
        context.strokeStyle = colors.focus;
        context.lineWidth = 2;
        context.strokeRect(1, y + 1, chart.width - 2, row.height - 4);
    }
}

function drawGutter(chart, rows) {
    const {context, colors} = chart;
    context.fillStyle = colors.card;
    context.fillRect(0, RULER_HEIGHT, chart.gutter, chart.height - RULER_HEIGHT);
    context.fillStyle = colors.line;
    context.fillRect(chart.gutter - 1, RULER_HEIGHT, 1, chart.height);
    for (const row of rows) {
        if (!row.lane || !row.first)
            continue;
        const y = chart.rowTop(row);
        context.fillStyle = colors.soft;
        const middle = y + Math.max(row.height, 14) / 2;
        const text = cutText(row.track.label, chart.gutter - 14);
        context.fillText(text, 12, middle);
    }
}

function rectOf(chart, event) {
    const row = chart.rowOfLane(event.lane);
    if (!row)
        return null;
    const shift = chart.shifts[event.lane.trace.index];
    const x = (event.lane.starts[event.at] + shift - chart.view.from) / chart.scale;
    const end = (event.lane.ends[event.at] + shift - chart.view.from) / chart.scale;
    return {x, end, y: chart.rowTop(row), height: row.height - 2};
}

function drawArrow(chart, from, to) {
    const start = rectOf(chart, from);
    const end = rectOf(chart, to);
    if (!start || !end)
        return;
    const {context} = chart;
    const x1 = Math.max(-1e4, Math.min(1e4, start.x));
    const x2 = Math.max(-1e4, Math.min(1e4, end.x));
    const down = end.y > start.y;
    const y1 = down ? start.y + start.height : start.y;
    const y2 = down ? end.y : end.y + end.height;
    const bend = Math.max(24, Math.abs(y2 - y1) / 2) * (down ? 1 : -1);
    context.strokeStyle = chart.colors.arrow;
    context.lineWidth = 1.75;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
    context.stroke();
    context.fillStyle = chart.colors.arrow;
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 4.5, y2 - (down ? 8 : -8));
    context.lineTo(x2 + 4.5, y2 - (down ? 8 : -8));
    context.fill();
}

function drawPicked(chart) {
    const {context, picked} = chart;
    const rect = picked && rectOf(chart, picked);
    if (!rect)
        return;
    for (const [from, to] of chart.arrows)
        drawArrow(chart, from, to);
    const left = Math.max(rect.x, -3);
    const right = Math.min(rect.end, chart.plotWidth + 3);
    if (right < left)
        return;
    context.strokeStyle = chart.colors.picked;
    context.lineWidth = 2.5;
    context.strokeRect(left - 1, rect.y - 1, Math.max(3, right - left + 2), rect.height + 2);
}

function drawSelection(chart) {
    const {context, selection, view, scale} = chart;
    if (!selection)
        return;
    const x1 = Math.max(-2, (selection.from - view.from) / scale);
    const x2 = Math.min(chart.plotWidth + 2, (selection.to - view.from) / scale);
    if (x2 < x1)
        return;
    context.fillStyle = chart.colors.selection;
    context.globalAlpha = 0.16;
    context.fillRect(x1, 0, x2 - x1, chart.height);
    context.globalAlpha = 1;
    context.fillRect(x1, 0, 1.5, chart.height);
    context.fillRect(x2 - 1.5, 0, 1.5, chart.height);
}

// Where among all lanes the visible ones are.
function drawScroll(chart) {
    const room = chart.height - RULER_HEIGHT;
    if (chart.contentHeight <= room)
        return;
    const height = Math.max(24, room * room / chart.contentHeight);
    const y = RULER_HEIGHT + (room - height) * chart.scroll / (chart.contentHeight - room);
    chart.context.fillStyle = chart.colors.faint;
    chart.context.globalAlpha = 0.6;
    chart.context.fillRect(chart.width - 6, y, 5, height);
    chart.context.globalAlpha = 1;
}

export function drawFrame(chart) {
    const {context, colors} = chart;
    const rows = chart.visibleRows();
    context.setTransform(chart.ratio, 0, 0, chart.ratio, 0, 0);
    context.fillStyle = colors.lane;
    context.fillRect(0, 0, chart.width, chart.height);
    context.font = chart.font;
    context.textBaseline = 'middle';
    drawGutter(chart, rows);
    context.save();
    context.beginPath();
    context.rect(chart.gutter, RULER_HEIGHT, chart.plotWidth, chart.height - RULER_HEIGHT);
    context.clip();
    context.translate(chart.gutter, 0);
    drawPauses(chart);
    drawGrid(chart);
    for (const row of rows) {
        if (!row.lane)
            continue;
        if (row.lane.kind === 'counter')
            drawCounter(chart, row.lane, chart.rowTop(row), row.height - 3);
        else
            drawSpans(chart, row.lane, chart.rowTop(row), row.height - 2);
    }
    context.restore();
    for (const row of rows)
        if (!row.lane)
            drawGroupRow(chart, row, chart.rowTop(row));
    context.save();
    context.beginPath();
    context.rect(chart.gutter, RULER_HEIGHT, chart.plotWidth, chart.height - RULER_HEIGHT);
    context.clip();
    context.translate(chart.gutter, 0);
    drawSelection(chart);
    drawPicked(chart);
    context.restore();
    drawScroll(chart);
    drawRuler(chart);
}
