"""What a person does with the page: read the verdict, look at every view, zoom, search, click, sort,
print, listen."""

import json
import os
import subprocess

from suite import PICTURES, RIDGE, SCRATCH, Opened, made_trace, make_page, painted, require, test, timeline_box, view_of

SECTIONS = ["verdict", "account", "timeline", "kernels", "roofline", "flame", "gaps", "transfers", "memory", "steps", "tables"]


@test
def a_page_opens_shows_the_verdict_and_draws_every_view(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        page.screenshot(os.path.join(PICTURES, "page.png"))
        found = page.run("[...document.querySelectorAll('main > section')].map((section) => section.id)")
        require(found == SECTIONS, f"the sections are {found}")
        report = json.loads(subprocess.run([RIDGE, "report", made_trace("training"), "--json"], capture_output=True, check=True).stdout)
        text = page.run("document.getElementById('verdict').innerText")
        for sentence in (report["verdict"]["manager"], report["verdict"]["engineer"], report["verdict"]["findings"][0]["title"]):
            require(sentence in text, f"the verdict does not say “{sentence}”")
        require(page.run("document.querySelectorAll('#verdict .finding .gain-bar').length") > 0, "no finding has a bar for its gain")
        for section in SECTIONS:
            page.screenshot(os.path.join(PICTURES, f"{section}.png"), "#" + section)
            require("could not be drawn" not in page.run(f"document.getElementById('{section}').innerText"), f"{section} could not be drawn")
        for section, least in (("kernels", 5), ("gaps", 5), ("transfers", 2), ("account", 3)):
            rows = page.run(f"document.querySelectorAll('#{section} tbody tr').length")
            require(rows >= least, f"the table of {section} has {rows} rows")
        for section, marks in (("gaps", ".bar"), ("steps", ".bar"), ("transfers", ".dot"), ("memory", "path.memory-line"), ("roofline", ".dot")):
            require(page.run(f"document.querySelectorAll('#{section} svg {marks}').length") > 0, f"{section} has an empty picture")
        for canvas in (".stage canvas", "canvas.flame"):
            require(painted(page, canvas) > 5, f"{canvas} is blank")


@test
def the_figures_on_the_page_are_those_of_the_report(chromium):
    report = json.loads(subprocess.run([RIDGE, "report", made_trace("training"), "--json"], capture_output=True, check=True).stdout)
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        device = report["devices"]["0"]
        rows = page.run("[...document.querySelectorAll('#kernels tbody th')].map((cell) => cell.innerText)")
        require(sorted(rows) == sorted(kernel["name"] for kernel in device["kernels"]), f"the kernels are {rows}")
        sums = page.run("""(() => {
            const {gaps, activities} = ridge.traces[0];
            const sum = (list) => list.reduce((a, b) => a + b, 0);
            return [sum(gaps.duration), sum(activities.duration.filter((_, i) => activities.kind[i] === 0)), activities.count];
        })()""")
        require(sums[0] == device["account"]["idle_ns"], f"the gaps sum to {sums[0]}, idle is {device['account']['idle_ns']}")
        require(sums[1] == device["kernel_sum_ns"], f"the kernels sum to {sums[1]}, not {device['kernel_sum_ns']}")
        exact = page.run("[...document.querySelectorAll('#account .parts tbody tr')].map((row) => Number(row.cells[4].innerText.replace(/\\D/g, '')))")
        require(sum(exact) == device["account"]["idle_ns"], f"the causes sum to {sum(exact)}")


@test
def keys_and_the_wheel_zoom_and_pan_the_timeline(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        x, y, width, height = timeline_box(page)
        middle = (x + width * 0.6, y + height * 0.6)
        whole = view_of(page)
        page.key("w")
        page.settle()
        near = view_of(page)
        require(near[1] - near[0] < whole[1] - whole[0] and near[0] > whole[0], "W does not zoom in")
        page.key("s")
        page.key("w")
        page.key("w")
        page.settle()
        before = view_of(page)
        page.key("d")
        page.settle()
        require(view_of(page)[0] > before[0], "D does not move later")
        page.key("a")
        page.key("a")
        page.settle()
        require(view_of(page)[0] < before[0], "A does not move earlier")
        page.key("0")
        page.settle()
        require(abs(view_of(page)[1] - whole[1]) <= abs(whole[1]) * 0.01, "0 does not show everything")
        page.mouse("mouseWheel", *middle, deltaX=0, deltaY=-200, modifiers=2)
        page.settle()
        wheel = view_of(page)
        require(wheel[1] - wheel[0] < (whole[1] - whole[0]) * 0.8, "Ctrl and the wheel do not zoom in")
        page.drag(middle[0], middle[1], middle[0] - 150, middle[1])
        page.settle()
        require(view_of(page)[0] > wheel[0], "dragging left does not move later")


@test
def search_counts_matches_and_walks_through_them(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        page.run("window.found = []; ridge.on('find', (detail) => found.push(detail)); document.activeElement.blur()")
        page.key("/", code="Slash")
        require(page.run("document.activeElement.type") == "search", "/ does not go to the search")
        page.type("softmax_warp")
        page.settle()
        found = page.run("found[found.length - 1]")
        require(found and found["count"] == 72 and found["total"] == 360000, f"the search found {found}")
        page.key("Enter")
        page.settle()
        picked = page.run("ridge.picked")
        require(picked and picked["table"] == "activities", f"Enter picked {picked}")
        page.key("Enter")
        page.settle()
        require(page.run("ridge.picked.row") != picked["row"], "Enter does not go on to the next match")


@test
def a_click_tells_of_an_event_and_a_drag_on_the_ruler_measures(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        row = page.run("ridge.traces[0].activities.kind.indexOf(0) + 30")
        page.run(f"ridge.pick({{trace: 0, table: 'activities', row: {row}}})")
        page.settle()
        name = page.run(f"ridge.traces[0].strings[ridge.traces[0].activities.name[{row}]]")
        require(name in page.run("document.querySelector('#timeline').innerText"), f"the panel does not tell of {name}")
        page.key("Escape")
        x, y, width, height = timeline_box(page)
        picked = None
        for step in range(3, 40):
            page.click(x + width * 0.5, y + height * step / 42)
            page.settle()
            picked = page.run("ridge.picked")
            if picked:
                break
        require(picked, "clicking down the middle of the timeline picks nothing")
        page.drag(x + width * 0.4, y + 12, x + width * 0.7, y + 12)
        page.settle()
        selection = page.run("ridge.selection")
        require(selection and selection["to"] > selection["from"], "dragging on the ruler selects nothing")
        page.screenshot(os.path.join(PICTURES, "timeline-measure.png"), "#timeline")


@test
def the_account_divides_by_click_and_by_key(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        bars = "document.querySelectorAll('#account .account-bar').length"
        page.run("document.querySelector('#account .account-bar .part').click()")
        require(page.run(bars) == 2, "busy does not divide")
        require("layer_norm_kernel" in page.run("document.querySelector('#account .parts').innerText"), "busy does not divide into kernels")
        page.run("[...document.querySelectorAll('#account .account-bar')][0].lastElementChild.click()")
        page.run("[...document.querySelectorAll('#account .account-bar')][1].firstElementChild.focus()")
        page.key("Enter")
        require(page.run(bars) == 3, "host does not divide by the Enter key")
        require("decode" in page.run("document.querySelector('#account .parts').innerText"), "host is not divided by name")
        page.screenshot(os.path.join(PICTURES, "account-divided.png"), "#account")
        page.key("ArrowRight")
        require(page.run("document.activeElement === [...document.querySelectorAll('#account .account-bar')][1].children[1]"), "→ does not go to the next part")
        page.key("Escape")
        require(page.run(bars) == 2, "Escape does not close a division")


@test
def views_move_the_timeline(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        page.run("window.found = []; ridge.on('find', (detail) => found.push(detail))")
        page.run("[...document.querySelectorAll('#kernels .row-button')].find((one) => one.innerText.includes('gelu')).click()")
        page.settle()
        require(page.run("found.length && found[found.length - 1].count") == 72, "a kernel of the table is not found on the timeline")
        page.run("document.querySelector('#gaps .bar:last-of-type').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        page.settle()
        gap = page.run("ridge.selection")
        require(gap and gap["to"] > gap["from"], "a bar of the gaps does not select one on the timeline")
        page.run("document.querySelector('#steps .bar').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        page.settle()
        step = page.run("ridge.reports[0].steps.list[0]")
        require(page.run("ridge.selection.to - ridge.selection.from") == step["duration_ns"], "a step is not selected as long as it is")
        page.run("document.querySelector('#transfers .dot').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        page.settle()
        require(page.run("ridge.picked && ridge.traces[0].activities.kind[ridge.picked.row]") == 1, "a point of the transfers does not pick a copy")
        page.run("found.length = 0; document.querySelector('#verdict .evidence .link').click()")
        page.settle()
        require(page.run("found.length && found[0].count > 0"), "the verdict's evidence is not shown on the timeline")


@test
def tables_sort_and_filter(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        names = "[...document.querySelectorAll('#kernels tbody th')].map((cell) => cell.innerText)"
        first = page.run(names)
        page.run("[...document.querySelectorAll('#kernels thead button')].find((one) => one.innerText === 'mean').click()")
        page.run("[...document.querySelectorAll('#kernels thead button')].find((one) => one.innerText === 'mean').click()")
        require(page.run(names) == first[::-1], "a second click does not turn the order")
        require(page.run("document.querySelector('#kernels th[aria-sort=ascending]').innerText.trim()") == "mean", "the order is not told to screen readers")
        page.run("document.querySelector('#kernels input[type=search]').focus()")
        page.type("SOFTMAX")
        page.settle()
        require(page.run(names) == ["softmax_warp_forward"], f"the filter leaves {page.run(names)}")


@test
def the_flame_graph_zooms_and_searches(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        says = "document.querySelector('.flame-says').innerText"
        page.run("document.querySelector('canvas.flame').focus()")
        require(page.run(says).startswith("everything"), "it does not begin with everything")
        page.key("ArrowDown")
        require(page.run(says).startswith("ProfilerStep#"), f"↓ leads to {page.run(says)}")
        page.key("ArrowDown")
        page.key("Enter")
        inside = page.run(says)
        require(inside.startswith(("forward", "load batch")), f"↓ leads to {inside}")
        page.key("Escape")
        require(page.run(says).startswith("ProfilerStep#"), "Escape does not zoom out")
        page.run("document.querySelector('#flame input').focus()")
        page.type("aten::mm")
        page.settle()
        require("%" in page.run("document.querySelector('#flame output').innerText"), "the search tells no share")


@test
def annotations_that_outlive_the_function_they_begin_in_are_in_the_flame_graph(chromium):
    with Opened(chromium, make_page("with-stack", made_trace("with_stack"))) as page:
        page.settle()
        page.screenshot(os.path.join(PICTURES, "with-stack.png"), "#flame")
        parents = page.run("""(() => {
            const {ranges, strings} = ridge.traces[0];
            const named = new Set();
            for (let i = 0; i < ranges.count; i++)
                named.add(`${strings[ranges.name[i]]} < ${ranges.parent[i] < 0 ? '-' : strings[ranges.name[ranges.parent[i]]]}`);
            return [...named].sort();
        })()""")
        require(parents == ["aten::mm < model.py(5): call", "backward < train.py(1): <module>", "forward < train.py(1): <module>",
                            "model.py(5): call < backward", "model.py(5): call < forward",
                            "profiler.py(12): __exit__ < train.py(1): <module>",
                            "profiler.py(9): __enter__ < train.py(1): <module>", "train.py(1): <module> < -"], f"the parents are {parents}")
        says = "document.querySelector('.flame-says').innerText"
        page.run("document.querySelector('canvas.flame').focus()")
        frames = []
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowDown"):
            page.key(key)
            frames.append(page.run(says).split(",")[0])
        # of 600 µs the first is counted for __enter__, in which it lies
        require(frames == ["train.py(1): <module>: 4.02 ms", "forward: 2.40 ms", "model.py(5): call: 2.32 ms", "forward: 2.40 ms",
                           "backward: 1.20 ms", "model.py(5): call: 1.12 ms"], f"the frames are {frames}")


@test
def functions_of_python_are_a_flame_graph_without_the_interpreter(chromium):
    trace = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures", "python.ridge")
    with Opened(chromium, make_page("python", trace)) as page:
        def search(text):
            page.run(f"""(() => {{
                const search = document.querySelector('#flame input');
                search.value = '{text}';
                search.dispatchEvent(new Event('input'));
            }})()""")
            return page.run("document.querySelector('#flame output').innerText")
        titles = page.run("[...document.querySelectorAll('#flame option')].map((one) => one.textContent)")
        require(titles[0].startswith("Python functions") and titles[1].startswith("samples"), f"the choices are {titles}")
        require(search("_PyEval").startswith("0 frames") and not search("squares").startswith("0 frames"), "the interpreter is shown")
        page.run("""(() => {
            const select = document.querySelector('#flame select');
            select.selectedIndex = 1;
            select.dispatchEvent(new Event('change'));
        })()""")
        require(not search("_PyEval").startswith("0 frames"), "the interpreter is not shown")


@test
def tables_are_those_of_the_text_report(chromium):
    trace = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures", "python.ridge")
    printed = subprocess.run([RIDGE, "report", trace, "--section", "cpu"], capture_output=True, text=True, check=True).stdout
    with Opened(chromium, make_page("cpu", trace)) as page:
        page.screenshot(os.path.join(PICTURES, "cpu.png"), "#cpu")
        captions = page.run("[...document.querySelectorAll('#cpu caption')].map((caption) => caption.textContent)")
        for caption in captions:
            require(caption.replace(": ", "  ", 1) in printed, f"“{caption}” is not in the text report")
        require(len(captions) >= 2, f"the CPU has the tables {captions}")
        for cell in page.run("[...document.querySelectorAll('#cpu td.number')].map((cell) => cell.textContent)"):
            require(cell in printed or cell == "0.0 %", f"“{cell}” is not in the text report")
        page.run("document.querySelectorAll('#tables details').forEach((details) => { details.open = true; })")
        page.settle()
        require(page.run("document.querySelectorAll('#tables tbody tr').length") > 3, "tables without rows")


@test
def two_traces_stand_side_by_side(chromium):
    after = made_trace("after", maker="training", slow=0.7)
    with Opened(chromium, make_page("two", made_trace("training"), after)) as page:
        require(page.run("ridge.traces.length") == 2, "there are not two traces")
        text = page.run("document.getElementById('compare').innerText")
        require("×" in text and "sm90_xmma_gemm" in text, "kernels are not compared")
        difference = page.run("ridge.difference")
        require(difference["change_ns"] == sum(part["change_ns"] for part in difference["parts"]), "the parts of the difference do not sum to it")
        shown = page.run("document.getElementById('difference').innerText")
        require(difference["headline"] in shown and difference["second"] in shown, "the page does not show what changed")
        bars = sum(part["change_ns"] != 0 for part in difference["parts"]) + 2
        require(page.run("document.querySelectorAll('.waterfall rect').length") == bars, "the waterfall has another number of bars")
        boxes, links = (page.run(f"document.querySelectorAll('.paired-{kind}').length") for kind in ("event", "link"))
        require(boxes > 1 and links > 0, f"the steps have {boxes} activities and {links} links")
        page.run("[...document.querySelectorAll('.paired-event')].pop().dispatchEvent(new MouseEvent('click'))")
        picked = page.run("ridge.picked")
        require(picked and picked["trace"] == 1 and picked["table"] == "activities", f"a click on the last box picks {picked}")
        page.screenshot(os.path.join(PICTURES, "difference.png"), "#difference")
        page.screenshot(os.path.join(PICTURES, "compare.png"), "#compare")
        page.screenshot(os.path.join(PICTURES, "timeline-two.png"), "#timeline")


@test
def it_is_readable_in_the_dark_on_paper_and_on_a_telephone(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        light = page.run("getComputedStyle(document.body).backgroundColor")
        page.dark(True)
        page.settle()
        require(page.run("getComputedStyle(document.body).backgroundColor") != light and page.run("ridge.theme") == "dark", "it does not follow the system into the dark")
        for section in ("verdict", "account", "timeline", "gaps", "flame", "roofline"):
            page.screenshot(os.path.join(PICTURES, f"{section}-dark.png"), "#" + section)
        page.dark(False)
        pdf = page.pdf()
        require(pdf.startswith(b"%PDF") and len(pdf) > 20000, "it cannot be printed")
        with open(os.path.join(PICTURES, "page.pdf"), "wb") as file:
            file.write(pdf)
        page.resize(390, 800)
        page.settle()
        require(page.run("document.documentElement.scrollWidth <= innerWidth"), "a narrow window has to be scrolled sideways")
        page.screenshot(os.path.join(PICTURES, "narrow.png"))


@test
def everything_has_a_name_for_screen_readers(chromium):
    with Opened(chromium, make_page("training", made_trace("training"))) as page:
        nameless = page.run("""[...document.querySelectorAll('button, input, select, canvas, [role=button], [role=region], svg[role], table')].filter((one) => {
            if (one.closest('[aria-hidden=true]')) return false;
            const label = one.getAttribute('aria-label') || one.textContent.trim() || one.title || (one.labels && one.labels.length) || one.getAttribute('aria-labelledby');
            return !label;
        }).map((one) => one.outerHTML.slice(0, 100))""")
        require(not nameless, f"without a name: {nameless[:3]}")
        require(page.run("[...document.querySelectorAll('table')].every((one) => one.caption && one.querySelector('th[scope]'))"), "a table lacks its caption or headings")
        require(page.run("[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size"), "two elements share an id")
        for _ in range(12):
            page.key("Tab")
        require(page.run("document.activeElement !== document.body && document.activeElement.matches(':focus-visible')"), "Tab does not lead into the page")


@test
def the_example_of_the_readme_has_its_pictures(chromium):
    """docs/page-verdict.png and docs/page-timeline.png are copies of these."""
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "train.ridge")
    with Opened(chromium, make_page("example", example), width=1180, height=900) as page:
        page.screenshot(os.path.join(PICTURES, "readme-verdict.png"), "#verdict")
        page.run("(({steps}) => ridge.timeline.setView(steps.start[4], steps.start[6]))(ridge.traces[0])")
        page.settle()
        page.screenshot(os.path.join(PICTURES, "readme-timeline.png"), "#timeline")


@test
def a_job_has_its_ranks_in_rows_linked_collectives_and_a_heat_map(chromium):
    ranks = [made_trace(f"job-rank{rank}", maker="rank_of_job", rank=rank, late=150 if rank == 2 else 0) for rank in range(3)]
    path = os.path.join(SCRATCH, "job.html")
    subprocess.run([RIDGE, "ranks", *ranks, "-f", "-o", path], check=True)
    with Opened(chromium, path) as page:
        page.screenshot(os.path.join(PICTURES, "job.png"))
        found = page.run("[...document.querySelectorAll('main > section')].map((section) => section.id)")
        require(found == ["job", "ranks", "heat", "tables"], f"the sections are {found}")
        require("Rank 2 holds the job back" in page.run("document.getElementById('job').innerText"), "the late rank is not named")
        require(page.run("ridge.job.rows.map((row) => row.rank)") == [0, 1, 2], "the ranks are not in rows")
        require(page.run("ridge.job.links.every((link) => link.members.length === 9)"), "a collective does not link its three ranks")
        heat = page.run("ridge.job.heat")
        require(len(heat) == 3 * 7 and max(heat) == 270000 and heat.index(max(heat)) >= 14, f"the heat map is {heat}")
        for canvas in (".job-ranks", ".job-heat"):
            require(painted(page, canvas) > 3, f"{canvas} is empty")
        page.run("document.querySelector('.job-ranks').focus()")
        page.key("w")
        page.settle()
        require(page.run("ridge.rankChart.view.to - ridge.rankChart.view.from < ridge.job.time_ns"), "W does not zoom in")
        page.run("ridge.rankChart.pick(ridge.job.links[0])")
        require("arrives last" in page.run("document.querySelector('#ranks .job-details').innerText"), "a collective is not described")
