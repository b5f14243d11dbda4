"""Traces that a page must survive: names full of markup, nothing, absurd times, many events,
thousands of names, and real ones of every kind."""

import os

from suite import FIXTURES, MANY, PICTURES, Opened, Skip, event_count, large_trace, made_trace, make_page, require, test, timeline_box, view_of


@test
def names_full_of_markup_stay_text(chromium):
    with Opened(chromium, make_page("hostile", made_trace("hostile"))) as page:
        for action in ("document.querySelectorAll('details').forEach((one) => { one.open = true; })",
                       "ridge.find({trace: 0, name: '<'})",
                       "document.querySelectorAll('#account .part').forEach((one) => one.click())",
                       "[...document.querySelectorAll('.row-button')].slice(0, 60).forEach((one) => one.click())",
                       "for (let i = 0; i < 60; i++) ridge.pick({trace: 0, table: 'activities', row: i})",
                       "for (let i = 0; i < 60; i++) ridge.pick({trace: 0, table: 'ranges', row: i})"):
            page.run(f"(() => {{ {action} }})()")
            page.settle()
        x, y, width, height = timeline_box(page)
        for step in range(1, 12):
            page.mouse("mouseMoved", x + width * 0.6, y + height * step / 12)
        page.settle()
        require(page.run("window.struck === undefined"), f"a name became script: {page.run('String(window.struck)')}")
        strange = page.run("""[...document.querySelectorAll('body *')].filter((one) =>
            one.matches('img, iframe, object, embed, b.struck, svg[onload], [onerror], [onload], a[href^=javascript], base, form[action]')
            || (one.localName === 'script' && one.textContent.startsWith('window.struck'))).map((one) => one.outerHTML.slice(0, 80))""")
        require(not strange, f"a name became an element: {strange}")
        require(page.run("document.body.innerText.includes('<script>window.struck')"), "the names are not shown as they are")
        require(page.run("document.documentElement.scrollWidth <= innerWidth"), "a long name makes the page wider than the window")
        page.screenshot(os.path.join(PICTURES, "hostile.png"))


@test
def traces_of_nothing_of_one_kernel_and_of_absurd_times_have_a_page(chromium):
    for name in ("empty", "single", "extreme"):
        with Opened(chromium, make_page(name, made_trace(name))) as page:
            text = page.run("document.querySelector('main').innerText")
            require("could not be drawn" not in text, f"{name}: a view could not be drawn")
            require("NaN" not in text and "undefined" not in text and "Infinity" not in text, f"{name}: NaN or undefined is shown")
            for key in ("w", "w", "d", "a", "s", "s", "s", "0", "f"):
                page.key(key)
            page.settle()
            view = view_of(page)
            require(all(isinstance(one, (int, float)) for one in view) and view[1] > view[0], f"{name}: the view is {view}")
            page.screenshot(os.path.join(PICTURES, f"{name}.png"))


@test
def a_table_of_thousands_of_kernels_keeps_few_rows_in_the_document(chromium):
    with Opened(chromium, make_page("names", made_trace("names", maker="many_names"))) as page:
        rows = "document.querySelectorAll('#kernels tbody tr:not(.spacer)').length"
        require(0 < page.run(rows) < 200, f"{page.run(rows)} rows are in the document")
        require("kernel_04999" in page.run("document.querySelector('#kernels tbody').innerText"), "the longest kernel is not first")
        page.run("document.querySelector('#kernels .table-frame').scrollTop = 1e9")
        page.settle()
        require("kernel_00000" in page.run("document.querySelector('#kernels tbody').innerText"), "the end of the table cannot be reached")
        require(0 < page.run(rows) < 200, f"{page.run(rows)} rows are in the document at its end")
        page.screenshot(os.path.join(PICTURES, "kernels-many.png"), "#kernels")


@test
def many_events_are_small(chromium):
    path = make_page("many", large_trace())
    size = os.path.getsize(path)
    with Opened(chromium, path) as page:
        events = event_count(page) - page.run("ridge.traces.reduce((sum, trace) => sum + trace.gaps.count, 0)")
        require(events >= MANY * 0.9 or page.run("Boolean(ridge.traces[0].merged)"), f"only {events} events are in the page")
        require(size <= 12 * max(events, MANY) + 300_000, f"{size} bytes for {events} events")
        timeline_box(page)
        for _ in range(8):
            page.key("w")
        page.settle()
        rates = {}
        for where, zooms in (("far", 0), ("near", 20)):
            for _ in range(zooms):
                page.key("w")
            page.settle()
            rates[where] = page.run("""new Promise((done) => {
                ridge.frames.reset();
                const {from, to} = ridge.view;
                const width = to - from;
                const times = [];
                let step = 0;
                const move = (now) => {
                    times.push(now);
                    if (step === 120) {
                        const between = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
                        done({rate: 1000 * between.length / (times[times.length - 1] - times[0]), slow: between[Math.floor(between.length * 0.95)], drawn: ridge.frames.mean});
                        return;
                    }
                    step++;
                    const shift = width * 0.02 * (step <= 60 ? step : 120 - step);
                    ridge.show({trace: 0, from: from + shift, to: to + shift});
                    requestAnimationFrame(move);
                };
                requestAnimationFrame(move);
            })""")
        page.screenshot(os.path.join(PICTURES, "many.png"))
        print(f"page of {events:,} events: {size / 1e6:.2f} MB ({size / max(1, events):.1f} bytes an event), first picture after {page.seconds[0] or 0:.2f} s, all views after {page.seconds[1]:.2f} s")
        for where, rate in rates.items():
            print(f"  panning {where}: {rate['rate']:.0f} frames a second, 95% within {rate['slow']:.1f} ms, {rate['drawn']:.2f} ms to draw one")


@test
def real_traces_have_a_page(chromium):
    if not FIXTURES:
        raise Skip("there are no fixtures")
    names = ["kineto/resnet50_num_workers_0+worker0.1623143089861.pt.trace.json.gz", "nsys/h100_2gpu_1s.sqlite", "xctrace/m1-cpu-time-profile",
             "kineto/cpu_only+rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "kineto/mi210+gpu_only_trace+gpu_only_trace.json.gz",
             "xplane/jax_conv_minimal_legacy.xplane.pb"]
    for index, name in enumerate(name for name in names if os.path.exists(os.path.join(FIXTURES, name))):
        path = make_page(f"fixture-{index}", os.path.join(FIXTURES, name))
        with Opened(chromium, path) as page:
            text = page.run("document.querySelector('main').innerText")
            require("could not be drawn" not in text, f"{name}: a view could not be drawn")
            require("NaN" not in text and "undefined" not in text, f"{name}: NaN or undefined is shown")
            require(os.path.getsize(path) <= 12 * event_count(page) + 300_000, f"{name}: {os.path.getsize(path)} bytes for {event_count(page)} events")
