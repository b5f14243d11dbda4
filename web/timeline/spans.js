// How is a lane of events drawn? Every pixel that an event touches is colored, and no other. What is
// shorter than a few pixels goes into a strip, one row of pixels that is stretched to the lane's
// height: all of a pixel's events are one there, as full as they fill its time. What is longer is a
// box with its name. What it costs depends on how many pixels there are, not on how many events.
// Pixels are cut at multiples of their own length, so that the picture holds still when it moves.

import {eventName} from './events.js';
import {FILL_LEVELS, FILL_MATCH, fillOf} from './fills.js';
import {laneAfter, laneFrom} from './lanes.js';

const LABEL_LEAST = 38;
const LABEL_HEIGHT_MOST = 24;
const LETTER_WIDTH = 6.1;
const BOX_LEAST = 4; // pixels; narrower events are in the strip
const EDGE_LEVEL = 1; // of the pixel in which a box begins, so that neighbors are told apart

export function cutText(text, width) {
    const letters = Math.floor((width - 8) / LETTER_WIDTH);
    return text.length <= letters ? text : letters > 2 ? `${text.slice(0, letters - 1)}…` : '';
}

// The longest of a few of the events of a pixel stands for all.
function standsFor(lane, from, to) {
    const step = Math.max(1, Math.floor((to - from) / 4));
    let best = from;
    for (let i = from + step; i < to; i += step)
        if (lane.ends[i] - lane.starts[i] > lane.ends[best] - lane.starts[best])
            best = i;
    return best;
}

function anyMatch(lane, from, to) {
    return lane.matches && lane.matches[to] > lane.matches[from] ? 1 : 0;
}

// One picture is much less work for a browser than a rectangle for each pixel.
function clearStrip(chart) {
    const width = Math.ceil(chart.plotWidth * chart.ratio) + 2;
    if (!chart.strip || chart.strip.width !== width) {
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = 1;
        const context = canvas.getContext('2d', {willReadFrequently: true});
        const image = context.createImageData(width, 1);
        chart.strip = {
            canvas, context, image, width, words: new Uint32Array(image.data.buffer), used: false,
            share: new Float32Array(width), // of the pixel's time that events fill
            most: new Float32Array(width), // what the fullest of them fills
            fill: new Uint8Array(width), // its fill + 1; 0: no event
            match: new Uint8Array(width),
            edge: new Uint8Array(width),
        };
    }
    const {strip} = chart;
    if (strip.used)
        for (const column of [strip.words, strip.share, strip.most, strip.fill, strip.match, strip.edge])
            column.fill(0);
    strip.used = false;
    return strip;
}

function addPixel(strip, pixel, share, fill, match) {
    if (!(pixel >= 0 && pixel < strip.width))
        return;
    strip.used = true;
    strip.share[pixel] += share;
    strip.match[pixel] |= match;
    if (strip.fill[pixel] === 0 || share > strip.most[pixel]) {
        strip.most[pixel] = share;
        strip.fill[pixel] = fill + 1;
    }
}

function drawStrip(chart, strip, y, height) {
    if (!strip.used)
        return;
    const {fills} = chart;
    const found = chart.found !== null;
    for (let i = 0; i < strip.width; i++) {
        if (strip.fill[i] === 0)
            continue;
        const fill = strip.fill[i] - 1;
        const level = Math.min(strip.edge[i] ? EDGE_LEVEL : FILL_LEVELS - 1, Math.floor(strip.share[i] * FILL_LEVELS));
        strip.words[i] = strip.match[i] ? fills.words[FILL_MATCH][FILL_LEVELS - 1] : found ? fills.dimWords[fill] : fills.words[fill][level];
    }
    strip.context.putImageData(strip.image, 0, 0);
    chart.context.imageSmoothingEnabled = false;
    chart.context.drawImage(strip.canvas, 0, 0, strip.width, 1, 0, y, strip.width / chart.ratio, height);
}

// A box from one pixel up to another, counted from the left edge of the plot.
function drawBox(chart, lane, at, from, to, y, height) {
    const {context, fills, ratio} = chart;
    const fill = fillOf(lane, at);
    const match = anyMatch(lane, at, at + 1);
    const dim = chart.found !== null && !match;
    const left = Math.max(from, -4) / ratio;
    const right = Math.min(to / ratio, chart.plotWidth + 4);
    if (right <= left)
        return;
    context.fillStyle = match ? fills.levels[FILL_MATCH][FILL_LEVELS - 1]
        : dim ? fills.dim[fill]
            : fills.pattern[fill] || fills.levels[fill][FILL_LEVELS - 1];
    context.fillRect(left, y, right - left, height);
    if (height < 12 || right - left < LABEL_LEAST)
        return;
    const text = cutText(eventName(lane.trace, lane.table, lane.rows[at]), right - Math.max(left, 0));
    if (!text)
        return;
    const middle = y + Math.min(height, LABEL_HEIGHT_MOST) / 2;
    context.fillStyle = dim ? chart.colors.faint : match ? fills.ink[FILL_MATCH] : fills.ink[fill];
    if (fills.pattern[fill] && !dim && !match) {
        const tall = Math.min(height, LABEL_HEIGHT_MOST) - 2;
        context.fillStyle = fills.levels[fill][FILL_LEVELS - 1];
        context.fillRect(Math.max(left, 0) + 2, middle - tall / 2, text.length * LETTER_WIDTH + 5, tall);
        context.fillStyle = fills.ink[fill];
    }
    context.fillText(text, Math.max(left, 0) + 4, middle + 0.5);
}

function lastPixel(lane, at, grain) {
    return Math.max(Math.floor(lane.starts[at] / grain), Math.ceil(lane.ends[at] / grain) - 1);
}

// One event, from pixel `from` to pixel `to`, both of which it may fill in part.
function drawEvent(chart, strip, lane, at, from, to, grain, first, y, height) {
    const fill = fillOf(lane, at);
    const match = anyMatch(lane, at, at + 1);
    const shareOf = (pixel) => (Math.min(lane.ends[at], (pixel + 1) * grain) - Math.max(lane.starts[at], pixel * grain)) / grain;
    if (to - from < BOX_LEAST) {
        for (let pixel = from; pixel <= to; pixel++)
            addPixel(strip, pixel - first, Math.max(0, shareOf(pixel)), fill, match);
        return;
    }
    addPixel(strip, from - first, Math.max(0, shareOf(from)), fill, match);
    addPixel(strip, to - first, Math.max(0, shareOf(to)), fill, match);
    if (from >= first && from - first < strip.width)
        strip.edge[from - first] = 1;
    drawBox(chart, lane, at, from + 1 - first, to - first, y, height);
}

export function drawSpans(chart, lane, y, height) {
    const shift = chart.shifts[lane.trace.index];
    const from = chart.view.from - shift;
    const to = chart.view.to - shift;
    const grain = chart.scale / chart.ratio;
    const first = Math.floor(from / grain);
    const strip = clearStrip(chart);
    let at = laneAfter(lane, first * grain);
    while (at < lane.count && lane.starts[at] < to) {
        const pixel = Math.floor(lane.starts[at] / grain);
        let next = at + 1;
        if (lane.ends[at] - lane.starts[at] < grain)
            next = Math.max(next, laneFrom(lane, (pixel + 1) * grain, at));
        // Of the events that start in a pixel only the last can reach beyond it: that one is by itself.
        if (next - at > 1 && lastPixel(lane, next - 1, grain) > pixel)
            next--;
        if (next - at === 1)
            drawEvent(chart, strip, lane, at, pixel, lastPixel(lane, at, grain), grain, first, y, height);
        else
            addPixel(strip, pixel - first, (lane.sums[next] - lane.sums[at]) / grain, fillOf(lane, standsFor(lane, at, next)), anyMatch(lane, at, next));
        at = next;
    }
    drawStrip(chart, strip, y, height);
}
