// What several views are made of: the sentence for an empty one, the choice of a trace's device, a
// chart that follows the width of the page, moving along marks with the arrow keys.

import {element, clearElement} from '../dom.js';

// Why there is nothing to see, and how to get it.
export function emptyNote(why, how) {
    return element('p', {class: 'empty-note'}, why, how ? ' ' : null, how ? element('span', {class: 'empty-how'}, how) : null);
}

// In front of what belongs to one of two traces.
export function traceLabel(page, trace) {
    return page.traces.length > 1 ? `${trace === 0 ? 'A' : 'B'} · ` : '';
}

export function fileName(path) {
    return path.replace(/^.*\//, '') || path;
}

export function deviceTitle(key, device) {
    return device.name && device.name !== key ? `${key} · ${device.name}` : `device ${key}`;
}

// Every device that did something in any of the traces: {trace, key, device, title}.
export function deviceSources(page) {
    const sources = [];
    page.reports.forEach((report, trace) => {
        for (const [key, device] of Object.entries(report.devices || {}))
            sources.push({trace, key, device, title: traceLabel(page, trace) + deviceTitle(key, device)});
    });
    return sources;
}

// The id of a report's device in the decoded trace; 0: it is not there.
export function deviceIdOf(trace, key) {
    return Math.max(0, trace.devices.findIndex((device) => device && device.key === key));
}

// A labeled choice; none when there is nothing to choose.
export function labeledSelect(label, titles, onchange) {
    const select = element('select', {onchange: () => onchange(select.selectedIndex)});
    for (const title of titles)
        select.append(element('option', {}, title));
    const made = element('label', {class: 'choice'}, element('span', {}, label), select);
    made.hidden = titles.length < 2;
    return made;
}

// Calls show(source, place) for the first source, and again for whichever is chosen.
export function chooseSource(host, label, sources, show) {
    const place = element('div', {});
    const choose = (index) => {
        clearElement(place);
        show(sources[index], place);
    };
    if (sources.length > 1)
        host.append(element('div', {class: 'view-bar'}, labeledSelect(label, sources.map((source) => source.title), choose)));
    host.append(place);
    choose(0);
}

// draw(width) returns the element to show; it is called again when the width changes.
export function followWidth(host, draw) {
    let drawn = 0;
    const redraw = () => {
        const width = Math.round(host.clientWidth) || 900;
        if (width === drawn)
            return;
        drawn = width;
        host.replaceChildren(draw(width));
    };
    redraw();
    new ResizeObserver(redraw).observe(host);
    return () => {
        drawn = 0;
        redraw();
    };
}

// One stop of the tab key for a row of marks; arrows, Home and End move along it.
export function moveWithArrows(marks) {
    marks.forEach((mark, index) => {
        mark.setAttribute('tabindex', index === 0 ? '0' : '-1');
        mark.addEventListener('keydown', (event) => {
            const step = {ArrowRight: 1, ArrowLeft: -1, Home: -marks.length, End: marks.length}[event.key];
            if (!step || event.ctrlKey || event.altKey || event.metaKey)
                return;
            const next = marks[Math.min(marks.length - 1, Math.max(0, index + step))];
            mark.setAttribute('tabindex', '-1');
            next.setAttribute('tabindex', '0');
            next.focus();
            event.preventDefault();
            event.stopPropagation();
        });
    });
}

// A mark that acts as a button: by click, Enter and space.
export function actAsButton(mark, label, act) {
    mark.setAttribute('role', 'button');
    mark.setAttribute('aria-label', label);
    mark.addEventListener('click', act);
    mark.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ')
            return;
        event.preventDefault();
        event.stopPropagation();
        act();
    });
}

// Brings the timeline into sight: what a view points at is shown there.
export function bringTimeline() {
    const timeline = document.getElementById('timeline');
    if (timeline)
        timeline.scrollIntoView({block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
}

// A row of small figures with their names: [['peak', '2.8 GB', 'at 12 ms'], …]
export function figureRow(figures) {
    const row = element('dl', {class: 'figures'});
    for (const [name, value, remark] of figures)
        row.append(element('div', {}, element('dt', {}, name), element('dd', {}, value, remark ? element('small', {}, remark) : null)));
    return row;
}

// A table or the like behind a chart, for who cannot or would not read the picture.
export function asTable(title, makeContent) {
    const details = element('details', {class: 'as-table'}, element('summary', {}, title));
    details.addEventListener('toggle', () => {
        if (details.open && details.childElementCount === 1)
            details.append(makeContent());
    });
    return details;
}
