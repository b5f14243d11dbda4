// Where the time went: the program's lines, samples of the host's stacks, or its ranges, as a flame graph. A canvas, since
// there may be many frames; keys move through it and a table says the same.

import {isPause} from '../data.js';
import {element} from '../dom.js';
import {nameColor} from '../palette.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {hasLines, pythonModule, treeOfLines, treeOfPython, treeOfRanges, treeOfSamples} from './flame_tree.js';
import {asTable, bringTimeline, emptyNote, labeledSelect, traceLabel} from './parts.js';
import {dataTable} from './table.js';

const FLAME_ROW = 19;
const FLAME_LEAST_WIDTH = 0.6; // in pixels: narrower frames are not drawn
const FLAME_TALLEST = 640;

class FlameGraph {
    constructor(page) {
        this.page = page;
        this.canvas = element('canvas', {class: 'flame', tabindex: '0', role: 'application', 'aria-roledescription': 'flame graph',
            'aria-label': 'Flame graph: arrow keys move, Enter zooms, Escape zooms out, T finds on the timeline'});
        this.scroll = element('div', {class: 'flame-scroll'}, this.canvas);
        this.says = element('p', {class: 'flame-says', 'aria-live': 'polite'});
        this.host = element('div', {}, this.scroll, this.says);
        this.canvas.addEventListener('click', (event) => this.click(event));
        this.canvas.addEventListener('mousemove', (event) => this.hover(event));
        this.canvas.addEventListener('mouseleave', () => this.point(-1));
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        this.canvas.addEventListener('focus', () => this.say(this.focused));
        this.pointed = -1;
        page.on('theme', () => this.draw());
        new ResizeObserver(() => this.draw()).observe(this.scroll);
    }

    show(tree, trace) {
        this.tree = tree;
        this.trace = trace;
        this.zoomed = 0;
        this.focused = 0;
        this.pointed = -1;
        this.matches = null;
        this.draw();
        this.say(0);
    }

    words(node) {
        const {tree} = this;
        const amount = tree.unit === 'ns' ? formatDuration(tree.value[node]) : `${formatCount(tree.value[node])} samples`;
        const self = tree.unit === 'ns' ? formatDuration(tree.self[node]) : formatCount(tree.self[node]);
        const name = node === 0 ? 'everything' : tree.names[node];
        if (tree.idle)
            return `${name}: ${formatDuration(tree.value[node] - (tree.idle[node] || 0))} of device time, ${formatDuration(tree.idle[node] || 0)} idle before it; `
                + `${formatPercent(tree.value[node] / tree.value[0])} of all; ${formatCount(tree.count[node])} activities`;
        return `${name}: ${amount}, ${formatPercent(tree.value[node] / tree.value[0])} of all; ${self} self`
            + (node && tree.count[node] > 1 && tree.unit === 'ns' ? `; ${formatCount(tree.count[node])} times` : '');
    }

    say(node) {
        this.says.textContent = this.words(node < 0 ? this.focused : node);
    }

    point(node) {
        if (node === this.pointed)
            return;
        this.pointed = node;
        this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
        this.say(node);
        this.draw();
    }

    // Matching frames stand out, and their share is told; a frame inside a match counts once.
    search(text) {
        const {tree} = this;
        const wanted = text.toLowerCase();
        this.matches = null;
        let total = 0;
        let count = 0;
        if (wanted) {
            this.matches = new Uint8Array(tree.names.length); // 1: matches, 2: inside of one
            for (let node = 1; node < tree.names.length; node++) {
                const inside = this.matches[tree.parent[node]] > 0;
                const match = tree.names[node].toLowerCase().includes(wanted);
                this.matches[node] = match ? 1 : inside ? 2 : 0;
                count += match;
                if (match && !inside)
                    total += tree.value[node];
            }
        }
        this.draw();
        return wanted ? `${formatCount(count)} frames, ${formatPercent(total / tree.value[0])}` : '';
    }

    // A node's place in pixels: below the zoomed one to scale, above it the whole width.
    place(node) {
        const {tree, zoomed, width} = this;
        const scale = width / tree.value[zoomed];
        const left = Math.max(0, (tree.from[node] - tree.from[zoomed]) * scale);
        const right = Math.min(width, (tree.from[node] + tree.value[node] - tree.from[zoomed]) * scale);
        return [left, right];
    }

    draw() {
        const {tree, canvas} = this;
        if (!tree)
            return;
        this.width = this.scroll.clientWidth || 900;
        const height = (tree.deepest + 1) * FLAME_ROW + 1;
        const ratio = Math.min(window.devicePixelRatio || 1, 16000 / height);
        canvas.width = Math.round(this.width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.height = `${height}px`;
        this.scroll.style.maxHeight = `${FLAME_TALLEST}px`;
        const context = canvas.getContext('2d');
        context.scale(ratio, ratio);
        context.font = '12px system-ui, sans-serif';
        context.textBaseline = 'middle';
        this.colors = Array.from({length: 8}, (_, index) => this.page.color(`name-${index}`));
        this.inks = {ink: this.page.color('ink'), on: this.page.color('on-name') || '#111', line: this.page.color('card') || '#fff', mark: this.page.color('accent')};
        const path = [];
        for (let node = this.zoomed; node >= 0; node = tree.parent[node])
            path.push(node);
        for (const node of path.slice(1).reverse())
            this.drawFrame(context, node, true);
        const open = [this.zoomed];
        while (open.length) {
            const node = open.pop();
            this.drawFrame(context, node, false);
            for (const child of tree.children[node]) {
                const [left, right] = this.place(child);
                if (right - left < FLAME_LEAST_WIDTH)
                    break; // the next ones are narrower still
                open.push(child);
            }
        }
        this.drawEdge(context, this.focused, document.activeElement === canvas);
    }

    drawFrame(context, node, above) {
        const {tree, inks} = this;
        const [left, right] = this.place(node);
        const y = tree.depth[node] * FLAME_ROW;
        const faded = above || (this.matches && this.matches[node] === 0 && node > 0);
        context.globalAlpha = faded ? 0.35 : 1;
        context.fillStyle = node === 0 ? this.page.color('line') : this.colors[nameColor(tree.names[node])];
        const width = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
        if (tree.idle && node) { // device time from the left, then the idle time before it
            const busy = width * (1 - (tree.idle[node] || 0) / tree.value[node]);
            context.fillStyle = this.page.color('idle');
            context.fillRect(left, y, width, FLAME_ROW - 1);
            context.fillStyle = this.page.color('busy');
            context.fillRect(left, y, busy, 4);
        } else {
            context.fillRect(left, y, width, FLAME_ROW - 1);
        }
        context.globalAlpha = 1;
        if (right - left > 28) {
            context.fillStyle = node === 0 || faded || tree.idle ? inks.ink : inks.on;
            this.drawName(context, node === 0 ? 'everything' : tree.names[node], left + 4, y + FLAME_ROW / 2, right - left - 8);
        }
        if (node === this.pointed)
            this.drawEdge(context, node, true);
    }

    // As much of a name as fits, without measuring every letter.
    drawName(context, name, x, y, room) {
        let text = name.length > room / 3 ? name.slice(0, Math.ceil(room / 3)) : name;
        let size = context.measureText(text).width;
        while (size > room && text.length > 1) {
            text = text.slice(0, Math.max(1, Math.min(text.length - 1, Math.floor(text.length * room / size))));
            size = context.measureText(`${text}…`).width;
        }
        context.fillText(text.length < name.length ? `${text}…` : text, x, y);
    }

    drawEdge(context, node, strong) {
        if (!strong)
            return;
        const [left, right] = this.place(node);
        context.strokeStyle = this.inks.ink;
        context.lineWidth = 2;
        context.strokeRect(left + 1, this.tree.depth[node] * FLAME_ROW + 1, Math.max(1, right - left - 3), FLAME_ROW - 3);
    }

    at(event) {
        const {tree} = this;
        const box = this.canvas.getBoundingClientRect();
        const depth = Math.floor((event.clientY - box.top) / FLAME_ROW);
        const x = event.clientX - box.left;
        let node = this.zoomed;
        if (depth < tree.depth[node]) {
            while (tree.depth[node] > depth)
                node = tree.parent[node];
            return node;
        }
        while (tree.depth[node] < depth) {
            const next = tree.children[node].find((child) => {
                const [left, right] = this.place(child);
                return x >= left && x < right;
            });
            if (next === undefined)
                return -1;
            node = next;
        }
        return node;
    }

    zoom(node) {
        this.zoomed = node;
        this.focused = node;
        this.say(node);
        this.draw();
    }

    click(event) {
        const node = this.at(event);
        if (node >= 0)
            this.zoom(node === this.zoomed && node > 0 ? this.tree.parent[node] : node);
    }

    hover(event) {
        this.point(this.at(event));
    }

    find() {
        if (this.focused === 0)
            return;
        this.page.find({trace: this.trace, name: this.tree.names[this.focused].replace(/…$/, '')});
        bringTimeline();
    }

    beside(node, step) {
        const {tree} = this;
        const row = node > 0 ? tree.children[tree.parent[node]] : [0];
        return row[Math.min(row.length - 1, Math.max(0, row.indexOf(node) + step))];
    }

    key(event) {
        const {tree, focused} = this;
        const go = {
            ArrowDown: () => tree.children[focused].length ? tree.children[focused][0] : focused,
            ArrowUp: () => Math.max(0, tree.parent[focused]),
            ArrowLeft: () => this.beside(focused, -1),
            ArrowRight: () => this.beside(focused, 1),
            Home: () => 0,
        }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey)
            return;
        if (go) {
            this.focused = go();
            if (tree.depth[this.focused] < tree.depth[this.zoomed])
                this.zoomed = this.focused;
            const [left, right] = this.place(this.focused);
            if (right - left < FLAME_LEAST_WIDTH)
                this.zoomed = tree.parent[this.focused];
            this.say(this.focused);
            this.draw();
        } else if (event.key === 'Enter') {
            this.zoom(focused);
        } else if (event.key === 'Escape' && this.zoomed > 0) {
            this.zoom(tree.parent[this.zoomed]);
        } else if (event.key === 't' || event.key === 'T') {
            this.find();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

// What can be shown: {title, make()}, the threads of every trace with samples or ranges.
function flameChoices(page) {
    const choices = [];
    page.traces.forEach((trace, index) => {
        if (hasLines(trace))
            choices.push({title: `${traceLabel(page, index)}lines, by device time (blue) and idle time before it`, trace: index, make: () => treeOfLines(trace)});
        if (pythonModule(trace) && trace.samples.count)
            choices.push({title: `${traceLabel(page, index)}Python functions of all threads`, trace: index, make: () => treeOfPython(trace, 0)});
        for (const [table, words, make] of [[trace.samples, 'samples', treeOfSamples], [trace.ranges, 'ranges', treeOfRanges]]) {
            const counts = new Map();
            for (let i = 0; i < table.count; i++)
                if (table.thread[i] && !(table === trace.ranges && isPause(trace, i)))
                    counts.set(table.thread[i], (counts.get(table.thread[i]) || 0) + 1);
            if (counts.size > 1)
                choices.push({title: `${traceLabel(page, index)}${words} of all threads`, trace: index, make: () => make(trace, 0)});
            for (const [thread, count] of [...counts].sort((a, b) => b[1] - a[1]))
                choices.push({title: `${traceLabel(page, index)}${words} of ${(trace.threads[thread] || {}).label} (${formatCount(count)})`,
                    trace: index, make: () => make(trace, thread)});
        }
    });
    return choices;
}

function flameTable(tree) {
    const rows = new Map();
    for (let node = 1; node < tree.names.length; node++) {
        const row = rows.get(tree.names[node]) || {name: tree.names[node], self: 0, count: 0};
        row.self += tree.self[node];
        row.count += tree.count[node];
        rows.set(row.name, row);
    }
    const amount = (value) => tree.unit === 'ns' ? formatDuration(value) : formatCount(value);
    return dataTable({
        caption: 'By name, most self time first', rows: [...rows.values()], sort: ['self', true],
        columns: [
            {key: 'name', title: 'name', value: (row) => row.name, wide: true},
            {key: 'self', title: 'self', number: true, value: (row) => row.self, text: (row) => amount(row.self)},
            {key: 'share', title: 'share', number: true, value: (row) => row.self, text: (row) => formatPercent(row.self / tree.value[0]), share: (row) => row.self / tree.value[0]},
            {key: 'count', title: 'times', number: true, value: (row) => row.count, text: (row) => formatCount(row.count)},
        ],
    });
}

export function viewFlame(page, host) {
    const choices = flameChoices(page);
    if (!choices.length) {
        host.append(emptyNote('The trace has neither samples of the host’s stacks nor ranges.',
            'ridge record samples by default; NVTX, torch.profiler.record_function and ridge’s own ranges name the program’s parts.'));
        return;
    }
    const graph = new FlameGraph(page);
    const found = element('output', {class: 'filter-count'});
    const search = element('input', {type: 'search', placeholder: 'Search frames', 'aria-label': 'Search frames', autocomplete: 'off', spellcheck: 'false',
        oninput: () => {
            found.textContent = graph.search(search.value);
        }});
    const table = element('div', {});
    const choose = (index) => {
        const tree = choices[index].make();
        graph.show(tree, choices[index].trace);
        table.replaceChildren(asTable('As a table', () => flameTable(tree)));
        found.textContent = search.value ? graph.search(search.value) : '';
    };
    host.append(element('div', {class: 'view-bar'}, labeledSelect('show', choices.map((choice) => choice.title), choose), search, found,
        element('button', {type: 'button', class: 'plain', onclick: () => graph.zoom(0)}, 'Whole')), graph.host, table);
    choose(0);
}
