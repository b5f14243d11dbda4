// Colors and patterns that the color-blind can tell apart: Okabe and Ito's, and for gaps a pattern
// and a letter beside the color, so that no meaning hangs on color alone. The values are CSS
// variables of style.css, light and dark.

// By place as in GAP_CAUSES: the variable, the pattern that the timeline draws, what it means.
export const CAUSES = [
    {name: 'sync', letter: 'S', color: 'cause-sync', pattern: 'rising', text: 'host waited in a synchronizing call'},
    {name: 'alloc', letter: 'A', color: 'cause-alloc', pattern: 'dots', text: 'host was allocating or freeing'},
    {name: 'compile', letter: 'K', color: 'cause-compile', pattern: 'cross', text: 'host was compiling or loading a module'},
    {name: 'copy-call', letter: 'C', color: 'cause-copy-call', pattern: 'bars', text: 'host was in a blocking copy call'},
    {name: 'launch', letter: 'L', color: 'cause-launch', pattern: 'falling', text: 'host was in launch calls'},
    {name: 'host', letter: 'H', color: 'cause-host', pattern: 'plain', text: 'host was in its own code'},
    {name: 'dependency', letter: 'D', color: 'cause-dependency', pattern: 'lines', text: 'work was queued, behind another queue’s event'},
    {name: 'device', letter: 'Q', color: 'cause-device', pattern: 'sparse', text: 'work was queued, nothing was awaited'},
    {name: 'unknown', letter: '?', color: 'cause-unknown', pattern: 'empty', text: 'no launch record to say'},
];

export const NAME_COLORS = 8;

// The same name has the same color in every trace and every view: a CSS variable name-0 … name-7.
export function nameColor(name) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++)
        hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    return ((hash ^ hash >>> 15) >>> 0) % NAME_COLORS;
}

// The present value of a CSS variable.
export function themeColor(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
