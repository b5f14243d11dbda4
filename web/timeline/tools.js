// What stands around the timeline's canvas: its tools, the shift of a second trace, the legend of
// causes, and the table that stands for the picture.

import {element} from '../dom.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {CAUSES, themeColor} from '../palette.js';
import {eventName} from './events.js';
import {makePattern} from './fills.js';

export function makeTools(actions) {
    const button = (text, label, action) => element('button', {type: 'button', 'aria-label': label, title: label, onclick: action}, text);
    const search = element('input', {type: 'search', id: 'search', placeholder: 'Search names  ( / )', 'aria-label': 'Search names on the timeline',
        spellcheck: 'false', autocomplete: 'off'});
    const found = element('output', {class: 'found', for: 'search'});
    const bar = element('div', {class: 'tools-row', role: 'toolbar', 'aria-label': 'Timeline'}, search,
        button('↑', 'Previous match (P)', () => actions.next(-1)), button('↓', 'Next match (N)', () => actions.next(1)), found,
        element('span', {class: 'spring'}),
        button('−', 'Zoom out (S)', () => actions.zoomBy(0.6)), button('+', 'Zoom in (W)', () => actions.zoomBy(1.6)),
        button('Fit', 'Show the run (0)', actions.fit));
    search.addEventListener('input', () => actions.searchFor(search.value, false));
    search.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') {
            actions.next(event.shiftKey ? -1 : 1);
            event.preventDefault();
        } else if (event.key === 'Escape') {
            search.value = '';
            actions.searchFor('', false);
            actions.focus();
        }
    });
    return {bar, search, found};
}

// How far trace B is moved against trace A.
export function makeShift(chart, actions) {
    const unit = 10 ** Math.floor(Math.log10(Math.max(1, chart.page.traces[1].span.to - chart.page.traces[1].span.from)) - 2);
    const input = element('input', {type: 'number', id: 'shift', step: String(unit / 1e6), value: '0', 'aria-label': 'Move trace B by milliseconds'});
    input.addEventListener('input', () => actions.shift(Number(input.value) * 1e6));
    return element('div', {class: 'tools-row'}, element('span', {}, `A: ${chart.page.traces[0].title}`), element('span', {}, `B: ${chart.page.traces[1].title}`),
        element('label', {for: 'shift'}, 'B later by '), input, ' ms',
        element('button', {type: 'button', onclick: () => {
            input.value = '0';
            actions.shift(0);
        }}, 'Both from their start'));
}

export function makeLegend(page, chart) {
    const used = new Set();
    for (const trace of page.traces)
        for (let i = 0; i < trace.gaps.count && used.size < CAUSES.length; i++)
            used.add(Math.min(CAUSES.length - 1, trace.gaps.cause[i]));
    const swatches = [];
    const items = CAUSES.filter((_, i) => used.has(i)).map((cause) => {
        const swatch = element('canvas', {width: 28, height: 14, 'aria-hidden': 'true'});
        swatches.push([swatch, cause]);
        return element('li', {title: cause.text}, swatch, cause.name);
    });
    const paint = () => {
        for (const [swatch, cause] of swatches) {
            const context = swatch.getContext('2d');
            const color = themeColor(cause.color);
            context.fillStyle = cause.pattern === 'plain' ? color : makePattern(context, color, chart.colors.lane, cause.pattern);
            context.fillRect(0, 0, 28, 14);
        }
    };
    const list = items.length ? element('ul', {class: 'legend', 'aria-label': 'Why a device was idle'}, element('li', {class: 'hint'}, 'idle:'), items) : null;
    return {list, paint};
}

// The picture as a table, for those who cannot see it.
export function makeTable(chart) {
    const rows = chart.groups.flatMap((group) => group.tracks.map((track) => {
        const events = track.lanes.reduce((sum, lane) => sum + lane.count, 0);
        const top = track.lanes.find((lane) => lane.kind === 'activity' || lane.kind === 'gap') || track.lanes.reduce((a, b) => a.sums[a.count] >= b.sums[b.count] ? a : b);
        const span = group.trace.span.to - group.trace.span.from;
        const longest = top.count ? eventName(top.trace, top.table, top.rows[longestAt(top)]) : '';
        const hidden = track.lanes.reduce((sum, lane) => sum + (lane.hidden || 0), 0);
        const shown = hidden ? `${formatCount(events)} and ${formatCount(hidden)} too deep to be drawn` : formatCount(events);
        return element('tr', {}, element('th', {scope: 'row'}, `${group.title}: ${track.label}`),
            element('td', {}, shown), element('td', {}, formatDuration(top.sums[top.count])),
            element('td', {}, formatPercent(top.sums[top.count] / span)), element('td', {}, longest.slice(0, 120)));
    }));
    return element('details', {class: 'as-table'}, element('summary', {}, 'The timeline as a table'),
        element('div', {class: 'scrolls'}, element('table', {}, element('caption', {class: 'unseen'}, 'Lanes of the timeline'),
            element('thead', {}, element('tr', {}, ['lane', 'events', 'time', 'of the span', 'longest'].map((text) => element('th', {scope: 'col'}, text)))),
            element('tbody', {}, rows))));
}

function longestAt(lane) {
    let best = 0;
    for (let i = 1; i < lane.count; i++)
        if (lane.ends[i] - lane.starts[i] > lane.ends[best] - lane.starts[best])
            best = i;
    return best;
}
