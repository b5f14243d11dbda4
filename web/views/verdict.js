// What holds the run back, what to do about it and what that buys: two sentences, then a card for
// each finding with its evidence, its fixes by effort and its predicted gain.

import {element, svg} from '../dom.js';
import {formatDuration, formatPercent} from '../format.js';
import {bringTimeline, emptyNote, fileName, traceLabel} from './parts.js';

const EFFORT_CLASSES = {'a setting': 'effort-setting', 'some lines': 'effort-lines', 'a change of design': 'effort-design'};
const CONFIDENCE_MARKS = {low: '●○○', medium: '●●○', high: '●●●'};

function shortKernel(trace, name) {
    const index = trace.strings.indexOf(name);
    return index > 0 ? trace.short[index] : name;
}

// Where a piece of evidence points: a time, else a name. Names are looked for as what they are.
function showEvidence(page, trace, evidence) {
    const name = evidence.name || '';
    if (evidence.end_ns > evidence.start_ns)
        page.select({trace, from: evidence.start_ns, to: evidence.end_ns});
    else if (evidence.kind === 'kernel')
        page.find({trace, kernel: shortKernel(page.traces[trace], name)});
    else if (evidence.kind === 'range')
        page.find({trace, range: name});
    else
        page.find({trace, name});
    bringTimeline();
}

function pointsSomewhere(evidence) {
    return evidence.end_ns > evidence.start_ns || (Boolean(evidence.name) && evidence.kind !== 'text' && evidence.kind !== 'function');
}

function evidenceList(page, trace, finding) {
    const list = element('ul', {class: 'evidence'});
    for (const evidence of finding.evidence || []) {
        const words = evidence.words || evidence.name || '';
        const item = element('li', {}, element('span', {}, words));
        if (pointsSomewhere(evidence))
            item.append(' ', element('button', {type: 'button', class: 'link', 'aria-label': `show on the timeline: ${words}`,
                onclick: () => showEvidence(page, trace, evidence)}, 'show on the timeline'));
        list.append(item);
    }
    return list;
}

function fixTable(finding) {
    const body = element('tbody', {});
    for (const fix of finding.fixes || []) {
        const words = element('td', {}, fix.words || '');
        if (fix.whatif)
            words.append(element('code', {class: 'try-it'}, `ridge whatif TRACE ${fix.whatif}`));
        body.append(element('tr', {}, element('th', {scope: 'row'}, element('span', {class: `effort ${EFFORT_CLASSES[fix.effort] || ''}`}, fix.effort || '')), words));
    }
    return element('table', {class: 'fixes'}, element('caption', {class: 'unseen'}, 'Fixes, in order of effort'), body);
}

// The measured time as a track, what would go as its filled part, and how sure that is as a whisker.
function gainBar(finding, time) {
    const width = 180;
    const scale = (ns) => Math.min(width, Math.max(0, ns / time * width));
    const gain = finding.recoverable_ns || 0;
    const error = finding.error_ns || 0;
    const bar = svg('svg', {class: 'gain-bar', width, height: 18, viewBox: `0 0 ${width} 18`, 'aria-hidden': 'true'},
        svg('rect', {class: 'track', x: 0, y: 4, width, height: 10, rx: 2}),
        svg('rect', {class: 'gain', x: 0, y: 4, width: scale(gain), height: 10, rx: 2}));
    if (error > 0) {
        const [low, high] = [scale(gain - error), scale(gain + error)];
        bar.append(svg('path', {class: 'whisker', d: `M${low} 9H${high}M${low} 5V13M${high} 5V13`}));
    }
    return bar;
}

function gainText(finding, time) {
    const error = finding.error_ns > 0 ? ` ± ${formatDuration(finding.error_ns, 2)}` : '';
    return `${formatDuration(finding.recoverable_ns, 3)}${error}, ${formatPercent(finding.recoverable_ns / time)} of the time`;
}

function gainBlock(finding, time) {
    if (!(finding.recoverable_ns > 0) || !(time > 0))
        return element('span', {class: 'gain-none'}, finding.kind === 'healthy' || finding.kind === 'undecided' ? '' : 'no gain to predict');
    return element('span', {class: 'gain-block'}, gainBar(finding, time),
        element('span', {class: 'gain-text'}, gainText(finding, time)));
}

function findingCard(page, trace, finding, rank, time, many) {
    const mark = CONFIDENCE_MARKS[finding.confidence];
    const heading = element('summary', {},
        element('span', {class: 'rank', 'aria-hidden': 'true'}, finding.kind === 'healthy' ? '✓' : String(rank)),
        element('span', {class: 'finding-title'}, finding.title || finding.kind || 'finding',
            finding.summary ? element('span', {class: 'finding-summary'}, finding.summary) : null),
        gainBlock(finding, time));
    const body = element('div', {class: 'finding-body'});
    if (finding.cause)
        body.append(element('p', {}, finding.cause));
    if ((finding.evidence || []).length)
        body.append(element('h4', {}, 'Evidence'), evidenceList(page, trace, finding));
    if ((finding.fixes || []).length)
        body.append(element('h4', {}, 'Fixes, in order of effort'), fixTable(finding));
    const remarks = [];
    if (mark)
        remarks.push(element('span', {}, element('span', {'aria-hidden': 'true'}, `${mark} `), `${finding.confidence} confidence`));
    if (many && rank > 1 && finding.recoverable_ns > 0 && Number.isFinite(finding.additional_ns))
        remarks.push(element('span', {}, `${formatDuration(finding.additional_ns, 3)} once all above it are mended`));
    if (finding.assumes)
        remarks.push(element('span', {}, `assumes: ${finding.assumes}`));
    body.append(element('p', {class: 'remarks'}, ...remarks));
    const card = element('details', {class: finding.kind === 'healthy' ? 'finding healthy' : 'finding'}, heading, body);
    card.open = rank === 1 && !finding.minor;
    return card;
}

function verdictOf(page, trace, verdict) {
    const findings = verdict.findings || [];
    const time = verdict.time_ns || page.reports[trace].selection.wall_ns;
    const block = element('div', {class: 'verdict'});
    if (page.traces.length > 1)
        block.append(element('h3', {}, traceLabel(page, trace) + fileName(page.traces[trace].name)));
    block.append(element('p', {class: 'for-manager'}, verdict.manager || ''), element('p', {class: 'for-engineer'}, verdict.engineer || ''));
    if (verdict.caution)
        block.append(element('p', {class: 'for-engineer'}, verdict.caution));
    const cards = element('div', {class: 'findings'});
    const minor = element('div', {class: 'findings'});
    findings.forEach((finding, index) => (finding.minor ? minor : cards).append(findingCard(page, trace, finding, index + 1, time, findings.length > 1)));
    block.append(cards);
    if (minor.childElementCount)
        block.append(element('details', {class: 'minor'}, element('summary', {}, `Too little to act on (${minor.childElementCount})`), minor));
    if (verdict.part)
        block.append(element('p', {class: 'hint'}, `Judged: ${verdict.part}, ${formatDuration(time)}.`
            + (verdict.roof_share > 0 ? ` The device was at its roofs for ${formatPercent(verdict.roof_share)} of it, as far as known.` : '')));
    if ((verdict.missing || []).length)
        block.append(element('div', {class: 'missing'}, element('h4', {}, 'Unknown'),
            element('ul', {}, verdict.missing.map((words) => element('li', {}, words)))));
    return block;
}

export function viewVerdict(page, host) {
    page.reports.forEach((report, trace) => {
        if (report.verdict)
            host.append(verdictOf(page, trace, report.verdict));
        else
            host.append(emptyNote('This report has no verdict.', 'Make it from the trace with a ridge that has one.'));
    });
    const trust = element('ul', {class: 'trust'});
    page.reports.forEach((report, trace) => {
        for (const note of (report.trust || {}).notes || [])
            trust.append(element('li', {}, traceLabel(page, trace) + note));
    });
    if (trust.childElementCount)
        host.append(element('details', {class: 'trust-notes'}, element('summary', {}, `How far the figures can be believed (${trust.childElementCount})`), trust));
}
