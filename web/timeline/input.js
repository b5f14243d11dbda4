// Mouse, touch, pen, wheel and keys. On the plot: drag moves, two fingers zoom, a click picks; on the
// ruler, or with Shift, a drag measures.

import {RULER_HEIGHT} from './draw.js';

const CLICK_SLACK = 4;
const KEY_ZOOM = 1.25;
const KEY_PAN = 0.1;

function placeIn(chart, event) {
    const box = chart.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
}

// Two pointers: their distance zooms, their middle moves.
function pinch(chart, before, after) {
    const width = (points) => Math.max(10, Math.abs(points[0].x - points[1].x));
    const middle = (points) => (points[0].x + points[1].x) / 2;
    const about = (middle(after) - chart.gutter) / chart.plotWidth;
    chart.pan((middle(before) - middle(after)) / chart.plotWidth);
    chart.zoom(width(after) / width(before), about);
}

function watchPointers(chart, actions) {
    const down = new Map();
    let mode = null;
    let begun = null;
    let last = null;
    let lastY = 0; // in the window, which may scroll meanwhile
    const canvas = chart.canvas;
    canvas.addEventListener('pointerdown', (event) => {
        if (event.button > 1)
            return;
        const place = placeIn(chart, event);
        try {
            canvas.setPointerCapture(event.pointerId);
        } catch {
            // the pointer is gone already
        }
        down.set(event.pointerId, place);
        begun = place;
        last = place;
        lastY = event.clientY;
        mode = down.size > 1 ? 'pinch' : place.x >= chart.gutter && (event.shiftKey || place.y < RULER_HEIGHT) ? 'measure' : 'undecided';
    });
    canvas.addEventListener('pointermove', (event) => {
        const place = placeIn(chart, event);
        if (!down.has(event.pointerId)) {
            actions.hover(place, event);
            return;
        }
        if (mode === 'pinch' && down.size === 2) {
            const before = [...down.values()];
            down.set(event.pointerId, place);
            pinch(chart, before, [...down.values()]);
            return;
        }
        down.set(event.pointerId, place);
        if (mode === 'undecided' && Math.hypot(place.x - begun.x, place.y - begun.y) > CLICK_SLACK)
            mode = 'drag';
        if (mode === 'drag') {
            chart.pan((last.x - place.x) / chart.plotWidth);
            if (!chart.scrollBy(lastY - event.clientY) && event.pointerType === 'touch')
                window.scrollBy(0, lastY - event.clientY);
        } else if (mode === 'measure' && Math.abs(place.x - begun.x) > 1) {
            actions.measure(chart.timeAt(begun.x), chart.timeAt(place.x), false);
        }
        last = place;
        lastY = event.clientY;
    });
    const end = (event) => {
        if (!down.delete(event.pointerId))
            return;
        const place = placeIn(chart, event);
        if (event.type === 'pointerup' && mode === 'undecided')
            actions.click(place);
        else if (event.type === 'pointerup' && mode === 'measure' && Math.abs(place.x - begun.x) > 1)
            actions.measure(chart.timeAt(begun.x), chart.timeAt(place.x), true);
        else if (event.type === 'pointerup' && mode === 'measure')
            actions.unselect();
        mode = down.size ? 'drag' : null;
        last = down.size ? [...down.values()][0] : null;
        begun = last;
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('pointerleave', () => actions.hover(null));
    canvas.addEventListener('dblclick', (event) => actions.zoomTo(placeIn(chart, event)));
}

// Ctrl (or a pinch on a touchpad) zooms, Shift or sideways moves in time, else lanes scroll as long
// as there are more, and then the page does.
function watchWheel(chart) {
    chart.canvas.addEventListener('wheel', (event) => {
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 300 : 1;
        const dx = event.deltaX * unit;
        const dy = event.deltaY * unit;
        if (event.ctrlKey || event.metaKey) {
            const place = placeIn(chart, event);
            chart.zoom(Math.exp(-Math.max(-200, Math.min(200, dy)) / 250), Math.max(0, (place.x - chart.gutter) / chart.plotWidth));
            event.preventDefault();
        } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
            chart.pan((dx || dy) / chart.plotWidth);
            event.preventDefault();
        } else if (chart.scrollBy(dy)) {
            event.preventDefault();
        }
    }, {passive: false});
}

function isTyping(target) {
    return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

// While a key is held the view goes on moving; the first step is taken at once.
function heldKeys(chart) {
    const moves = {
        w: (t) => chart.zoom(KEY_ZOOM ** t), s: (t) => chart.zoom(KEY_ZOOM ** -t),
        a: (t) => chart.pan(-KEY_PAN * t), d: (t) => chart.pan(KEY_PAN * t),
    };
    const held = new Set();
    let before = 0;
    let going = false;
    const go = (now) => {
        going = held.size > 0;
        if (!going)
            return;
        const passed = Math.min(50, now - before) / 80;
        before = now;
        for (const key of held)
            moves[key](passed);
        requestAnimationFrame(go);
    };
    const press = (key) => {
        if (!moves[key] || held.has(key))
            return Boolean(moves[key]);
        moves[key](1);
        held.add(key);
        setTimeout(() => {
            if (held.has(key) && !going) {
                going = true;
                before = performance.now();
                requestAnimationFrame(go);
            }
        }, 160);
        return true;
    };
    window.addEventListener('keyup', (event) => held.delete(event.key.toLowerCase()));
    window.addEventListener('blur', () => held.clear());
    return press;
}

function watchKeys(chart, actions) {
    const press = heldKeys(chart);
    const anywhere = {
        '/': actions.search, n: () => actions.next(1), p: () => actions.next(-1), f: actions.fitSelected, 0: actions.fit,
        '+': () => chart.zoom(KEY_ZOOM), '=': () => chart.zoom(KEY_ZOOM), '-': () => chart.zoom(1 / KEY_ZOOM),
        l: actions.launch, escape: actions.unselect, '?': actions.help,
    };
    const focused = {
        arrowleft: () => actions.step(-1), arrowright: () => actions.step(1),
        arrowup: () => actions.lane(-1), arrowdown: () => actions.lane(1), enter: actions.enter, ' ': actions.enter,
        pageup: () => chart.scrollBy(-chart.height / 2), pagedown: () => chart.scrollBy(chart.height / 2),
        home: () => actions.end(-1), end: () => actions.end(1),
    };
    document.addEventListener('keydown', (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]'))
            return;
        const key = event.key.toLowerCase();
        const own = document.activeElement === chart.canvas && focused[key];
        const action = own || anywhere[key];
        if (action)
            action();
        else if (!press(key))
            return;
        event.preventDefault();
    });
}

export function watchInput(chart, actions) {
    watchPointers(chart, actions);
    watchWheel(chart);
    watchKeys(chart, actions);
}
