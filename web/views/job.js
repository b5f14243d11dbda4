// The page of a distributed job: what the program prints, ranks as rows aligned in time with collectives as
// linked bars, and a heat map of ranks by steps.

import {element} from '../dom.js';
import {formatBytes, formatCount, formatDuration, formatTick} from '../format.js';
import {sectionTable} from './sections.js';

const ROW = 20; // pixels of a rank
const LABEL = 92; // pixels of its name
const RULER = 22;
const JOB_ROWS = 40; // more are scrolled

export function viewJob(page, host) {
    const of = (part) => page.job.sentences.filter((sentence) => sentence.part === part).map((sentence) => sentence.text);
    const paragraphs = (texts, name) => texts.map((text) => element('p', name ? {class: name} : {}, text));
    host.append(...paragraphs(of('head'), 'job-head'), ...paragraphs(of('straggler')), ...paragraphs(of('gains')));
    const findings = of('finding');
    if (findings.length)
        host.append(element('h3', {}, 'Findings'), element('ul', {class: 'job-findings'}, findings.map((text) => element('li', {}, text))));
    host.append(element('ul', {class: 'job-trust hint'}, of('trust').map((text) => element('li', {}, text))));
}

function canvasContext(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    return context;
}

function rankLabel(row) {
    return row.host ? `${row.rank} ${row.host}` : `rank ${row.rank}`;
}

// ---- ranks in time

// Bars are starts and lengths, one after another, in order.
function firstBar(bars, time) {
    let low = 0;
    let high = bars.length / 2;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (bars[2 * middle] + bars[2 * middle + 1] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

class RankChart {
    constructor(page, host) {
        this.page = page;
        this.job = page.job;
        this.view = {from: 0, to: this.job.time_ns};
        this.picked = null;
        this.members = this.listMembers();
        this.canvas = element('canvas', {class: 'job-ranks', tabindex: '0', role: 'img', 'aria-label': this.summary()});
        this.frame = element('div', {class: 'job-frame'}, this.canvas);
        this.details = element('p', {class: 'hint job-details', role: 'status'});
        host.append(this.legend(), this.frame, this.details);
        this.listen();
        new ResizeObserver(() => this.draw()).observe(this.frame);
        page.on('theme', () => this.draw());
        this.describe();
    }

    summary() {
        return `${formatCount(this.job.rows.length)} ranks over ${formatDuration(this.job.time_ns)}: computing, waiting and transfer.`;
    }

    // By row: the links that it takes part in, by start.
    listMembers() {
        const members = this.job.rows.map(() => []);
        this.job.links.forEach((link, index) => {
            for (let i = 0; i < link.members.length; i += 3)
                members[link.members[i]].push({index, start: link.members[i + 1], end: link.members[i + 1] + link.members[i + 2]});
        });
        members.forEach((list) => list.sort((a, b) => a.start - b.start));
        return members;
    }

    legend() {
        const entry = (name, text) => element('span', {class: 'job-key'}, element('i', {class: `job-swatch job-${name}`}), text);
        return element('p', {class: 'hint'}, entry('compute', 'computes'), entry('wait', 'waits for another rank'), entry('transfer', 'transfers'),
            'Lines join the ranks of a collective. Wheel with Ctrl or W and S zoom, drag or A and D move, 0 shows all.');
    }

    width() {
        return Math.max(320, this.frame.clientWidth);
    }

    x(time) {
        return LABEL + (time - this.view.from) / (this.view.to - this.view.from) * (this.width() - LABEL);
    }

    time(x) {
        return this.view.from + (x - LABEL) / (this.width() - LABEL) * (this.view.to - this.view.from);
    }

    setView(from, to) {
        const length = Math.min(Math.max(to - from, 1000), this.job.time_ns);
        const start = Math.min(Math.max(from, 0), this.job.time_ns - length);
        this.view = {from: start, to: start + length};
        this.draw();
    }

    zoom(factor, x = (this.width() + LABEL) / 2) {
        const at = this.time(x);
        this.setView(at - (at - this.view.from) * factor, at + (this.view.to - at) * factor);
    }

    pan(share) {
        const move = (this.view.to - this.view.from) * share;
        this.setView(this.view.from + move, this.view.to + move);
    }

    drawBars(context, bars, y, height, color, least) {
        context.fillStyle = color;
        let reached = -1;
        for (let i = firstBar(bars, this.view.from); 2 * i < bars.length && bars[2 * i] < this.view.to; i++) {
            const from = Math.max(this.x(bars[2 * i]), LABEL);
            const to = Math.max(this.x(bars[2 * i] + bars[2 * i + 1]), from + least);
            if (to <= reached)
                continue;
            context.fillRect(Math.max(from, reached), y, to - Math.max(from, reached), height);
            reached = to;
        }
    }

    drawRuler(context, width, height) {
        const span = this.view.to - this.view.from;
        const step = 10 ** Math.floor(Math.log10(span / 3)) || 1;
        const tick = span / step > 12 ? step * 5 : span / step > 6 ? step * 2 : step;
        context.fillStyle = this.page.color('faint');
        context.strokeStyle = this.page.color('grid');
        for (let time = Math.ceil(this.view.from / tick) * tick; time < this.view.to; time += tick) {
            const x = Math.round(this.x(time)) + 0.5;
            context.beginPath();
            context.moveTo(x, RULER);
            context.lineTo(x, height);
            context.stroke();
            if (x + 60 < width)
                context.fillText(formatTick(time, tick, this.view.to), x + 3, RULER / 2);
        }
    }

    // A line through the arrivals of a collective, from its first row to its last.
    drawLink(context, link, picked) {
        const points = [];
        for (let i = 0; i < link.members.length; i += 3)
            points.push([link.members[i], this.x(link.members[i + 1]), this.x(link.members[i + 1] + link.members[i + 2])]);
        points.sort((a, b) => a[0] - b[0]);
        const widest = Math.max(...points.map((point) => point[2] - point[1]));
        if (!picked && widest < 3)
            return;
        context.strokeStyle = this.page.color(picked ? 'picked' : 'arrow');
        context.lineWidth = picked ? 2 : 1;
        context.globalAlpha = picked ? 1 : 0.5;
        context.beginPath();
        for (const place of [1, 2])
            points.forEach((point, i) => {
                const x = Math.max(point[place], LABEL);
                const y = RULER + point[0] * ROW;
                if (i === 0)
                    context.moveTo(x, y + 3);
                else
                    context.lineTo(x, y + 3);
                context.lineTo(x, y + ROW - 4);
            });
        context.stroke();
        context.globalAlpha = 1;
        context.lineWidth = 1;
    }

    draw() {
        const width = this.width();
        const height = RULER + this.job.rows.length * ROW;
        const context = canvasContext(this.canvas, width, height);
        const color = this.page.color;
        context.fillStyle = color('lane');
        context.fillRect(0, 0, width, height);
        this.drawRuler(context, width, height);
        this.job.rows.forEach((row, i) => {
            const y = RULER + i * ROW;
            this.drawBars(context, row.communication, y + 3, ROW - 7, color('blocked'), 0.5);
            this.drawBars(context, row.transfer, y + 3, ROW - 7, color('communication'), 0.5);
            this.drawBars(context, row.compute, y + 3, ROW - 7, color('kernel'), 0.5);
            context.fillStyle = color('lane');
            context.fillRect(0, y, LABEL, ROW);
            context.fillStyle = color('ink-soft');
            context.fillText(rankLabel(row), 4, y + ROW / 2, LABEL - 8);
        });
        const shown = this.job.links.filter((link) => link.members[1] < this.view.to && link.members[1] + link.members[2] > this.view.from);
        if (shown.length < 400)
            shown.forEach((link) => this.drawLink(context, link, false));
        if (this.picked)
            this.drawLink(context, this.picked, true);
    }

    linkAt(x, y) {
        const row = Math.floor((y - RULER) / ROW);
        const list = this.members[row];
        if (!list || x < LABEL)
            return null;
        const time = this.time(x);
        const slack = (this.view.to - this.view.from) / (this.width() - LABEL) * 3;
        const found = list.filter((member) => member.start - slack <= time && member.end + slack >= time);
        return found.length ? this.job.links[found[0].index] : null;
    }

    describe() {
        const link = this.picked;
        const merged = this.job.shortest_ns > 0 ? ` Gaps below ${formatDuration(this.job.shortest_ns)} are closed.` : '';
        const left = this.job.links_left_out ? ` ${formatCount(this.job.links_left_out)} short collectives are not linked.` : '';
        this.details.textContent = link ?
            `${link.operation}${link.bytes ? `, ${formatBytes(link.bytes)}` : ''}: ${formatCount(link.members.length / 3)} ranks, rank ${link.last} arrives last, ${formatDuration(link.skew_ns)} after the first; transfer ${formatDuration(link.transfer_ns)}.` :
            `Point at a collective for its ranks.${merged}${left}`;
    }

    pick(link) {
        if (link === this.picked)
            return;
        this.picked = link;
        this.describe();
        this.draw();
    }

    listen() {
        let dragged = null;
        this.canvas.addEventListener('wheel', (event) => {
            if (!event.ctrlKey && !event.shiftKey)
                return;
            event.preventDefault();
            if (event.shiftKey)
                this.pan(Math.sign(event.deltaY || event.deltaX) * 0.1);
            else
                this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
        }, {passive: false});
        this.canvas.addEventListener('pointerdown', (event) => {
            dragged = {x: event.offsetX, from: this.view.from, to: this.view.to};
            this.canvas.setPointerCapture(event.pointerId);
        });
        this.canvas.addEventListener('pointermove', (event) => {
            if (!dragged) {
                this.pick(this.linkAt(event.offsetX, event.offsetY));
                return;
            }
            const move = (dragged.x - event.offsetX) / (this.width() - LABEL) * (dragged.to - dragged.from);
            this.setView(dragged.from + move, dragged.to + move);
        });
        this.canvas.addEventListener('pointerup', () => {
            dragged = null;
        });
        this.canvas.addEventListener('keydown', (event) => {
            const keys = {w: () => this.zoom(0.8), s: () => this.zoom(1.25), a: () => this.pan(-0.2), d: () => this.pan(0.2), 0: () => this.setView(0, this.job.time_ns)};
            const act = keys[event.key.toLowerCase()];
            if (act && !event.ctrlKey && !event.metaKey && !event.altKey) {
                event.preventDefault();
                act();
            }
        });
    }
}

export function viewRanks(page, host) {
    if (!page.job.rows.length || page.job.time_ns <= 0)
        return false;
    page.rankChart = new RankChart(page, host);
    if (page.job.rows.length > JOB_ROWS)
        page.rankChart.frame.style.maxHeight = `${RULER + JOB_ROWS * ROW}px`;
    page.rankChart.draw();
    return true;
}

// ---- the heat map

// Light to dark by how much longer than the fastest rank's step; the color-blind read it as brightness.
function heatColor(share) {
    const from = [233, 241, 250];
    const to = [140, 40, 20];
    return `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * Math.min(Math.max(share, 0), 1))).join(' ')})`;
}

export function viewHeat(page, host) {
    const {rows, steps, heat} = page.job;
    if (!steps.length)
        return false;
    const sorted = Float64Array.from(heat).sort();
    const low = sorted[0];
    const high = sorted[Math.floor((sorted.length - 1) * 0.99)];
    const canvas = element('canvas', {class: 'job-heat', role: 'img', 'aria-label': `Own time of ${formatCount(rows.length)} ranks in ${formatCount(steps.length)} steps, from ${formatDuration(low)} to ${formatDuration(sorted[sorted.length - 1])}.`});
    const frame = element('div', {class: 'job-frame'}, canvas);
    const details = element('p', {class: 'hint job-details', role: 'status'}, 'Point at a cell for its time; click it to see the step above.');
    const height = Math.max(4, Math.min(ROW, Math.floor(640 / rows.length)));
    const cell = () => Math.max(1, (Math.max(320, frame.clientWidth) - LABEL) / steps.length);
    const draw = () => {
        const context = canvasContext(canvas, LABEL + cell() * steps.length, rows.length * height);
        rows.forEach((row, r) => {
            for (let s = 0; s < steps.length; s++) {
                context.fillStyle = heatColor(high > low ? (heat[r * steps.length + s] - low) / (high - low) : 0);
                context.fillRect(LABEL + s * cell(), r * height, Math.ceil(cell()), height > 6 ? height - 1 : height);
            }
            context.fillStyle = page.color('ink-soft');
            if (height >= 11 || r % Math.ceil(11 / height) === 0)
                context.fillText(rankLabel(row), 4, r * height + height / 2, LABEL - 8);
        });
    };
    const place = (event) => {
        const r = Math.floor(event.offsetY / height);
        const s = Math.floor((event.offsetX - LABEL) / cell());
        return rows[r] && s >= 0 && s < steps.length ? {r, s} : null;
    };
    canvas.addEventListener('pointermove', (event) => {
        const at = place(event);
        if (at)
            details.textContent = `Rank ${rows[at.r].rank}, step ${at.s + 1}: ${formatDuration(heat[at.r * steps.length + at.s])} outside communication.`;
    });
    canvas.addEventListener('click', (event) => {
        const at = place(event);
        if (at && page.rankChart) {
            page.rankChart.setView(at.s ? steps[at.s - 1] : 0, steps[at.s]);
            document.getElementById('ranks').scrollIntoView();
        }
    });
    const scale = element('span', {class: 'job-scale', 'aria-hidden': 'true'});
    host.append(element('p', {class: 'hint'}, `Time outside communication: ${formatDuration(low)} `, scale, ` ${formatDuration(high)}. One row for each rank, one column for each step.`), frame, details);
    new ResizeObserver(draw).observe(frame);
    page.on('theme', draw);
    draw();
    return true;
}

export function viewJobTables(page, host) {
    host.append(...page.job.tables.filter((table) => table && table.rows).map(sectionTable));
    return host.childElementCount > 0;
}
