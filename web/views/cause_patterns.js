// The causes of gaps as fills: their color with the pattern that the timeline draws, and the legend.

import {element, svg} from '../dom.js';
import {CAUSES} from '../palette.js';

const PATTERN_PATHS = {
    rising: 'M-2 2L2 -2M0 8L8 0M6 10L10 6',
    falling: 'M6 -2L10 2M0 0L8 8M-2 6L2 10',
    cross: 'M0 0L8 8M8 0L0 8',
    bars: 'M2 0V8M6 0V8',
    lines: 'M0 2H8M0 6H8',
    dots: 'M1 2h2M5 6h2',
    sparse: 'M3.5 4h1.5',
};

// Put into a chart once; `prefix` makes the ids the chart's own. only: the index of one cause.
export function causePatterns(prefix, only) {
    const definitions = svg('defs', {});
    CAUSES.forEach((cause, index) => {
        if (only !== undefined && index !== only)
            return;
        const fill = cause.pattern === 'empty' ? 'var(--card)' : `var(--${cause.color})`;
        const pattern = svg('pattern', {id: `${prefix}-${index}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse'},
            svg('rect', {width: 8, height: 8, fill}));
        if (PATTERN_PATHS[cause.pattern])
            pattern.append(svg('path', {d: PATTERN_PATHS[cause.pattern], class: 'cause-stroke'}));
        definitions.append(pattern);
    });
    return definitions;
}

export function causeFill(prefix, index) {
    return `url(#${prefix}-${index})`;
}

let swatchCount = 0;

// A small square of a cause.
export function causeSwatch(index) {
    const prefix = `cause-swatch-${++swatchCount}`;
    return svg('svg', {class: 'swatch', width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true'}, causePatterns(prefix, index),
        svg('rect', {x: 0.5, y: 0.5, width: 15, height: 15, rx: 2, fill: causeFill(prefix, index), class: 'swatch-edge'}));
}

export function causeIndex(name) {
    return CAUSES.findIndex((cause) => cause.name === name);
}

// indexes: which causes occur; texts[i] stands behind the name.
export function causeLegend(indexes, texts) {
    const list = element('ul', {class: 'view-legend'});
    for (const index of indexes)
        list.append(element('li', {title: CAUSES[index].text}, causeSwatch(index), element('span', {}, CAUSES[index].name),
            texts ? element('span', {class: 'faint'}, texts[index]) : null));
    return list;
}
