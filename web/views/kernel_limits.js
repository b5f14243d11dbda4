// What is known of a kernel's limits in a report: how fast it moved and computed, what binds it, and
// how near to its roof it is. What is not known is NaN or ''.

function knownNumber(value) {
    return typeof value === 'number' && value > 0 ? value : NaN;
}

export function kernelLimits(kernel) {
    return {
        byteRate: knownNumber(kernel.bytes_per_s),
        flopRate: knownNumber(kernel.flops_per_s),
        intensity: knownNumber(kernel.flops_per_byte),
        roofShare: knownNumber(kernel.of_roof),
        bound: kernel.bound && kernel.bound !== 'unknown' ? kernel.bound : '',
    };
}

// The roofs of a device: [{key, rate, source}], those that are known.
export function deviceLimits(device) {
    const limits = device.limits || {};
    return Object.entries(limits).map(([key, limit]) => ({
        key, rate: knownNumber(limit && limit.value), source: (limit && limit.source) || '',
    })).filter((limit) => limit.rate > 0);
}
