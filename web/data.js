// What is in the page's data, and how it is decoded.
//
// Each trace is a script element of base64: zlib's deflate of a JSON header (names and entities) and
// of chunks of columns, which are those of src/trace/chunk.c without its compression: a constant, or
// byte planes of values or of zigzag differences. src/report/html_data.c writes the same tables.

export const ACTIVITY_KINDS = ['kernel', 'copy', 'set'];
export const COPY_DIRECTIONS = ['unknown', 'HtoD', 'DtoH', 'DtoD', 'HtoH', 'PtoP'];
export const MEMORY_KINDS = ['unknown', 'pageable', 'pinned', 'device', 'array', 'managed'];
export const CALL_CLASSES = ['other', 'launch', 'copy', 'sync', 'alloc', 'compile'];
export const RANGE_CATEGORIES = ['other', 'op', 'annotation', 'python', 'device', 'driver', 'overhead'];
export const THREAD_STATES = ['running', 'ready', 'blocked'];
export const GAP_CAUSES = ['sync', 'alloc', 'compile', 'copy-call', 'launch', 'host', 'dependency', 'device', 'unknown'];

// Columns by number. time: from the earliest event, made relative to the run's start here;
// row: a row number + 1, 0 is none; size: a number + 1, 0 is not known; signed: zigzag; double: the
// bits of one; percent: thousandths.
const PAGE_TABLES = {
    ACTI: ['activities', ['start:time', 'duration:f64', 'queue:u32', 'kind:u8', 'name:u32', 'launch:row',
        'grid_x:u32', 'grid_y:u32', 'grid_z:u32', 'block_x:u32', 'block_y:u32', 'block_z:u32',
        'registers:u32', 'shared:u32', 'bytes:size', 'direction:u8', 'from_memory:u8', 'to_memory:u8',
        'flops:f64', 'graph:u32', 'occupancy:percent', 'merged:u32']],
    CALL: ['calls', ['start:time', 'duration:f64', 'thread:u32', 'name:u32', 'class:u8', 'result:signed', 'merged:u32', 'stack:u32']],
    RANG: ['ranges', ['start:time', 'duration:f64', 'thread:u32', 'queue:u32', 'name:u32', 'category:u8', 'merged:u32']],
    GAPS: ['gaps', ['start:time', 'duration:f64', 'device:u32', 'cause:u8', 'next:row']],
    STAK: ['stacks', ['parent:u32', 'function:u32', 'module:u32', 'file:u32', 'line:u32', 'source:u32']],
    SAMP: ['samples', ['time:time', 'thread:u32', 'stack:u32', 'weight:f64']],
    COUN: ['counters', ['time:time', 'device:u32', 'name:u32', 'value:double']],
    MEMO: ['memory', ['time:time', 'thread:u32', 'device:u32', 'operation:u8', 'bytes:f64', 'allocated:f64', 'reserved:f64']],
    STAT: ['states', ['start:time', 'duration:f64', 'thread:u32', 'state:u8']],
    STEP: ['steps', ['start:time', 'duration:f64', 'name:u32', 'warm_up:u8']],
};
const COLUMN_ARRAYS = {
    time: Float64Array, f64: Float64Array, size: Float64Array, double: Float64Array,
    u32: Uint32Array, u8: Uint8Array, row: Int32Array, signed: Float64Array, percent: Float32Array,
};

// The name that a recorder gives the time in which it recorded nothing, as src/trace/schema.h has it.
const PAUSE_NAME = 'ridge: paused';

// Is a row of `ranges` such a time?
export function isPause(trace, row) {
    return trace.paused !== 0 && trace.ranges.name[row] === trace.paused && RANGE_CATEGORIES[trace.ranges.category[row]] === 'overhead';
}

const CHUNK_HEADER_BYTES = 88;
const CHUNK_ENTRY_BYTES = 24;
const BASE64_PIECE = 1 << 20;

function bytesOfBase64(text) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

async function inflateBase64(text) {
    const stream = new DecompressionStream('deflate');
    const writer = stream.writable.getWriter();
    const written = (async () => {
        for (let at = 0; at < text.length; at += BASE64_PIECE)
            await writer.write(bytesOfBase64(text.slice(at, at + BASE64_PIECE)));
        await writer.close();
    })();
    const inflated = new Uint8Array(await new Response(stream.readable).arrayBuffer());
    await written;
    return inflated;
}

// A column's entry in a chunk's directory.
function readEntry(view, at) {
    return {
        column: view.getUint16(at, true),
        encoding: view.getUint8(at + 2),
        width: view.getUint8(at + 3),
        size: view.getUint32(at + 8, true),
        base: view.getUint32(at + 16, true) + view.getUint32(at + 20, true) * 4294967296,
        baseAt: at + 16,
    };
}

function decodeConstant(out, from, rows, value) {
    out.fill(value, from, from + rows);
}

function decodePlain(out, from, rows, bytes, at, width) {
    if (width === 1) {
        for (let i = 0; i < rows; i++)
            out[from + i] = bytes[at + i];
        return;
    }
    for (let i = 0; i < rows; i++) {
        let value = 0;
        for (let plane = width - 1; plane >= 0; plane--)
            value = value * 256 + bytes[at + plane * rows + i];
        out[from + i] = value;
    }
}

// The sign is the lowest bit, and is taken from its byte: a huge sum has no lowest bit any more.
function decodeDelta(out, from, rows, bytes, at, width, base) {
    let value = base;
    for (let i = 0; i < rows; i++) {
        let zigzag = 0;
        for (let plane = width - 1; plane > 0; plane--)
            zigzag = zigzag * 256 + bytes[at + plane * rows + i];
        const low = bytes[at + i];
        zigzag = zigzag * 128 + (low >> 1);
        value += low & 1 ? -zigzag - 1 : zigzag;
        out[from + i] = value;
    }
}

function decodeDoubles(out, from, rows, view, entry, at) {
    const bits = new DataView(new ArrayBuffer(8));
    let delta = 0n;
    if (entry.encoding !== 1)
        delta = view.getBigUint64(entry.baseAt, true);
    for (let i = 0; i < rows; i++) {
        let value = 0n;
        for (let plane = entry.width - 1; plane >= 0 && entry.encoding !== 0; plane--)
            value = value << 8n | BigInt(view.getUint8(at + plane * rows + i));
        if (entry.encoding === 2)
            delta += value & 1n ? -(value >> 1n) - 1n : value >> 1n;
        bits.setBigUint64(0, BigInt.asUintN(64, entry.encoding === 1 ? value : delta));
        out[from + i] = bits.getFloat64(0);
    }
}

function decodeColumn(out, from, rows, view, bytes, entry, at, type) {
    if (type === 'double')
        decodeDoubles(out, from, rows, view, entry, at);
    else if (entry.encoding === 0)
        decodeConstant(out, from, rows, entry.base);
    else if (entry.encoding === 1)
        decodePlain(out, from, rows, bytes, at, entry.width);
    else
        decodeDelta(out, from, rows, bytes, at, entry.width, entry.base);
}

// What the numbers on the wire stand for.
function settleColumn(out, type, origin) {
    if (type === 'time')
        for (let i = 0; i < out.length; i++)
            out[i] -= origin;
    else if (type === 'row')
        for (let i = 0; i < out.length; i++)
            out[i] -= 1;
    else if (type === 'signed')
        for (let i = 0; i < out.length; i++)
            out[i] = out[i] % 2 ? -(out[i] + 1) / 2 : out[i] / 2;
    else if (type === 'size')
        for (let i = 0; i < out.length; i++)
            out[i] = out[i] === 0 ? NaN : out[i] - 1;
    else if (type === 'percent')
        for (let i = 0; i < out.length; i++)
            out[i] /= 1000;
}

function emptyTables(trace, counts) {
    for (const [code, [name, columns]] of Object.entries(PAGE_TABLES)) {
        const count = counts[code] || 0;
        const table = {count};
        for (const column of columns) {
            const [key, type] = column.split(':');
            table[key] = new COLUMN_ARRAYS[type](count);
        }
        trace[name] = table;
    }
}

function decodeChunks(trace, bytes, at) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const filled = {};
    while (at + CHUNK_HEADER_BYTES <= bytes.length) {
        const code = String.fromCharCode(bytes[at + 8], bytes[at + 9], bytes[at + 10], bytes[at + 11]);
        const columnCount = view.getUint16(at + 14, true);
        const rows = view.getUint32(at + 36, true);
        const bodySize = view.getUint32(at + 64, true);
        const [name, columns] = PAGE_TABLES[code];
        const from = filled[code] || 0;
        let data = at + CHUNK_HEADER_BYTES + columnCount * CHUNK_ENTRY_BYTES;
        for (let i = 0; i < columnCount; i++) {
            const entry = readEntry(view, at + CHUNK_HEADER_BYTES + i * CHUNK_ENTRY_BYTES);
            const [key, type] = columns[entry.column].split(':');
            decodeColumn(trace[name][key], from, rows, view, bytes, entry, data, type);
            data += entry.size;
        }
        filled[code] = from + rows;
        at += CHUNK_HEADER_BYTES + bodySize;
    }
}

function endOf(table, row) {
    return table.start[row] + table.duration[row];
}

// Each range's row among those open at its start, `depth`, and the innermost one that contains all
// of it, `parent` (-1: there is none). The two differ where ranges overlap without nesting: an
// annotation begins inside a Python function, __enter__, and outlives it. Ranges come outer before
// inner.
function nestRanges(ranges) {
    const depth = new Uint16Array(ranges.count);
    const parent = new Int32Array(ranges.count).fill(-1);
    let ends = [];
    let around = []; // rows whose ends get earlier: another cannot be an innermost parent any more
    let lane = -1;
    for (let i = 0; i < ranges.count; i++) {
        const here = ranges.thread[i] * 65536 + ranges.queue[i];
        if (here !== lane) {
            ends = [];
            around = [];
            lane = here;
        }
        const end = endOf(ranges, i);
        while (around.length && (endOf(ranges, around[around.length - 1]) <= ranges.start[i] || endOf(ranges, around[around.length - 1]) < end))
            around.pop();
        if (around.length)
            parent[i] = around[around.length - 1];
        around.push(i);
        while (ends.length && ends[ends.length - 1] <= ranges.start[i])
            ends.pop();
        depth[i] = Math.min(ends.length, 65535);
        ends.push(end);
    }
    ranges.depth = depth;
    ranges.parent = parent;
}

function widenSpan(span, start, duration) {
    for (let i = 0; i < start.length; i++) {
        const end = duration ? start[i] + duration[i] : start[i];
        if (start[i] < span.from)
            span.from = start[i];
        if (end > span.to)
            span.to = end;
    }
}

// From the first to the last moment of anything that has a place on the timeline.
function spanOf(trace) {
    const span = {from: Infinity, to: -Infinity};
    for (const table of [trace.activities, trace.calls, trace.ranges, trace.gaps])
        widenSpan(span, table.start, table.duration);
    if (span.from > span.to) {
        for (const table of [trace.samples, trace.counters, trace.memory])
            widenSpan(span, table.time, null);
        widenSpan(span, trace.states.start, trace.states.duration);
    }
    if (span.from > span.to)
        return {from: 0, to: 1000};
    if (span.to - span.from < 100)
        span.to = span.from + 100;
    return span;
}

function labelEntities(trace) {
    for (const device of trace.devices.slice(1)) {
        const known = device.name && device.name !== device.label;
        device.display = known ? `${device.key} · ${device.name}` : `device ${device.key}`;
    }
    for (const queue of trace.queues.slice(1))
        queue.label = queue.name || `queue ${queue.stream}`;
    for (const thread of trace.threads.slice(1))
        thread.label = !thread.name ? `thread ${thread.tid}` : thread.name.includes(thread.tid) ? thread.name : `${thread.name} (${thread.tid})`;
}

// The report of a trace, as `ridge report --format json` writes it.
export async function decodeReport(text) {
    return JSON.parse(new TextDecoder().decode(await inflateBase64(text)));
}

// `text` is one trace's base64.
export async function decodeTrace(text, index) {
    const bytes = await inflateBase64(text);
    const view = new DataView(bytes.buffer);
    const headerSize = view.getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerSize)));
    const trace = {
        index,
        name: header.name,
        title: header.name.replace(/^.*\//, ''),
        strings: header.strings,
        short: header.strings.slice(),
        processes: [null, ...header.processes],
        threads: [null, ...header.threads],
        devices: [null, ...header.devices],
        queues: [null, ...header.queues],
        merged: header.merged,
        paused: Math.max(0, header.strings.indexOf(PAUSE_NAME)),
    };
    for (const [name, short] of header.short)
        trace.short[name] = short;
    emptyTables(trace, header.counts);
    decodeChunks(trace, bytes, 4 + headerSize);
    for (const [name, columns] of Object.values(PAGE_TABLES))
        for (const column of columns) {
            const [key, type] = column.split(':');
            settleColumn(trace[name][key], type, header.origin);
        }
    nestRanges(trace.ranges);
    labelEntities(trace);
    trace.span = spanOf(trace);
    return trace;
}
