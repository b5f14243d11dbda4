// Where each device's time went: a bar that divides when clicked, as far down as the trace tells.

import {cutName, element, svg} from '../dom.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {causeFill, causePatterns, causeSwatch} from './cause_patterns.js';
import {accountTree} from './account_parts.js';
import {bringTimeline, deviceSources, emptyNote, moveWithArrows} from './parts.js';

const ACCOUNT_LABEL_SHARE = 0.02; // a narrower part has no words in it

let accountCount = 0;

function partSwatch(part) {
    if (part.cause !== undefined)
        return causeSwatch(part.cause);
    const swatch = element('span', {class: 'swatch', 'aria-hidden': 'true'});
    swatch.style.background = part.fill;
    return swatch;
}

function paintPart(button, part, prefix) {
    button.style.background = part.fill;
    if (part.cause === undefined)
        return;
    button.append(svg('svg', {class: 'part-pattern', width: '100%', height: '100%', 'aria-hidden': 'true'}, causePatterns(prefix, part.cause),
        svg('rect', {width: '100%', height: '100%', fill: causeFill(prefix, part.cause)})));
}

function showPart(page, part) {
    if (!part.find)
        return;
    const found = page.find(part.find);
    page.announce(found && found.count ? `${formatCount(found.count)} on the timeline` : 'not on the timeline');
    bringTimeline();
}

// The piece between a part and the bar that it divides into.
function accountFunnel(from, to) {
    return svg('svg', {class: 'funnel', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        svg('path', {d: `M${from * 100} 0L0 10H100L${to * 100} 0Z`}));
}

function partRow(page, part, sum, whole, open) {
    const opens = Boolean(part.parts);
    const act = opens ? open : part.find ? () => showPart(page, part) : null;
    const name = act ? element('button', {type: 'button', class: 'row-button', onclick: act}, cutName(part.name)) : cutName(part.name);
    return element('tr', {},
        element('th', {scope: 'row', title: part.full || part.name}, element('span', {class: 'part-name'}, partSwatch(part), name,
            opens ? element('span', {class: 'more', 'aria-hidden': 'true'}, '▸') : null)),
        element('td', {class: 'number'}, formatDuration(part.time)),
        element('td', {class: 'number'}, formatPercent(part.time / sum)),
        element('td', {class: 'number'}, formatPercent(part.time / whole)),
        element('td', {class: 'number faint'}, `${formatCount(part.time)} ns`),
        element('td', {class: 'faint about-part'}, part.about || ''));
}

function partTable(page, title, parts, whole, open) {
    const sum = parts.reduce((total, part) => total + part.time, 0);
    return element('div', {class: 'table-frame'}, element('table', {class: 'data-table parts'},
        element('caption', {}, title),
        element('thead', {}, element('tr', {}, ['part', 'time', 'share', 'of all', 'exactly', ''].map((name, index) =>
            element('th', {scope: 'col', class: index > 0 && index < 5 ? 'number' : null}, name)))),
        element('tbody', {}, parts.map((part, index) => partRow(page, part, sum, whole, () => open(index))))));
}

// One bar of the division: `parts` side by side.
function partBar(parts, chosen, label, prefix, open) {
    const sum = parts.reduce((total, part) => total + part.time, 0);
    const bar = element('div', {class: 'account-bar', role: 'group', 'aria-label': label});
    const buttons = parts.map((part, index) => {
        const share = part.time / sum;
        const words = `${part.name}: ${formatDuration(part.time)}, ${formatPercent(share)}`;
        const button = element('button', {type: 'button', class: 'part', title: words, 'aria-label': words,
            'aria-expanded': part.parts ? String(index === chosen) : null, onclick: () => open(index)});
        button.style.flex = `${share} 1 0`;
        paintPart(button, part, `${prefix}-${index}`);
        if (share >= ACCOUNT_LABEL_SHARE)
            button.append(element('span', {class: 'part-words'}, element('b', {}, part.name), element('span', {}, formatPercent(share))));
        bar.append(button);
        return button;
    });
    moveWithArrows(buttons);
    return bar;
}

// A device's bars, one below the other along `path`: which part of each level is divided.
class AccountOfDevice {
    constructor(page, source, opened) {
        this.page = page;
        this.source = source;
        this.prefix = `account-${++accountCount}`;
        this.path = [];
        this.tree = accountTree(page, source);
        if (opened)
            this.path.push(this.longest());
        this.host = element('div', {class: 'account'});
        this.host.addEventListener('keydown', (event) => {
            if (event.key !== 'Escape' || !this.path.length)
                return;
            const [level, index] = [this.path.length - 1, this.path[this.path.length - 1]];
            this.path.pop();
            this.draw(level, index);
            event.stopPropagation();
        });
        this.draw();
    }

    open(level, parts, index) {
        const part = parts[index];
        if (!part.parts) {
            showPart(this.page, part);
            return;
        }
        const close = this.path[level] === index;
        this.path.length = level;
        if (!close)
            this.path.push(index);
        this.draw(level, index);
        this.page.announce(close ? `${part.name} closed` : `${part.name} divided into ${part.parts().length} parts`);
    }

    draw(focusLevel = -1, focusIndex = 0) {
        const {account} = this.source.device;
        const made = [element('div', {class: 'account-title'}, element('h3', {}, this.source.title),
            element('span', {class: 'faint'}, `${formatDuration(account.window_ns)} from its first activity to its last; ${formatPercent(account.utilisation)} busy`))];
        let parent = this.tree;
        let parts = parent.parts();
        let focus = null;
        for (let level = 0; ; level++) {
            const chosen = this.path[level];
            const here = parts;
            const bar = partBar(here, chosen, `${parent.name} of ${this.source.title}`, `${this.prefix}-${level}`, (index) => this.open(level, here, index));
            made.push(bar);
            if (level === focusLevel)
                focus = bar.children[focusIndex];
            const divided = chosen === undefined ? null : parts[chosen];
            const below = divided ? divided.parts() : [];
            if (!divided || !below.length) {
                made.push(partTable(this.page, level === 0 ? 'the whole' : this.names().join(' › '), parts, account.window_ns, (index) => this.open(level, here, index)));
                if (parent.remark)
                    made.push(element('p', {class: 'faint'}, `${parent.remark[0]} ${formatDuration(parent.remark[1])}.`));
                break;
            }
            const sum = parts.reduce((total, part) => total + part.time, 0);
            const before = parts.slice(0, chosen).reduce((total, part) => total + part.time, 0);
            made.push(accountFunnel(before / sum, (before + divided.time) / sum));
            parent = divided;
            parts = below;
        }
        this.host.replaceChildren(...made);
        if (focus)
            focus.focus({preventScroll: true});
    }

    longest() {
        const parts = this.tree.parts();
        return parts.indexOf(parts.reduce((a, b) => b.time > a.time ? b : a));
    }

    names() {
        const names = [];
        let parts = this.tree.parts();
        for (const index of this.path) {
            names.push(parts[index].name);
            parts = parts[index].parts();
        }
        return names;
    }
}

export function viewAccount(page, host) {
    const sources = deviceSources(page).filter((source) => source.device.account && source.device.account.window_ns > 0);
    if (!sources.length) {
        const hostTold = page.traces.some((trace) => trace.samples.count || trace.ranges.count);
        host.append(emptyNote('No device activity was recorded, so there is no device time to divide.',
            hostTold ? 'Where the host’s time went is in the flame graph.' : 'ridge doctor says what can be recorded on this machine.'));
        return;
    }
    host.append(element('p', {class: 'hint'}, 'Click a part to divide it: busy into kernels, idle into its causes and those into the host’s own code.'));
    sources.forEach((source, index) => host.append(new AccountOfDevice(page, source, index === 0).host));
}
