// Tables of the report, drawn as the program describes them (src/report/section_*.c): the CPU account, and
// every table that no other view shows.

import {element} from '../dom.js';
import {formatCount} from '../format.js';
import {asTable, fileName, traceLabel} from './parts.js';
import {dataTable, unitText} from './table.js';

// One table with its note and sentences.
export function sectionTable(table) {
    const columns = table.columns.map(({title, unit, is_name}, place) => {
        const write = unitText(unit);
        const known = (row) => row[place] !== null && row[place] !== false;
        return {
            key: String(place), title, number: Boolean(write), wide: is_name,
            value: (row) => known(row) ? row[place] : write ? NaN : '',
            text: (row) => row[place] === null ? '?' : row[place] === false ? '-' : write ? write(row[place]) : String(row[place]),
            share: unit === 'share' ? (row) => known(row) ? row[place] : NaN : null,
        };
    });
    const names = columns.findIndex((column) => column.wide);
    if (names > 0 && columns[0].number) // the name of a row comes first
        columns.unshift(...columns.splice(names, 1));
    const caption = `${table.title}${table.note ? `: ${table.note}` : ''}`;
    const made = element('div', {class: 'section-table'}, dataTable({caption, columns, rows: table.rows, sort: null}));
    const prose = table.sentences.filter((sentence) => !sentence.startsWith('|')); // no text art
    const sentences = table.more ? [`${formatCount(table.more)} more rows: ridge report --section ${table.part}.`, ...prose] : prose;
    made.append(...sentences.map((sentence) => element('p', {class: 'hint'}, sentence)));
    return made;
}

// The tables of a part: of the host, or of a device by its key.
export function tablesOf(page, trace, part, device) {
    const tables = device === undefined ? page.tables[trace].host : page.tables[trace].devices[device] || [];
    return tables.filter((table) => table.part === part);
}

function traceHeading(page, trace) {
    return page.traces.length > 1 ? [element('h3', {}, traceLabel(page, trace) + fileName(page.traces[trace].name))] : [];
}

export function viewCpu(page, host) {
    page.tables.forEach((_, trace) => {
        const tables = tablesOf(page, trace, 'cpu');
        if (tables.length)
            host.append(...traceHeading(page, trace), ...tables.map(sectionTable));
    });
    return host.childElementCount > 0;
}

// What other views show, as charts or tables of their own.
const SHOWN_PARTS = ['account', 'gaps', 'kernels', 'limits', 'copies', 'steps', 'cpu'];

export function viewTables(page, host) {
    page.tables.forEach(({host: ofHost, devices}, trace) => {
        const all = [...Object.entries(devices).flatMap(([key, tables]) => tables.map((table) => [key, table])), ...ofHost.map((table) => ['', table])]
            .filter(([, table]) => !SHOWN_PARTS.includes(table.part));
        if (!all.length)
            return;
        const several = Object.keys(devices).length > 1;
        host.append(...traceHeading(page, trace), ...all.map(([key, table]) =>
            asTable(`${table.title}${several && key ? ` of ${key}` : ''}: ${formatCount(table.rows.length + table.more)}`, () => sectionTable(table))));
    });
    return host.childElementCount > 0;
}
