// What the device computed: a table of its kernels, to sort, filter and find on the timeline.

import {element} from '../dom.js';
import {formatCount, formatDuration, formatPercent, formatRate} from '../format.js';
import {kernelLimits} from './kernel_limits.js';
import {bringTimeline, chooseSource, deviceSources, emptyNote} from './parts.js';
import {dataTable} from './table.js';

// Operations a second as "12.34 TFLOP/s"
export function formatFlops(rate, digits = 3) {
    return formatRate(rate, digits).replace('B/s', 'FLOP/s');
}

function spreadOf(row) {
    return `median ${formatDuration(row.median_ns)}, from ${formatDuration(row.min_ns)} to ${formatDuration(row.max_ns)}`;
}

function baseColumns() {
    return [
        {key: 'name', title: 'kernel', value: (row) => row.name, wide: true, hint: (row) => row.full_name},
        {key: 'total', title: 'total', number: true, value: (row) => row.total_ns, text: (row) => formatDuration(row.total_ns), about: 'sum of the durations'},
        {key: 'share', title: 'share', number: true, value: (row) => row.share, text: (row) => formatPercent(row.share), share: (row) => row.share,
            about: 'of the device’s summed kernel time'},
        {key: 'count', title: 'count', number: true, value: (row) => row.count, text: (row) => formatCount(row.count)},
        {key: 'mean', title: 'mean', number: true, value: (row) => row.mean_ns, text: (row) => formatDuration(row.mean_ns), hint: spreadOf},
    ];
}

function spreadColumns() {
    return [
        {key: 'median', title: 'median', number: true, value: (row) => row.median_ns, text: (row) => formatDuration(row.median_ns)},
        {key: 'min', title: 'min', number: true, value: (row) => row.min_ns, text: (row) => formatDuration(row.min_ns)},
        {key: 'max', title: 'max', number: true, value: (row) => row.max_ns, text: (row) => formatDuration(row.max_ns)},
    ];
}

// With so many columns of limits there is no room for the spread beside them: it is then in the hint
// of the mean, and in columns when asked for.
const LIMITS_BESIDE_SPREAD = 3;

const KERNEL_LIMIT_COLUMNS = [
    {key: 'roof', title: 'of roof', number: true, value: (row) => kernelLimits(row).roofShare,
        text: (row) => Number.isFinite(kernelLimits(row).roofShare) ? formatPercent(kernelLimits(row).roofShare) : '',
        share: (row) => kernelLimits(row).roofShare, about: 'time at the roof over the time it took'},
    {key: 'bound', title: 'bound by', value: (row) => kernelLimits(row).bound,
        hint: (row) => Number.isFinite(kernelLimits(row).intensity) ? `${kernelLimits(row).intensity.toPrecision(3)} FLOP a byte` : null},
    {key: 'bytes', title: 'moved', number: true, value: (row) => kernelLimits(row).byteRate,
        text: (row) => Number.isFinite(kernelLimits(row).byteRate) ? formatRate(kernelLimits(row).byteRate, 3) : ''},
    {key: 'flops', title: 'computed', number: true, value: (row) => kernelLimits(row).flopRate,
        text: (row) => Number.isFinite(kernelLimits(row).flopRate) ? formatFlops(kernelLimits(row).flopRate) : ''},
    {key: 'intensity', title: 'FLOP/B', number: true, lesser: true, value: (row) => kernelLimits(row).intensity,
        text: (row) => Number.isFinite(kernelLimits(row).intensity) ? kernelLimits(row).intensity.toPrecision(3) : ''},
    {key: 'occupancy', title: 'occupancy', number: true, value: (row) => row.occupancy ?? NaN,
        text: (row) => Number.isFinite(row.occupancy) ? formatPercent(row.occupancy) : '',
        hint: (row) => row.occupancy_limit ? `limited by ${row.occupancy_limit}` : null, about: 'theoretical: resident warps that the launches allow'},
];

function isKnown(value) {
    return typeof value === 'number' ? Number.isFinite(value) : Boolean(value);
}

export function viewKernels(page, host) {
    const sources = deviceSources(page).filter((source) => (source.device.kernels || []).length);
    if (!sources.length && page.traces.every((trace) => trace.activities.count === 0 && trace.samples.count + trace.ranges.count > 0))
        return false; // a recording of the host alone
    if (!sources.length) {
        host.append(emptyNote('No kernel ran in this trace.', 'Record the program with ridge run -- PROGRAM, or export it with GPU activities included.'));
        return;
    }
    chooseSource(host, 'device', sources, (source, place) => {
        const rows = source.device.kernels;
        const limits = KERNEL_LIMIT_COLUMNS.filter((column) => rows.some((row) => isKnown(column.value(row))));
        const table = (all) => dataTable({
            caption: `Kernels of ${source.title}: ${formatCount(rows.length)} ${rows.length === 1 ? 'name' : 'names'}`,
            columns: [...baseColumns(), ...limits.filter((column) => all || !column.lesser), ...(all ? spreadColumns() : [])],
            rows, sort: ['total', true], filter: 'Filter kernels by name',
            filterText: (row) => `${row.name}\n${row.full_name}`,
            onpick: (row) => {
                const found = page.find({trace: source.trace, kernel: row.name});
                page.announce(`${row.name}: ${formatCount(found ? found.count : 0)} on the timeline`);
                bringTimeline();
            },
        });
        const fits = limits.length < LIMITS_BESIDE_SPREAD;
        const framed = element('div', {}, table(fits));
        place.append(framed);
        if (fits)
            return;
        const more = element('button', {type: 'button', class: 'plain', 'aria-pressed': 'false', onclick: () => {
            const all = more.getAttribute('aria-pressed') === 'false';
            more.setAttribute('aria-pressed', String(all));
            framed.replaceChildren(table(all));
        }}, 'All columns');
        place.append(more);
    });
}
