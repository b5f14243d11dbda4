// A table that sorts by any column, filters by text, and stays quick with any number of rows: beyond
// a few hundred only those in sight are in the document.

import {cutName, element} from '../dom.js';
import {formatBytes, formatCount, formatDuration, formatFlops, formatPercent, formatRate} from '../format.js';

const TABLE_WHOLE_ROWS = 200; // so many stand in the document at once
const TABLE_LOW_ROWS = 24; // with more it scrolls by itself
const TABLE_ROW_HEIGHT = 29; // as .data-table.tall has it
const TABLE_SPARE_ROWS = 12;

const UNIT_TEXTS = {
    count: formatCount, ns: formatDuration, bytes: formatBytes, bytes_per_s: formatRate, flop_per_s: formatFlops, share: formatPercent,
    factor: (value) => `${value.toPrecision(3)}x`, number: (value) => value >= 100 ? formatCount(value) : String(Number(value.toPrecision(3))),
};

// How quantities of a unit are written; undefined: as they are.
export function unitText(unit) {
    return UNIT_TEXTS[unit];
}

// Columns of a section of the report, by key; `more` has what only the page shows of one: hint, share, about.
export function sectionColumns(section, keys, more = {}) {
    return keys.map((key) => section.columns.find((column) => column.key === key)).filter(Boolean).map(({key, title, unit}) => {
        const write = UNIT_TEXTS[unit];
        const known = (row) => row[key] !== null && row[key] !== undefined;
        return {
            key, title, number: Boolean(write), wide: key === 'name',
            value: (row) => known(row) ? row[key] : write ? NaN : '',
            text: (row) => !known(row) ? '?' : write ? write(row[key]) : row[key],
            ...more[key],
        };
    });
}

function compareValues(a, b) {
    if (typeof a === 'number' || typeof b === 'number') {
        const known = Number(Number.isFinite(a)) - Number(Number.isFinite(b));
        return known || (Number.isFinite(a) ? a - b : 0);
    }
    return String(a).localeCompare(String(b));
}

function tableCell(column, row, first, onpick) {
    const text = column.text ? column.text(row) : column.value(row);
    const shown = text === null || text === undefined || text === '' ? '–' : text;
    const cell = element(first ? 'th' : 'td', {scope: first ? 'row' : null, class: column.number ? 'number' : column.wide ? 'wide' : null});
    const title = column.hint ? column.hint(row) : column.wide ? shown : null;
    if (title instanceof Node === false && title)
        cell.title = title;
    const content = column.wide && typeof shown === 'string' ? cutName(shown) : shown;
    if (first && onpick)
        cell.append(element('button', {type: 'button', class: 'row-button', onclick: () => onpick(row)}, content));
    else
        cell.append(content);
    if (column.share) {
        const share = column.share(row);
        if (Number.isFinite(share)) {
            const bar = element('span', {class: 'share-bar', 'aria-hidden': 'true'}, element('i', {}));
            bar.firstChild.style.width = `${Math.min(100, Math.max(0, share * 100))}%`;
            cell.append(bar);
        }
    }
    return cell;
}

// columns: [{key, title, about, value(row), text(row), number, wide, share(row), hint(row)}]; what
// `value` returns is sorted by, what `text` returns is shown. sort: [key, descending]; null: as the rows are.
// onpick(row): what a click on a row does. filter: the filter's label, to have one.
export function dataTable({caption, columns, rows, sort, onpick, filter, filterText}) {
    let [sortKey, descending] = sort || [sort === null ? null : columns[0].key, false];
    let shown = rows;
    const tall = rows.length > TABLE_WHOLE_ROWS;
    const body = element('tbody', {});
    const headings = new Map();
    const head = element('tr', {});
    const table = element('table', {class: tall ? 'data-table tall' : 'data-table', 'aria-rowcount': rows.length + 1},
        element('caption', {}, caption), element('thead', {}, head), body);
    const frame = element('div', {class: rows.length > TABLE_LOW_ROWS ? 'table-frame high' : 'table-frame', tabindex: '0', role: 'region', 'aria-label': caption}, table);
    const count = element('output', {class: 'filter-count'});

    const makeRow = (row, index) => {
        const made = element('tr', {class: onpick ? 'pickable' : null, 'aria-rowindex': index + 2});
        columns.forEach((column, place) => made.append(tableCell(column, row, place === 0, onpick)));
        if (onpick)
            made.addEventListener('click', (event) => {
                if (!event.target.closest('button') && !String(getSelection()))
                    onpick(row);
            });
        return made;
    };
    const spacer = (height) => {
        const made = element('tr', {class: 'spacer', 'aria-hidden': 'true'}, element('td', {colspan: columns.length}));
        made.firstChild.style.height = `${height}px`;
        return made;
    };
    const fill = () => {
        if (!tall) {
            body.replaceChildren(...shown.map(makeRow));
            return;
        }
        const first = Math.max(0, Math.floor(frame.scrollTop / TABLE_ROW_HEIGHT) - TABLE_SPARE_ROWS);
        const visible = Math.ceil((frame.clientHeight || 480) / TABLE_ROW_HEIGHT);
        const last = Math.min(shown.length, first + visible + 2 * TABLE_SPARE_ROWS);
        body.replaceChildren(spacer(first * TABLE_ROW_HEIGHT),
            ...shown.slice(first, last).map((row, index) => makeRow(row, first + index)),
            spacer((shown.length - last) * TABLE_ROW_HEIGHT));
    };
    const order = () => {
        const column = columns.find((one) => one.key === sortKey);
        const sign = descending ? -1 : 1;
        if (column)
            shown = shown.slice().sort((a, b) => sign * compareValues(column.value(a), column.value(b)));
        for (const [key, heading] of headings)
            heading.setAttribute('aria-sort', key !== sortKey ? 'none' : descending ? 'descending' : 'ascending');
        frame.scrollTop = 0;
        fill();
    };
    for (const column of columns) {
        const button = element('button', {type: 'button', title: column.about || null, onclick: () => {
            descending = sortKey === column.key ? !descending : Boolean(column.number);
            sortKey = column.key;
            order();
        }}, column.title);
        const heading = element('th', {scope: 'col', class: column.number ? 'number' : null}, button);
        headings.set(column.key, heading);
        head.append(heading);
    }
    if (tall)
        frame.addEventListener('scroll', fill, {passive: true});
    order();
    if (!filter)
        return frame;

    const input = element('input', {type: 'search', placeholder: filter, 'aria-label': filter, autocomplete: 'off', spellcheck: 'false'});
    input.addEventListener('input', () => {
        const wanted = input.value.toLowerCase();
        shown = rows.filter((row) => filterText(row).toLowerCase().includes(wanted));
        count.textContent = wanted ? `${formatCount(shown.length)} of ${formatCount(rows.length)}` : '';
        order();
    });
    return element('div', {class: 'table-with-filter'}, element('div', {class: 'view-bar'}, input, count), frame);
}
