// How near to what the device can do is each kernel? Operations a second over operations a byte, with
// the device's roofs; a dot's area is the time that the kernel takes.

import {element, svg} from '../dom.js';
import {nameColor} from '../palette.js';
import {formatCount, formatDuration, formatFlops, formatPercent, formatRate} from '../format.js';
import {chartFrame, decadesAround, leastOf, mostOf, powerTicks, shortTick, withTitle} from './chart.js';
import {deviceLimits, kernelLimits} from './kernel_limits.js';
import {actAsButton, asTable, bringTimeline, chooseSource, deviceSources, emptyNote, followWidth, moveWithArrows} from './parts.js';
import {dataTable, sectionColumns} from './table.js';

const NAMED_DOTS = 8;
const SLOPES = {memory_copy: 'memory', cache_copy: 'cache'};
const CEILINGS = {
    f32: 'f32', f16: 'f16', bf16: 'bf16',
    matrix_f32: 'f32 matrix units', matrix_f16: 'f16 matrix units', matrix_bf16: 'bf16 matrix units',
};

function placeable(kernel) {
    const limits = kernelLimits(kernel);
    return limits.intensity > 0 && limits.flopRate > 0;
}

function dotWords(kernel) {
    const limits = kernelLimits(kernel);
    const roof = Number.isFinite(limits.roofShare) ? `, ${formatPercent(limits.roofShare)} of its roof` : '';
    return `${kernel.name}: ${formatFlops(limits.flopRate)} at ${limits.intensity.toPrecision(3)} FLOP/B${roof}; ${formatDuration(kernel.total_ns)}, ${formatPercent(kernel.share)}`;
}

// The slopes end where they meet the highest ceiling; names stand along them.
function drawRoofs(frame, slopes, ceilings, range) {
    const highest = Math.max(...ceilings.map((roof) => roof.rate), 0) || range.y[1];
    for (const roof of slopes) {
        const end = Math.min(range.x[1], highest / roof.rate);
        const start = Math.max(range.x[0], range.y[0] / roof.rate);
        if (end <= start)
            continue;
        frame.plot.append(svg('line', {class: 'roof', x1: frame.x(start), y1: frame.y(start * roof.rate), x2: frame.x(end), y2: frame.y(end * roof.rate)}));
        const angle = Math.atan2(frame.y(end * roof.rate) - frame.y(start * roof.rate), frame.x(end) - frame.x(start)) * 180 / Math.PI;
        const at = start * (end / start) ** 0.12;
        frame.plot.append(svg('text', {class: 'roof-name', transform: `translate(${frame.x(at)} ${frame.y(at * roof.rate) - 6}) rotate(${angle})`},
            `${SLOPES[roof.key]} ${formatRate(roof.rate, 3)}${roof.source ? `, ${roof.source}` : ''}`));
    }
    const steepest = Math.max(...slopes.map((roof) => roof.rate), 0);
    for (const roof of ceilings) {
        const start = steepest ? Math.max(range.x[0], roof.rate / steepest) : range.x[0];
        frame.plot.append(svg('line', {class: 'roof', x1: frame.x(Math.min(start, range.x[1])), y1: frame.y(roof.rate), x2: frame.right, y2: frame.y(roof.rate)}));
    }
    let last = -Infinity;
    for (const roof of ceilings.slice().sort((a, b) => b.rate - a.rate)) {
        const y = Math.max(frame.y(roof.rate) - 5, last + 13);
        last = y;
        frame.plot.append(svg('text', {class: 'roof-name', x: frame.right - 4, y, 'text-anchor': 'end'},
            `${CEILINGS[roof.key]} ${formatFlops(roof.rate)}${roof.source ? `, ${roof.source}` : ''}`));
    }
}

// The names of the longest kernels beside their dots, as far as they do not stand on each other.
function dotNames(frame, kernels, most) {
    const names = [];
    const taken = [];
    for (const kernel of kernels.slice().sort((a, b) => b.total_ns - a.total_ns).slice(0, NAMED_DOTS)) {
        const limits = kernelLimits(kernel);
        const radius = dotRadius(kernel, most);
        const y = frame.y(limits.flopRate) + 4;
        const left = frame.x(limits.intensity) > (frame.left + frame.right) * 0.6;
        const x = frame.x(limits.intensity) + (left ? -radius - 5 : radius + 5);
        if (taken.some((other) => Math.abs(other.y - y) < 14 && Math.abs(other.x - x) < 260))
            continue;
        taken.push({x, y});
        const name = kernel.name.length > 34 ? `${kernel.name.slice(0, 33)}…` : kernel.name;
        names.push(svg('text', {class: 'roof-name dot-name', x, y, 'text-anchor': left ? 'end' : 'start', 'aria-hidden': 'true'}, name));
    }
    return names;
}

function dotRadius(kernel, most) {
    return Math.max(3.5, 22 * Math.sqrt(kernel.total_ns / most));
}

function rooflineChart(page, source, kernels, roofs, width) {
    const slopes = roofs.filter((roof) => SLOPES[roof.key]);
    const ceilings = roofs.filter((roof) => CEILINGS[roof.key]);
    const intensity = (kernel) => kernelLimits(kernel).intensity;
    const rate = (kernel) => kernelLimits(kernel).flopRate;
    const ridges = ceilings.flatMap((ceiling) => slopes.map((slope) => ceiling.rate / slope.rate));
    const range = {
        x: decadesAround(leastOf(kernels, intensity, Math.min(...ridges, 1)), mostOf(kernels, intensity, Math.max(...ridges, 10))),
        y: decadesAround(leastOf(kernels, rate, leastOf(ceilings, (roof) => roof.rate / 10)), mostOf(kernels, rate, mostOf(ceilings, (roof) => roof.rate))),
    };
    const frame = chartFrame({
        width, height: Math.min(520, Math.max(320, width * 0.5)), left: 96,
        label: `Roofline of ${source.title}: ${kernels.length} kernels`,
        x: {from: range.x[0], to: range.x[1], log: true, ticks: powerTicks(...range.x, 8), text: (tick) => String(Number(tick.toPrecision(1))), title: 'FLOP a byte'},
        y: {from: range.y[0], to: range.y[1], log: true, ticks: powerTicks(...range.y, 8), text: (tick) => shortTick(formatFlops(tick))},
    });
    drawRoofs(frame, slopes, ceilings, range);
    const most = mostOf(kernels, (kernel) => kernel.total_ns);
    const dots = kernels.slice().sort((a, b) => b.total_ns - a.total_ns).map((kernel) => {
        const limits = kernelLimits(kernel);
        const dot = svg('circle', {class: 'dot', cx: frame.x(limits.intensity), cy: frame.y(limits.flopRate),
            r: dotRadius(kernel, most), fill: `var(--name-${nameColor(kernel.name)})`, stroke: 'var(--card)'});
        actAsButton(dot, dotWords(kernel), () => {
            page.find({trace: source.trace, kernel: kernel.name});
            bringTimeline();
        });
        return withTitle(dot, dotWords(kernel));
    });
    moveWithArrows(dots);
    frame.plot.append(...dots, ...dotNames(frame, kernels, most));
    return frame.root;
}

function lackNote(device) {
    const lacking = device.kernels.filter((kernel) => !placeable(kernel));
    if (!lacking.length)
        return element('p', {class: 'faint'}, 'Every kernel is in the picture.');
    const share = lacking.reduce((sum, kernel) => sum + kernel.share, 0);
    const some = lacking.slice(0, 3).map((kernel) => kernel.name).join(', ');
    return element('p', {class: 'faint'}, `${formatCount(lacking.length)} of ${formatCount(device.kernels.length)} kernels (${formatPercent(share)} of kernel time) are not in it: `
        + `their operations and bytes are unknown. The longest: ${some}${lacking.length > 3 ? ' …' : '.'}`);
}

function showRoofline(page, source, place) {
    const kernels = source.device.kernels.filter(placeable);
    const roofs = deviceLimits(source.device);
    if (!kernels.length) {
        place.append(emptyNote('The trace tells of no kernel how many operations it does and bytes it moves, so none can be placed.',
            'With torch.profiler use record_shapes=True; kernels of ridge’s own runtime are always known.'));
        return;
    }
    if (!roofs.some((roof) => SLOPES[roof.key] || CEILINGS[roof.key]))
        place.append(emptyNote('The roofs of this device are not known.', 'ridge peaks measures them on the machine; recordings made there afterwards carry them.'));
    const chart = element('div', {class: 'chart-host'});
    place.append(chart, lackNote(source.device), asTable('As a table', () => dataTable({
        caption: 'Kernels by intensity and rate', rows: kernels, sort: ['total_ns', true],
        columns: [...sectionColumns(page.sections.kernels, ['name', 'total_ns']),
            ...sectionColumns(page.sections.limits, ['flops_per_byte', 'flops_per_s', 'bytes_per_s', 'of_roof'])],
    })));
    followWidth(chart, (width) => rooflineChart(page, source, kernels, roofs, width));
}

export function viewRoofline(page, host) {
    const sources = deviceSources(page).filter((source) => (source.device.kernels || []).length);
    if (!sources.length)
        return false;
    chooseSource(host, 'device', sources, (source, place) => showRoofline(page, source, place));
}
