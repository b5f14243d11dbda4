// The gaps of a device, put together from their stretches, and counted by length.

const GAP_BUCKET_EDGES = [1, 2, 5];

// Columns: start, duration, and the stretches first..last (rows of trace.gaps) of each gap.
// Stretches that touch are one gap. There may be very many, so none is an object of its own.
export function gapsOfDevice(trace, id) {
    const {start, duration, device, next, count} = trace.gaps;
    const first = [];
    const last = [];
    let end = -Infinity;
    for (let i = 0; i < count; i++) {
        if (device[i] !== id)
            continue;
        if (start[i] > end || !last.length || next[i] !== next[last[last.length - 1]]) {
            first.push(i);
            last.push(i);
        } else {
            last[last.length - 1] = i;
        }
        end = start[i] + duration[i];
    }
    return {
        count: first.length, first, last,
        start: Float64Array.from(first, (row) => start[row]),
        duration: Float64Array.from(first, (row, gap) => start[last[gap]] + duration[last[gap]] - start[row]),
    };
}

// One gap with its time by cause: {start, duration, next, causes}.
export function gapAt(trace, gaps, number, causeCount) {
    const causes = new Float64Array(causeCount);
    for (let row = gaps.first[number]; row <= gaps.last[number]; row++)
        causes[trace.gaps.cause[row]] += trace.gaps.duration[row];
    return {start: gaps.start[number], duration: gaps.duration[number], next: trace.gaps.next[gaps.last[number]], causes};
}

function bucketKey(length) {
    const power = Math.floor(Math.log10(length) + 1e-12);
    const digit = length / 10 ** power;
    return power * 3 + (digit >= 5 ? 2 : digit >= 2 ? 1 : 0);
}

// Where a bucket begins, in nanoseconds: 1, 2 or 5 times a power of ten.
export function bucketEdge(key) {
    return GAP_BUCKET_EDGES[(key % 3 + 3) % 3] * 10 ** Math.floor(key / 3);
}

// By key: {key, from, to, gaps (their numbers), time, causes (time of each), counts (of gaps whose
// longest part it is)}.
export function bucketsOfGaps(trace, gaps, causeCount) {
    const {cause, duration} = trace.gaps;
    const buckets = new Map();
    for (let gap = 0; gap < gaps.count; gap++) {
        const key = bucketKey(Math.max(1, gaps.duration[gap]));
        let bucket = buckets.get(key);
        if (!bucket) {
            bucket = {key, from: bucketEdge(key), to: bucketEdge(key + 1), gaps: [], time: 0, causes: new Float64Array(causeCount), counts: new Float64Array(causeCount)};
            buckets.set(key, bucket);
        }
        bucket.gaps.push(gap);
        bucket.time += gaps.duration[gap];
        let main = gaps.first[gap];
        for (let row = gaps.first[gap]; row <= gaps.last[gap]; row++) {
            bucket.causes[cause[row]] += duration[row];
            if (duration[row] > duration[main])
                main = row;
        }
        bucket.counts[cause[main]]++;
    }
    return buckets;
}
