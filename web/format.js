// Quantities as people read them: three significant digits and a unit that fits, as src/base/format.h
// has them. Units are decimal.

function significant(value, digits) {
    if (value >= 10 ** (digits - 1))
        return formatCount(Math.round(value));
    return value.toFixed(Math.max(0, digits - 1 - Math.max(0, Math.floor(Math.log10(value) + 1e-12))));
}

function scaled(value, units, step, digits) {
    let unit = 0;
    while (unit + 1 < units.length && Number(value.toPrecision(digits)) >= step) {
        value /= step;
        unit++;
    }
    return unit === 0 ? `${formatCount(Math.round(value))} ${units[0]}` : `${significant(value, digits)} ${units[unit]}`;
}

// 12345 as "12,345"
export function formatCount(count) {
    if (!Number.isFinite(count))
        return '-';
    return String(Math.round(count)).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

// Nanoseconds as "999 ns", "1.23 µs", "12.3 ms"
export function formatDuration(ns, digits = 3) {
    if (!Number.isFinite(ns))
        return '-';
    return (ns < 0 ? '-' : '') + scaled(Math.abs(ns), ['ns', 'µs', 'ms', 's'], 1000, digits);
}

// "512 B", "1.23 KB"
export function formatBytes(bytes, digits = 3) {
    return Number.isFinite(bytes) ? scaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'], 1000, digits) : '-';
}

// Bytes a second as "12.3 GB/s"
export function formatRate(rate, digits = 3) {
    return Number.isFinite(rate) ? `${scaled(rate, ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'], 1000, digits)}/s` : '-';
}

// Operations a second as "12.3 TFLOP/s"
export function formatFlops(rate, digits = 3) {
    return formatRate(rate, digits).replace('B/s', 'FLOP/s');
}

// 0.1234 as "12.3 %"; a non-zero share is never 0.0 %, and one below the whole never 100 %
export function formatPercent(ratio) {
    if (!Number.isFinite(ratio))
        return '-';
    if (ratio > 0 && ratio < 0.0005)
        return '<0.1 %';
    if (ratio < 1 && ratio >= 0.9995)
        return '>99.9 %';
    return ratio === 1 ? '100 %' : `${(ratio * 100).toFixed(1)} %`;
}

// A moment on an axis whose ticks are `step` apart, in the unit that suits the axis's largest: no more
// digits than that takes.
export function formatTick(ns, step, largest = Math.abs(ns)) {
    const size = Math.max(largest, step);
    const [divisor, unit] = size >= 1e9 ? [1e9, 's'] : size >= 1e6 ? [1e6, 'ms'] : size >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
    const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / divisor) + 1e-9)));
    return `${(ns / divisor).toFixed(digits)} ${unit}`;
}
