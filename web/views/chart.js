// The frame of a chart: scales, ticks, grid and the names of its axes, as SVG.

import {svg} from '../dom.js';

// Round values from..to, about `count` of them.
export function roundTicks(from, to, count) {
    const span = to - from;
    if (!(span > 0))
        return [from];
    const rough = span / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
    const ticks = [];
    for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-9; at += step)
        ticks.push(at);
    return ticks;
}

// Powers of ten from..to; every so many of them when there are more than `count`.
export function powerTicks(from, to, count) {
    const first = Math.ceil(Math.log10(from) - 1e-9);
    const last = Math.floor(Math.log10(to) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
    const ticks = [];
    for (let power = first; power <= last; power += every)
        ticks.push(10 ** power);
    return ticks;
}

export function linearScale(from, to, low, high) {
    const factor = to > from ? (high - low) / (to - from) : 0;
    return (value) => low + (value - from) * factor;
}

export function logScale(from, to, low, high) {
    const scale = linearScale(Math.log(from), Math.log(to), low, high);
    return (value) => scale(Math.log(Math.max(value, from * 1e-3)));
}

// The powers of ten around a range, with room at both ends.
export function decadesAround(low, high) {
    return [10 ** Math.floor(Math.log10(low) - 0.25), 10 ** Math.ceil(Math.log10(high) + 0.25)];
}

// "5.00 GB" as "5 GB": an axis needs no trailing zeros.
export function shortTick(text) {
    return text.replace(/\.(\d*[1-9])?0*(?=\D*$)/, (_, digits) => digits ? `.${digits}` : '');
}

// x, y: {from, to, log, ticks, text(tick), title}. Returns {root, plot, x(value), y(value), left,
// right, top, bottom}: draw into `plot`.
export function chartFrame({width, height, label, x, y, left = 74, right = 18, top = 14, bottom = 46}) {
    const scaleOf = (axis) => axis.log ? logScale : linearScale;
    const place = {left, right: Math.max(left + 40, width - right), top, bottom: height - bottom};
    place.x = scaleOf(x)(x.from, x.to, place.left, place.right);
    place.y = scaleOf(y)(y.from, y.to, place.bottom, place.top);
    const root = svg('svg', {class: 'chart', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': label});
    const grid = svg('g', {class: 'grid', 'aria-hidden': 'true'});
    const names = svg('g', {class: 'axis', 'aria-hidden': 'true'});
    for (const tick of y.ticks) {
        grid.append(svg('line', {x1: place.left, x2: place.right, y1: place.y(tick), y2: place.y(tick)}));
        names.append(svg('text', {x: place.left - 8, y: place.y(tick) + 4, 'text-anchor': 'end'}, y.text(tick)));
    }
    for (const tick of x.ticks) {
        if (x.grid !== false)
            grid.append(svg('line', {x1: place.x(tick), x2: place.x(tick), y1: place.top, y2: place.bottom}));
        names.append(svg('text', {x: place.x(tick), y: place.bottom + 18, 'text-anchor': 'middle'}, x.text(tick)));
    }
    names.append(svg('line', {class: 'base', x1: place.left, x2: place.right, y1: place.bottom, y2: place.bottom}));
    names.append(svg('text', {class: 'title', x: place.right, y: height - 8, 'text-anchor': 'end'}, x.title));
    if (y.title)
        names.append(svg('text', {class: 'title', transform: `translate(13 ${place.top}) rotate(-90)`, 'text-anchor': 'end'}, y.title));
    const plot = svg('g', {});
    root.append(grid, names, plot);
    return {root, plot, ...place};
}

// What the pointer is over, in a browser's own words.
export function withTitle(mark, text) {
    mark.append(svg('title', {}, text));
    return mark;
}

// A circle, triangle, square, diamond or cross around (x, y), by number.
export function markShape(shape, x, y, size, attributes) {
    const at = (points) => points.map(([dx, dy]) => `${(x + dx * size).toFixed(1)} ${(y + dy * size).toFixed(1)}`).join('L');
    const outlines = [
        null,
        [[0, -1.15], [1, 0.75], [-1, 0.75]],
        [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
        [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
        [[-1, -1], [0, -0.35], [1, -1], [0.35, 0], [1, 1], [0, 0.35], [-1, 1], [-0.35, 0]],
    ];
    const outline = outlines[shape % outlines.length];
    return outline ? svg('path', {d: `M${at(outline)}Z`, ...attributes}) : svg('circle', {cx: x.toFixed(1), cy: y.toFixed(1), r: size, ...attributes});
}

// The extremes of value(item); a list may be longer than a call has arguments.
export function mostOf(list, value, start = -Infinity) {
    return list.reduce((most, item) => Math.max(most, value(item)), start);
}

export function leastOf(list, value, start = Infinity) {
    return list.reduce((least, item) => Math.min(least, value(item)), start);
}
