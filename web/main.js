// Starts everything: decodes the data, makes the page object, builds the sections in order.

import {decodeReport, decodeTrace} from './data.js';
import {element} from './dom.js';
import {formatCount, formatDuration} from './format.js';
import {themeColor} from './palette.js';
import {buildTimeline} from './timeline/timeline.js';
import {viewAccount} from './views/account.js';
import {viewCompare} from './views/compare.js';
import {viewDifference} from './views/difference.js';
import {viewFlame} from './views/flame.js';
import {viewGaps} from './views/gaps.js';
import {viewHeat, viewJob, viewJobTables, viewRanks} from './views/job.js';
import {viewKernels} from './views/kernels.js';
import {viewMemory} from './views/memory.js';
import {viewRoofline} from './views/roofline.js';
import {viewCpu, viewTables} from './views/sections.js';
import {viewSteps} from './views/steps.js';
import {viewTransfers} from './views/transfers.js';
import {viewVerdict} from './views/verdict.js';

const SECTIONS = [
    ['difference', 'What changed', viewDifference],
    ['verdict', 'Verdict', viewVerdict],
    ['account', 'Where the time goes', viewAccount],
    ['timeline', 'Timeline', buildTimeline],
    ['compare', 'Before and after', viewCompare],
    ['kernels', 'Kernels', viewKernels],
    ['roofline', 'Roofline', viewRoofline],
    ['flame', 'Flame graph', viewFlame],
    ['gaps', 'Gaps', viewGaps],
    ['cpu', 'CPU', viewCpu],
    ['transfers', 'Transfers', viewTransfers],
    ['memory', 'Memory', viewMemory],
    ['steps', 'Steps', viewSteps],
    ['tables', 'Tables', viewTables],
];

// A page of a distributed job has no report of one trace.
const JOB_SECTIONS = [
    ['job', 'The job', viewJob],
    ['ranks', 'Ranks', viewRanks],
    ['heat', 'Steps', viewHeat],
    ['tables', 'Tables', viewJobTables],
];

const byId = (id) => document.getElementById(id);

function makePage() {
    const handlers = new Map();
    const page = {
        sections: {}, // by key: the titles and units of the report's tables
        reports: [],
        tables: [], // of each report: its tables as the program prints them
        traces: [],
        difference: null,
        job: null,
        theme: 'light',
        color: themeColor,
        on(event, handler) {
            if (!handlers.has(event))
                handlers.set(event, new Set());
            handlers.get(event).add(handler);
            return () => handlers.get(event).delete(handler);
        },
        emit(event, detail) {
            for (const handler of handlers.get(event) || [])
                handler(detail);
        },
        announce(text) {
            byId('live').textContent = text;
        },
        help() {
            byId('help').showModal();
        },
    };
    page.ready = new Promise((resolve) => {
        page.finish = resolve;
    });
    return page;
}

// auto, light, dark: remembered where the browser allows it.
function watchTheme(page) {
    const system = window.matchMedia('(prefers-color-scheme: dark)');
    const choices = ['auto', 'light', 'dark'];
    const signs = {auto: '◐', light: '☀', dark: '☾'};
    const words = {auto: 'as the system has them', light: 'light', dark: 'dark'};
    let choice = 'auto';
    try {
        choice = localStorage.getItem('ridge-theme') || 'auto';
    } catch {
        // not from a file, in some browsers
    }
    const apply = () => {
        page.theme = choice === 'auto' ? (system.matches ? 'dark' : 'light') : choice;
        document.documentElement.dataset.theme = page.theme;
        byId('theme-button').textContent = signs[choice];
        byId('theme-button').setAttribute('aria-label', `Colors: ${words[choice]}`);
        byId('theme-button').title = `Colors: ${words[choice]}`;
        page.emit('theme', page.theme);
    };
    choice = choices.includes(choice) ? choice : 'auto';
    byId('theme-button').addEventListener('click', () => {
        choice = choices[(choices.indexOf(choice) + 1) % choices.length];
        try {
            localStorage.setItem('ridge-theme', choice);
        } catch {
            // then it holds for this visit
        }
        apply();
    });
    system.addEventListener('change', apply);
    apply();
}

// What stands beside the name: which trace, of what, when.
function describeTrace(report, letter) {
    const facts = [];
    if (report.trace.command)
        facts.push(report.trace.command);
    const devices = Object.values(report.devices || {}).map((device) => device.name).filter((name) => name);
    if (devices.length)
        facts.push([...new Set(devices)].join(', '));
    facts.push(formatDuration(report.selection.wall_ns));
    if (report.trace.date)
        facts.push(report.trace.date);
    return element('div', {class: 'trace'}, letter ? element('b', {class: 'letter'}, letter) : null,
        element('strong', {}, report.trace.name.replace(/^.*\//, '')), element('span', {class: 'hint'}, facts.join(' · ')));
}

function describeBottom(page) {
    const tables = ['activities', 'calls', 'ranges', 'samples', 'counters', 'memory', 'states'];
    const events = page.traces.reduce((sum, trace) => sum + tables.reduce((of, table) => of + trace[table].count, 0), 0);
    return [element('span', {}, `${formatCount(events)} events. Times count from the start of the run. Made by ridge; this file needs nothing else and sends nothing anywhere.`)];
}

async function buildSection(page, [id, title, build]) {
    const heading = element('h2', {id: `${id}-title`}, title);
    const host = element('div', {class: `view view-${id}`});
    const section = element('section', {id, 'aria-labelledby': `${id}-title`, tabindex: '-1'}, heading, host);
    const link = element('a', {href: `#${id}`}, title);
    byId('sections').append(section);
    byId('places').append(link);
    try {
        if (await build(page, host) === false) {
            section.remove();
            link.remove();
        }
    } catch (error) {
        console.error(error);
        host.replaceChildren(element('p', {class: 'note'}, `This part could not be drawn: ${error.message}`));
    }
}

async function readData(page) {
    page.sections = await decodeReport(byId('sections-0').textContent);
    const difference = byId('difference-0');
    if (difference) {
        page.difference = await decodeReport(difference.textContent);
        difference.remove();
    }
    const job = byId('job-0');
    if (job) {
        page.job = await decodeReport(job.textContent);
        job.remove();
    }
    for (let i = 0; byId(`report-${i}`); i++) {
        const report = byId(`report-${i}`);
        const tables = byId(`tables-${i}`);
        const events = byId(`events-${i}`);
        page.tables.push(await decodeReport(tables.textContent));
        page.reports.push(await decodeReport(report.textContent));
        page.traces.push(await decodeTrace(events.textContent, i));
        report.remove();
        tables.remove();
        events.remove();
    }
}

// Lets the browser paint what is there.
function breathe() {
    return new Promise((resolve) => {
        requestAnimationFrame(() => setTimeout(resolve));
        setTimeout(resolve, 100);
    });
}

async function startPage(page) {
    watchTheme(page);
    byId('help-button').addEventListener('click', () => page.help());
    await breathe();
    try {
        await readData(page);
    } catch (error) {
        console.error(error);
        byId('loading').textContent = `The data of this page cannot be read: ${error.message}`;
        return;
    }
    performance.mark('ridge-decoded');
    byId('loading').remove();
    const names = page.job ? [page.job.name] : page.reports.map((report) => report.trace.name);
    document.title = `${names.map((name) => name.replace(/^.*\//, '')).join(' and ')} · ridge`;
    if (page.job)
        byId('about').append(element('div', {class: 'trace'}, element('strong', {}, page.job.name.replace(/^.*\//, '')),
            element('span', {class: 'hint'}, `${formatCount(page.job.rows.length)} ranks · ${formatDuration(page.job.time_ns)}`)));
    byId('about').append(...page.reports.map((report, i) => describeTrace(report, page.reports.length > 1 ? 'AB'[i] : '')));
    for (const section of page.job ? JOB_SECTIONS : SECTIONS) {
        await buildSection(page, section);
        if (section[0] === 'timeline') {
            await breathe();
            performance.mark('ridge-timeline');
        }
    }
    byId('bottom').append(...(page.job ? [element('span', {}, 'Times count from the first collective that all ranks share. Made by ridge; this file needs nothing else and sends nothing anywhere.')] : describeBottom(page)));
    if (location.hash.length > 1)
        byId(location.hash.slice(1))?.scrollIntoView();
    performance.mark('ridge-ready');
    page.finish(page);
}

window.ridge = makePage();
startPage(window.ridge);
