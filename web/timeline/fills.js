// What does an event look like? Every event has a fill: a number for its color, in eight steps from
// faint to full for how much of a pixel's time it fills, and for idle time and copies a pattern, so
// that nothing hangs on color alone.

import {CAUSES, NAME_COLORS, nameColor, themeColor} from '../palette.js';

export const FILL_LEVELS = 8;
const FILL_COPY = NAME_COLORS;
const FILL_SET = FILL_COPY + 1;
const FILL_CALL = FILL_SET + 1;
const FILL_CAUSE = FILL_CALL + 6;
const FILL_STATE = FILL_CAUSE + CAUSES.length;
const FILL_SAMPLE = FILL_STATE + 3;
const FILL_STEP = FILL_SAMPLE + 1;
const FILL_WARM_UP = FILL_STEP + 1;
const FILL_PAUSE = FILL_WARM_UP + 1;
export const FILL_MATCH = FILL_PAUSE + 1;

function fillNames() {
    const names = [];
    for (let i = 0; i < NAME_COLORS; i++)
        names.push(`name-${i}`);
    names.push('copy', 'set');
    names.push('call-other', 'cause-launch', 'copy', 'cause-sync', 'cause-alloc', 'cause-compile');
    for (const cause of CAUSES)
        names.push(cause.color);
    names.push('running', 'ready', 'blocked', 'sample', 'step', 'warm-up', 'paused', 'match');
    return names;
}

function parseHex(color) {
    const text = /^#[0-9a-f]{6}$/i.test(color) ? color : '#808080';
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

function mixColors(below, above, share) {
    const mixed = below.map((value, i) => Math.round(value + (above[i] - value) * share));
    return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

// A color as a pixel of a canvas's memory, whose bytes are red, green, blue, opacity.
function pixelWord(color) {
    const word = new Uint32Array(1);
    new Uint8Array(word.buffer).set([...parseHex(color), 255]);
    return word[0];
}

function inkOn(color) {
    const [red, green, blue] = color.map((value) => (value / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.3 ? '#14181d' : '#ffffff';
}

function drawPattern(context, pattern, size) {
    const line = (x1, y1, x2, y2) => {
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
    };
    context.beginPath();
    if (pattern === 'rising' || pattern === 'cross')
        for (const at of [-size, 0, size])
            line(at, size, at + size, 0);
    if (pattern === 'falling' || pattern === 'cross')
        for (const at of [-size, 0, size])
            line(at, 0, at + size, size);
    if (pattern === 'bars')
        line(size / 2, 0, size / 2, size);
    if (pattern === 'lines')
        line(0, size / 2, size, size / 2);
    context.stroke();
    if (pattern === 'dots' || pattern === 'sparse')
        context.fillRect(size / 2 - 1, size / 2 - 1, 2, 2);
}

// A canvas pattern: lines of the paper's color over the fill.
export function makePattern(context, color, paper, pattern) {
    const size = pattern === 'sparse' ? 10 : 6;
    const tile = document.createElement('canvas');
    tile.width = size;
    tile.height = size;
    const inside = tile.getContext('2d');
    inside.fillStyle = color;
    inside.fillRect(0, 0, size, size);
    inside.strokeStyle = paper;
    inside.fillStyle = paper;
    inside.globalAlpha = 0.75;
    inside.lineWidth = 1.4;
    if (pattern === 'empty') {
        inside.globalAlpha = 0.55;
        inside.fillRect(0, 0, size, size);
    } else {
        drawPattern(inside, pattern, size);
    }
    return context.createPattern(tile, 'repeat');
}

// The fills of the present theme: levels[fill][level], dim[fill], ink[fill], pattern[fill] or null;
// words and dimWords are the first two as pixels.
export function makeFills(context) {
    const paper = themeColor('lane') || '#ffffff';
    const fills = {levels: [], dim: [], ink: [], pattern: [], words: [], dimWords: []};
    for (const name of fillNames()) {
        const color = parseHex(themeColor(name));
        const levels = [];
        for (let level = 1; level <= FILL_LEVELS; level++)
            levels.push(mixColors(parseHex(paper), color, 0.3 + 0.7 * level / FILL_LEVELS));
        fills.levels.push(levels);
        fills.words.push(levels.map(pixelWord));
        fills.dim.push(mixColors(parseHex(paper), color, 0.28));
        fills.dimWords.push(pixelWord(fills.dim[fills.dim.length - 1]));
        fills.ink.push(inkOn(color));
        fills.pattern.push(null);
    }
    CAUSES.forEach((cause, i) => {
        if (cause.pattern !== 'plain')
            fills.pattern[FILL_CAUSE + i] = makePattern(context, themeColor(cause.color), paper, cause.pattern);
    });
    fills.pattern[FILL_COPY] = makePattern(context, themeColor('copy'), paper, 'lines');
    fills.pattern[FILL_PAUSE] = makePattern(context, paper, themeColor('paused'), 'rising');
    fills.pattern[FILL_WARM_UP] = makePattern(context, themeColor('warm-up'), paper, 'rising');
    return fills;
}

// The color of each string of a trace, looked up once.
export function stringFills(trace) {
    const fills = new Uint8Array(trace.strings.length);
    for (let i = 0; i < fills.length; i++)
        fills[i] = nameColor(trace.short[i]);
    return fills;
}

// The fill of one event of a lane.
export function fillOf(lane, at) {
    const row = lane.rows[at];
    const trace = lane.trace;
    switch (lane.kind) {
    case 'activity': {
        const kind = trace.activities.kind[row];
        return kind === 0 ? trace.stringFills[trace.activities.name[row]] : kind === 1 ? FILL_COPY : FILL_SET;
    }
    case 'range':
        return trace.stringFills[trace.ranges.name[row]];
    case 'call':
        return FILL_CALL + Math.min(5, trace.calls.class[row]);
    case 'gap':
        return FILL_CAUSE + Math.min(CAUSES.length - 1, trace.gaps.cause[row]);
    case 'state':
        return FILL_STATE + Math.min(2, trace.states.state[row]);
    case 'pause':
        return FILL_PAUSE;
    case 'step':
        return trace.steps.warm_up[row] ? FILL_WARM_UP : FILL_STEP;
    default:
        return FILL_SAMPLE;
    }
}
