"""Is every event drawn, and nothing else? At random zooms of random traces, the colored pixels of every
lane are those that its events touch, found one by one. Pauses, counters, names that are too long,
processes in which nothing happened: each is drawn as what it is."""

import os
import random
import subprocess
import sys

from suite import CORPUS, FIXTURES, PICTURES, RIDGE, SCRATCH, Opened, Skip, made_trace, make_page, require, test, view_of

# How lanes differ from their events, at so many random views: [] when they do not.
COMPARE = """(seed, views) => {
    const chart = ridge.timeline;
    let state = seed;
    const chance = () => {
        state = Math.imul(state ^ state >>> 15, 2246822519) + 374761393 | 0;
        return ((state ^ state >>> 13) >>> 0) / 4294967296;
    };
    const whole = chart.everything();
    const blank = ['lane', 'grid'].map((name) => parseInt(chart.colors[name].slice(1), 16));
    const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    copy.canvas.width = chart.canvas.width;
    copy.canvas.height = chart.canvas.height;
    const wrong = [];
    let compared = 0;
    let colored = 0;
    for (let view = 0; view < views && wrong.length < 5; view++) {
        const span = (whole.to - whole.from) * 10 ** (-6 * chance() * (view > 0));
        const from = whole.from + (whole.to - whole.from - span) * chance();
        chart.scroll = chart.contentHeight * chance();
        chart.clampScroll();
        chart.setView(from, from + span);
        chart.draw();
        copy.drawImage(chart.canvas, 0, 0);
        const grain = chart.scale / chart.ratio;
        const left = Math.round(chart.gutter * chart.ratio);
        const width = Math.floor((chart.plotWidth - 8) * chart.ratio);
        for (const row of chart.visibleRows()) {
            const y = Math.ceil((chart.rowTop(row) + 1) * chart.ratio);
            if (!row.lane || row.lane.kind === 'counter' || y < 32 * chart.ratio || y >= chart.canvas.height)
                continue;
            const {lane} = row;
            const shift = chart.shifts[lane.trace.index];
            const first = Math.floor((chart.view.from - shift) / grain);
            const touched = new Uint8Array(width);
            for (let i = 0; i < lane.count; i++) {
                const begin = Math.floor(lane.starts[i] / grain);
                const end = Math.max(begin, Math.ceil(lane.ends[i] / grain) - 1);
                if (end >= first && begin < first + width)
                    touched.fill(1, Math.max(0, begin - first), Math.min(width, end - first + 1));
            }
            const {data} = copy.getImageData(left, y, width, 1);
            for (let x = 1; x < width; x++) {
                const color = data[4 * x] << 16 | data[4 * x + 1] << 8 | data[4 * x + 2];
                const drawn = blank.includes(color) ? 0 : 1;
                compared++;
                colored += drawn;
                if (drawn !== touched[x]) {
                    wrong.push(`${row.track.label}, ${lane.kind}: pixel ${x} of ${chart.view.from} to ${chart.view.to} is ${drawn ? '' : 'not '}drawn`);
                    break;
                }
            }
        }
    }
    return {wrong, compared, colored};
}"""


def compare(page, name, seed, views):
    found = page.run(f"({COMPARE})({seed}, {views})")
    require(not found["wrong"], f"{name}: {found['wrong']}")
    require(found["colored"] > 1000, f"{name}: only {found['colored']} of {found['compared']} pixels are colored")


@test
def every_pixel_that_an_event_touches_is_drawn_and_no_other(chromium):
    for seed in range(6):
        path = made_trace(f"lengths-{seed}", maker="lengths", seed=seed)
        with Opened(chromium, make_page(f"lengths-{seed}", path), scale=1 + seed % 2) as page:
            compare(page, f"random trace {seed}", seed + 1, 60)


@test
def a_long_event_behind_a_short_one_is_drawn(chromium):
    """A kernel of 50 ms begins in the pixel in which one of 100 µs ends."""
    with Opened(chromium, make_page("behind", made_trace("behind"))) as page:
        compare(page, "behind", 1, 40)


@test
def real_traces_are_drawn_whole(chromium):
    names = ["nsys/h100_2gpu_1s.sqlite", "kineto/resnet50_num_workers_0+worker0.1623143089861.pt.trace.json.gz"]
    for index, name in enumerate(names):
        path = os.path.join(FIXTURES, name)
        if FIXTURES and os.path.exists(path):
            with Opened(chromium, make_page(f"whole-{index}", path)) as page:
                compare(page, name, random.Random(index).randrange(1, 1 << 30), 25)


@test
def a_run_between_pauses_is_what_one_sees_first(chromium):
    trace = os.path.join(CORPUS, "whatif-pinned-32.ridge")
    if not os.path.exists(trace):
        raise Skip("there is no corpus")
    with Opened(chromium, make_page("pauses", trace)) as page:
        run = page.run("ridge.reports[0].totals.trace_span_ns")
        begin, end = view_of(page)
        require(begin <= 0 and end >= run and end - begin < run * 1.1, f"the view is {begin} to {end} of a run of {run}")
        require(page.run("ridge.timeline.everything().to - ridge.timeline.everything().from") > 10 * run, "the pauses are gone")
        require("paused" not in page.run("document.getElementById('flame').innerText"), "the flame graph counts the pauses")
        lanes = page.run("ridge.timeline.groups.flatMap((group) => group.tracks.flatMap((track) => track.lanes)).filter((lane) => lane.kind === 'range').length")
        require(lanes == 0, "a pause has a lane of its own")
        page.run("ridge.timeline.setView(-1e9, 1e9)")
        page.settle()
        page.screenshot(os.path.join(PICTURES, "pauses.png"), "#timeline")
        drawn = page.run("""(() => {
            const chart = ridge.timeline;
            const row = chart.rows.find((one) => one.lane && one.lane.kind === 'counter');
            const y = chart.rowTop(row) + row.height - 5;
            const first = chart.gutter + (row.lane.starts[0] - chart.view.from) / chart.scale;
            const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            copy.canvas.width = chart.canvas.width;
            copy.canvas.height = chart.canvas.height;
            copy.drawImage(chart.canvas, 0, 0);
            const at = (x) => copy.getImageData(Math.round(x), Math.round(y), 1, 1).data.slice(0, 3).join();
            const last = chart.gutter + (ridge.traces[0].span.to - chart.view.from) / chart.scale;
            return [at(first - 12), at(first + 12), at(Math.min(last, chart.width) - 12)];
        })()""")
        require(drawn[0] != drawn[1] and drawn[1] == drawn[2], f"a counter is drawn as {drawn} before and after its first value and at the end")


@test
def processes_in_which_nothing_happened_are_one_group(chromium):
    trace = os.path.join(SCRATCH, "processes.ridge")
    busy = "import time\nend = time.time() + 0.5\nwhile time.time() < end: sum(range(1000))"
    script = 'for i in 1 2 3 4 5 6; do sh -c :; done; exec "$0" -c "$1"'
    run = subprocess.run([RIDGE, "run", "--no-page", "-o", trace, "--", "sh", "-c", script, sys.executable, busy], capture_output=True, text=True)
    if run.returncode != 0:
        raise Skip("nothing can be recorded here")
    with Opened(chromium, make_page("processes", trace)) as page:
        if page.run("ridge.traces[0].processes.length") < 6 or page.run("ridge.traces[0].samples.count") < 50:
            raise Skip("no samples can be taken of these processes here")
        groups = page.run("ridge.timeline.groups.map((group) => [group.kind, group.closed, group.tracks.length])")
        others = [group for group in groups if group[0] == "others"]
        require(len(others) == 1 and others[0][1] and others[0][2] >= 3, f"the groups are {groups}")
        require(0 < len([group for group in groups if group[0] == "process"]) < 4, f"the groups are {groups}")
        text = page.run("document.querySelector('main').innerText")
        require("machine with a GPU" not in text and "flame graph" in text, "a program of the CPU is told to get a GPU")
        page.screenshot(os.path.join(PICTURES, "processes.png"), "#timeline")


@test
def long_names_keep_both_their_ends(chromium):
    with Opened(chromium, make_page("long-names", made_trace("long_names"))) as page:
        heads = page.run("""[...document.querySelectorAll('#account .cut-name')].map((one) => [one.getBoundingClientRect().width,
            one.firstChild.getBoundingClientRect().width, one.textContent === one.title])""")
        require(len(heads) >= 5 and all(whole > 150 and head > 50 and same for whole, head, same in heads), f"names are {heads}")


@test
def the_table_of_kernels_fits_and_the_timeline_is_never_black(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        frame = page.run("(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.querySelector('#kernels .table-frame'))")
        require(frame[0] <= frame[1], f"the table of kernels is {frame[0]} wide in {frame[1]}")
        corner = page.run("""(() => {
            const {canvas, context} = ridge.timeline;
            ridge.timeline.resize(700, 300);
            return [canvas.width, ...context.getImageData(3, canvas.height - 3, 1, 1).data];
        })()""")
        require(sum(corner[1:4]) > 30, f"the timeline is black when its size changes: {corner}")
        page.call("Emulation.setEmulatedMedia", media="print")
        require(page.run("getComputedStyle(document.querySelector('.panel')).display") == "none", "an empty box is printed beside the timeline")
