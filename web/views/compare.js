// Two traces side by side: what became of the time, of each kernel, and of the steps.

import {element} from '../dom.js';
import {formatCount, formatDuration} from '../format.js';
import {bringTimeline, fileName} from './parts.js';
import {dataTable} from './table.js';

// B against A: "0.52×", with what that means.
function ratioText(a, b) {
    return a > 0 && Number.isFinite(b) ? `${(b / a).toFixed(b / a < 10 ? 2 : 0)}×` : '';
}

function sumDevices(report, value) {
    return Object.values(report.devices || {}).reduce((sum, device) => sum + (value(device) || 0), 0);
}

// [name, value of a report, how it reads]
const COMPARED_FIGURES = [
    ['run', (report) => report.selection.wall_ns, formatDuration],
    ['device time', (report) => sumDevices(report, (device) => device.account.window_ns), formatDuration],
    ['busy', (report) => sumDevices(report, (device) => device.account.busy_ns), formatDuration],
    ['exposed copies', (report) => sumDevices(report, (device) => device.account.exposed_copy_ns), formatDuration],
    ['idle', (report) => sumDevices(report, (device) => device.account.idle_ns), formatDuration],
    ['kernels', (report) => report.totals.kernel_count, formatCount],
    ['kernel time', (report) => report.totals.kernel_sum_ns, formatDuration],
    ['mean kernel', (report) => report.totals.mean_kernel_ns, formatDuration],
    ['copies', (report) => report.totals.memcpy_count, formatCount],
    ['copy time', (report) => report.totals.memcpy_sum_ns, formatDuration],
    ['API calls', (report) => report.totals.api_call_count, formatCount],
    ['waits for the device', (report) => report.syncs.total_ns, formatDuration],
    ['median step', (report) => report.steps.median_ns, formatDuration],
];

function figureRows(reports) {
    const rows = [];
    COMPARED_FIGURES.forEach(([name, value, text], order) => {
        const [a, b] = reports.map((report) => {
            try {
                return value(report) ?? NaN;
            } catch {
                return NaN;
            }
        });
        if (a > 0 || b > 0)
            rows.push({name, a, b, text, order});
    });
    for (const cause of Object.keys(Object.values(reports[0].devices || {})[0]?.gaps?.causes || {})) {
        const [a, b] = reports.map((report) => sumDevices(report, (device) => device.gaps.causes[cause].time_ns));
        if (a > 0 || b > 0)
            rows.push({name: `idle: ${cause}`, a, b, text: formatDuration, order: 4 + rows.length / 1000});
    }
    return rows;
}

function kernelRows(reports) {
    const rows = new Map();
    reports.forEach((report, index) => {
        for (const device of Object.values(report.devices || {}))
            for (const kernel of device.kernels || []) {
                const row = rows.get(kernel.name) || {name: kernel.name, full_name: kernel.full_name, time: [0, 0], count: [0, 0]};
                row.time[index] += kernel.total_ns;
                row.count[index] += kernel.count;
                rows.set(kernel.name, row);
            }
    });
    return [...rows.values()];
}

function becameOf(row) {
    if (row.count[0] === 0)
        return 'only in B';
    if (row.count[1] === 0)
        return 'only in A';
    return ratioText(row.time[0], row.time[1]);
}

// Two bars on one scale.
function pairOfBars(a, b, most) {
    const bar = (value, kind) => {
        const made = element('i', {class: `pair-${kind}`});
        made.style.width = `${most > 0 ? Math.min(100, value / most * 100) : 0}%`;
        return made;
    };
    return element('span', {class: 'pair', 'aria-hidden': 'true'}, bar(a, 'a'), bar(b, 'b'));
}

export function viewCompare(page, host) {
    if (page.reports.length < 2)
        return false;
    const {reports} = page;
    const figures = figureRows(reports);
    const kernels = kernelRows(reports);
    const longest = kernels.reduce((most, row) => Math.max(most, row.time[0], row.time[1]), 0);
    host.append(element('p', {class: 'hint'}, element('b', {}, 'A'), ` ${fileName(page.traces[0].name)}, `, element('b', {}, 'B'), ` ${fileName(page.traces[1].name)}`));
    host.append(dataTable({
        caption: 'The whole', rows: figures, sort: ['order', false],
        columns: [
            {key: 'order', title: 'figure', value: (row) => row.order, text: (row) => row.name},
            {key: 'a', title: 'A', number: true, value: (row) => row.a, text: (row) => row.text(row.a)},
            {key: 'b', title: 'B', number: true, value: (row) => row.b, text: (row) => row.text(row.b)},
            {key: 'ratio', title: 'B / A', number: true, value: (row) => row.b / row.a, text: (row) => ratioText(row.a, row.b)},
            {key: 'bars', title: 'A above, B below', value: (row) => row.b / row.a, text: (row) => pairOfBars(row.a, row.b, Math.max(row.a, row.b))},
        ],
    }));
    if (!kernels.length)
        return;
    host.append(dataTable({
        caption: `Kernels, joined by name: ${formatCount(kernels.length)}`, rows: kernels, sort: ['change', true],
        filter: 'Filter kernels by name', filterText: (row) => `${row.name}\n${row.full_name}`,
        columns: [
            {key: 'name', title: 'kernel', value: (row) => row.name, wide: true, hint: (row) => row.full_name},
            {key: 'a', title: 'A', number: true, value: (row) => row.time[0], text: (row) => row.count[0] ? formatDuration(row.time[0]) : ''},
            {key: 'b', title: 'B', number: true, value: (row) => row.time[1], text: (row) => row.count[1] ? formatDuration(row.time[1]) : ''},
            {key: 'ratio', title: 'B / A', number: true, value: (row) => row.time[1] / row.time[0], text: becameOf},
            {key: 'change', title: 'change', number: true, value: (row) => Math.abs(row.time[1] - row.time[0]),
                text: (row) => (row.time[1] > row.time[0] ? '+' : '') + formatDuration(row.time[1] - row.time[0])},
            {key: 'counts', title: 'count', number: true, value: (row) => row.count[1], text: (row) => `${formatCount(row.count[0])} → ${formatCount(row.count[1])}`},
            {key: 'share', title: 'A above, B below', value: (row) => row.time[0] + row.time[1], text: (row) => pairOfBars(row.time[0], row.time[1], longest),
                about: 'on one scale'},
        ],
        onpick: (row) => {
            page.find({trace: row.count[0] ? 0 : 1, kernel: row.name});
            bringTimeline();
        },
    }));
}
