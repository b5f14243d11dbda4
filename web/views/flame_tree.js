// Samples or ranges as one tree for each thread: equal names below equal parents are one node, whose
// value is the time they stand for. Nodes are columns; 0 is the root.

import {isPause} from '../data.js';
import {lineName} from '../timeline/events.js';

class FlameTree {
    constructor() {
        this.names = [''];
        this.parent = [-1];
        this.depth = [0];
        this.value = [0];
        this.count = [0];
        this.children = [[]];
        this.places = [new Map()];
    }

    child(node, name) {
        const known = this.places[node].get(name);
        if (known !== undefined)
            return known;
        const made = this.names.length;
        this.names.push(name);
        this.parent.push(node);
        this.depth.push(this.depth[node] + 1);
        this.value.push(0);
        this.count.push(0);
        this.children.push([]);
        this.places.push(new Map());
        this.places[node].set(name, made);
        this.children[node].push(made);
        return made;
    }

    // Widest first; how far from the left each begins, in the value's unit; what is its own.
    settle() {
        this.from = new Float64Array(this.names.length);
        this.self = Float64Array.from(this.value);
        this.deepest = 0;
        for (let node = 0; node < this.names.length; node++) {
            const children = this.children[node].sort((a, b) => this.value[b] - this.value[a]);
            let at = this.from[node];
            for (const child of children) {
                this.from[child] = at;
                at += this.value[child];
                this.self[node] -= this.value[child];
            }
            this.deepest = Math.max(this.deepest, this.depth[node]);
        }
        this.places = null;
        return this;
    }
}

// The frames of a stack, outermost first; only those of a module, if there is one.
function framesOf(stacks, stack, module) {
    const frames = [];
    for (let at = stack; at > 0 && frames.length < 4096; at = stacks.parent[at])
        if (!module || stacks.module[at] === module)
            frames.push(stacks.function[at]);
    return frames.reverse();
}

// Python's own functions, without the interpreter that runs them and the libraries that they call.
export function treeOfPython(trace, thread) {
    return treeOfSamples(trace, thread, pythonModule(trace));
}

// The string of the module that Python's functions are in; 0 when the trace has none.
export function pythonModule(trace) {
    return Math.max(0, trace.strings.indexOf('[python]'));
}

// thread 0: of all. Samples without a weight count as one each, and `unit` says so. With a module,
// samples that have none of its functions are left out.
export function treeOfSamples(trace, thread, module) {
    const {samples, stacks, strings} = trace;
    const tree = new FlameTree();
    const nodes = new Map(); // of a stack, so that a repeated one is walked once
    let weighted = false;
    for (let i = 0; i < samples.count && !weighted; i++)
        weighted = samples.weight[i] > 0;
    for (let i = 0; i < samples.count; i++) {
        if (thread && samples.thread[i] !== thread)
            continue;
        let path = nodes.get(samples.stack[i]);
        if (!path) {
            path = [0];
            for (const frame of framesOf(stacks, samples.stack[i], module))
                path.push(tree.child(path[path.length - 1], strings[frame] || '(unknown)'));
            nodes.set(samples.stack[i], path);
        }
        if (module && path.length === 1)
            continue;
        const weight = weighted ? Math.max(0, samples.weight[i]) : 1;
        for (const node of path) {
            tree.value[node] += weight;
            tree.count[node]++;
        }
    }
    tree.unit = weighted ? 'ns' : 'samples';
    return tree.settle();
}

// Does some call have a line?
export function hasLines(trace) {
    const {calls, stacks} = trace;
    for (let i = 0; i < calls.count; i++)
        if (calls.stack[i] && stacks.line[calls.stack[i]])
            return true;
    return false;
}

// The lines of the program by the device time of what they launched and the idle time that ended
// with it; `idle` has the latter of each node.
export function treeOfLines(trace) {
    const {activities, calls, gaps, stacks, strings} = trace;
    const tree = new FlameTree();
    const paths = new Map();
    tree.idle = [];
    const pathOf = (activity) => {
        const launch = activity >= 0 ? activities.launch[activity] : -1;
        const stack = launch >= 0 ? calls.stack[launch] : 0;
        if (!stack)
            return null;
        let path = paths.get(stack);
        if (!path) {
            const frames = [];
            for (let at = stack; at > 0 && frames.length < 4096; at = stacks.parent[at])
                frames.push(at);
            path = [0];
            for (const frame of frames.reverse()) {
                const name = `${lineName(trace, frame) || strings[stacks.function[frame]]}  ${strings[stacks.source[frame]] || ''}`.trim();
                path.push(tree.child(path[path.length - 1], name));
            }
            paths.set(stack, path);
        }
        return path;
    };
    const add = (activity, time, idle) => {
        for (const node of pathOf(activity) || []) {
            tree.value[node] += time;
            tree.count[node] += !idle;
            tree.idle[node] = (tree.idle[node] || 0) + (idle ? time : 0);
        }
    };
    for (let i = 0; i < activities.count; i++)
        add(i, activities.duration[i], false);
    for (let i = 0; i < gaps.count; i++)
        add(gaps.next[i], gaps.duration[i], true);
    tree.unit = 'ns';
    return tree.settle();
}

// "ProfilerStep#12" and its likes are one.
function familyName(name) {
    return name.replace(/#\d+$/, '#…');
}

// The row around a range, over pauses; -1 when there is none.
function rowAround(trace, row) {
    let above = trace.ranges.parent[row];
    while (above >= 0 && isPause(trace, above))
        above = trace.ranges.parent[above];
    return above;
}

// A range is a child of the innermost one that contains it. Where two overlap without nesting, the
// time of both counts for the earlier one, so that children never exceed their parent. Pauses are
// left out.
export function treeOfRanges(trace, thread) {
    const {ranges, strings} = trace;
    const families = new Array(strings.length);
    const tree = new FlameTree();
    const nodes = new Int32Array(ranges.count);
    const counted = new Float64Array(ranges.count); // until when children have taken a row's time
    let outside = -Infinity; // the same of what is in no range
    let lane = -1;
    for (let i = 0; i < ranges.count; i++) {
        if (!ranges.thread[i] || (thread && ranges.thread[i] !== thread) || isPause(trace, i))
            continue;
        if (ranges.thread[i] !== lane) {
            outside = -Infinity;
            lane = ranges.thread[i];
        }
        const above = rowAround(trace, i);
        const parent = above < 0 ? 0 : nodes[above];
        const from = Math.max(ranges.start[i], above < 0 ? outside : counted[above]);
        const end = ranges.start[i] + ranges.duration[i];
        const node = tree.child(parent, families[ranges.name[i]] ??= familyName(strings[ranges.name[i]]) || '(no name)');
        nodes[i] = node;
        counted[i] = from;
        if (above < 0)
            outside = Math.max(outside, end);
        else
            counted[above] = Math.max(counted[above], end);
        tree.value[node] += Math.max(0, end - from);
        tree.count[node]++;
        if (parent === 0)
            tree.value[0] += Math.max(0, end - from);
    }
    tree.unit = 'ns';
    return tree.settle();
}
