// What the device computed: a table of its kernels, to sort, filter and find on the timeline.

import {element} from '../dom.js';
import {formatCount, formatDuration, formatPercent} from '../format.js';
import {kernelLimits} from './kernel_limits.js';
import {bringTimeline, chooseSource, deviceSources, emptyNote} from './parts.js';
import {dataTable, sectionColumns} from './table.js';

function spreadOf(row) {
    return `median ${formatDuration(row.median_ns)}, from ${formatDuration(row.min_ns)} to ${formatDuration(row.max_ns)}`;
}

const KERNEL_KEYS = ['name', 'total_ns', 'share', 'count', 'mean_ns'];
const SPREAD_KEYS = ['median_ns', 'min_ns', 'max_ns'];
const LIMIT_KEYS = ['of_roof', 'bound', 'bytes_per_s', 'flops_per_s', 'flops_per_byte'];
const KERNEL_MORE = {
    name: {hint: (row) => row.full_name},
    total_ns: {about: 'sum of the durations'},
    share: {share: (row) => row.share, about: 'of the device’s summed kernel time'},
    mean_ns: {hint: spreadOf},
    of_roof: {share: (row) => row.of_roof ?? NaN, about: 'time at the roof over the time it took'},
    bound: {value: (row) => kernelLimits(row).bound, text: (row) => kernelLimits(row).bound || '?'},
    flops_per_byte: {lesser: true},
};

// With so many columns of limits there is no room for the spread beside them: it is then in the hint
// of the mean, and in columns when asked for.
const LIMITS_BESIDE_SPREAD = 3;

const OCCUPANCY_COLUMN = {key: 'occupancy', title: 'occupancy', number: true, value: (row) => row.occupancy ?? NaN,
    text: (row) => Number.isFinite(row.occupancy) ? formatPercent(row.occupancy) : '?',
    hint: (row) => row.occupancy_limit ? `limited by ${row.occupancy_limit}` : null, about: 'theoretical: resident warps that the launches allow'};

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
        const limits = [...sectionColumns(page.sections.limits, LIMIT_KEYS, KERNEL_MORE), OCCUPANCY_COLUMN].filter((column) => rows.some((row) => isKnown(column.value(row))));
        const table = (all) => dataTable({
            caption: `Kernels of ${source.title}: ${formatCount(rows.length)} ${rows.length === 1 ? 'name' : 'names'}`,
            columns: [...sectionColumns(page.sections.kernels, KERNEL_KEYS, KERNEL_MORE), ...limits.filter((column) => all || !column.lesser),
                ...(all ? sectionColumns(page.sections.kernels, SPREAD_KEYS) : [])],
            rows, sort: ['total_ns', true], filter: 'Filter kernels by name',
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
