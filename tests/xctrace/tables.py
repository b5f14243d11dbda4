"""Tables as `xctrace export` writes them, of small programs of our own making.

Every value is written once and referred to afterwards, as Instruments does: in a real export 99 % of
the cells are references.
"""
import re
from xml.sax.saxutils import escape, quoteattr

COLUMNS = {
    "metal-gpu-intervals": "start duration channel-name frame-number start-latency event-depth "
    "event-label state process gpu bytes cmdbuffer-id encoder-id",
    "metal-application-encoders-list": "start duration thread process gpu frame-number "
    "cmdbuffer-label encoder-label event-type cmdbuffer-id encoder-id",
    "metal-application-command-buffer-submissions": "start duration thread process cmdbuffer-id",
    "metal-command-buffer-completed": "timestamp cmdbuffer-id commit-id",
    "metal-shader-profiler-intervals": "start duration name label shader-type percent-of-kick process",
    "graphics-compiler-activity-intervals": "start duration compiler program-type process",
    "gpu-performance-state-intervals": "start duration gpu-performance-state track-label is-induced "
    "narrative",
    "device-thermal-state-intervals": "start duration end thermal-state track-label is-induced narrative",
    "metal-current-allocated-size": "start duration end process current-allocated-size",
    "metal-resource-allocations": "timestamp duration process thread resource-id parent-resource-id "
    "label resource-size gpu resource-type event-type",
    "time-profile": "time thread process weight stack",
}


class Document:
    """One table; `cell` interns, `composite` is a value with parts."""

    def __init__(self, schema):
        self.schema, self.ids, self.rows = schema, {}, []

    def value(self, tag, text, fmt=None):
        key = (tag, text)
        if key in self.ids:
            return f'<{tag} ref="{self.ids[key]}"/>'
        self.ids[key] = len(self.ids) + 1
        return f"<{tag} id=\"{self.ids[key]}\" fmt={quoteattr(str(fmt or text))}>{escape(str(text))}</{tag}>"

    def composite(self, tag, fmt, *parts):
        key = (tag, fmt)
        if key in self.ids:
            return f'<{tag} ref="{self.ids[key]}"/>'
        inner = "".join(part() for part in parts)
        self.ids[key] = len(self.ids) + 1
        return f'<{tag} id="{self.ids[key]}" fmt={quoteattr(fmt)}>{inner}</{tag}>'

    def process(self, name, pid):
        return self.composite("process", f"{name} ({pid})", lambda: self.value("pid", pid))

    def thread(self, name, tid, program, pid):
        return self.composite(
            "thread", f"{name} 0x{tid:x} ({program}, pid: {pid})", lambda: self.value("tid", tid),
            lambda: self.process(program, pid))

    def label(self, text, fmt):
        return self.composite("formatted-label", fmt, lambda: self.value("string", text))

    def stack(self, frames):
        def frame(name):
            return self.composite("frame", name, lambda: "").replace("fmt=", "name=")
        return self.composite("backtrace", " <- ".join(frames), *[lambda n=n: frame(n) for n in frames])

    def add(self, *cells):
        self.rows.append("<row>" + "".join(cells) + "</row>")

    def text(self):
        columns = "".join(f"<col><mnemonic>{name}</mnemonic><name>{name}</name></col>"
                          for name in COLUMNS[self.schema].split())
        return ('<?xml version="1.0"?>\n<trace-query-result>\n'
                f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"{self.schema}\">"
                f"{columns}</schema>" + "\n".join(self.rows) + "\n</node></trace-query-result>\n")


class Program:
    """What a program does on one thread and one GPU; times are nanoseconds."""

    def __init__(self, name, pid):
        self.name, self.pid, self.tid = name, pid, 0x1000 + pid
        self.tables = {schema: Document(schema) for schema in COLUMNS}
        self.now, self.gpu_free, self.next_id = 500_000_000, 0, 1 << 36

    def owner(self, table):
        return table.process(self.name, self.pid)

    def main(self, table):
        return table.thread("Main Thread", self.tid, self.name, self.pid)

    def identify(self):
        self.next_id += 1
        return self.next_id

    def buffer(self, encoders, encode_ns=2000, latency=20_000, gap=1000, wait=True, labels=True,
               intervals=True):
        """A command buffer of encoders (name, GPU nanoseconds); returns when it is complete."""
        number = self.identify()
        first = self.now
        at = max(self.now + encode_ns * len(encoders) + latency, self.gpu_free + gap)
        for index, (name, duration) in enumerate(encoders):
            encoder = self.identify()
            self.encode(number, encoder, index, encode_ns, name if labels else None)
            if intervals:
                self.execute(number, encoder, index, at, duration, name if labels else None)
            at += duration + gap
        self.gpu_free = at - gap
        table = self.tables["metal-application-command-buffer-submissions"]
        table.add(table.value("start-time", self.now), table.value("duration", 500), self.main(table),
                  self.owner(table), table.value("metal-command-buffer-id", number))
        done = self.gpu_free + 60_000
        table = self.tables["metal-command-buffer-completed"]
        table.add(table.value("start-time", done), table.value("metal-command-buffer-id", number),
                  table.value("uint64", 0))
        if wait:
            self.now = done + 5_000
        return first, done

    def encode(self, number, encoder, index, duration, label):
        table = self.tables["metal-application-encoders-list"]
        table.add(table.value("start-time", self.now), table.value("duration", duration),
                  self.main(table), self.owner(table), table.value("metal-device-name", "M3"),
                  table.value("uint32", 1), table.value("metal-object-label", "Command Buffer 0"),
                  table.value("metal-object-label", label or f"Compute Command {index}"),
                  table.value("metal-event-name", "Encoding"),
                  table.value("metal-command-buffer-id", number),
                  table.value("metal-command-buffer-id", encoder))
        self.now += duration

    def execute(self, number, encoder, index, start, duration, label, foreign=False):
        table = self.tables["metal-gpu-intervals"]
        name = label or f"Command Buffer 0:Compute Command {index}"
        process = table.process("WindowServer", 411) if foreign else self.owner(table)
        table.add(table.value("start-time", start), table.value("duration", duration),
                  table.value("gpu-channel-name", "Compute"), table.value("gpu-frame-number", 1),
                  "<sentinel/>", table.value("metal-nesting-level", 0),
                  table.label(name, f"{name} ( {self.name} ({self.pid}) )  0x{encoder:x}"),
                  table.value("gpu-state", "Active"), process, table.value("metal-device-name", "M3"),
                  table.value("size-in-bytes", 0), table.value("metal-command-buffer-id", number),
                  table.value("metal-command-buffer-id", encoder))

    def foreign(self, count):
        """GPU work of another process, which every recording has."""
        for index in range(count):
            self.execute(self.identify(), self.identify(), 0, 400_000_000 + index * 8_333_333, 700_000,
                         "Render", foreign=True)

    def shader(self, name, start, duration):
        table = self.tables["metal-shader-profiler-intervals"]
        table.add(table.value("start-time", start), table.value("duration", duration),
                  table.value("metal-object-label", name), "<sentinel/>",
                  table.value("string", "Compute"), table.value("percent", "99.0"), self.owner(table))

    def compile(self, duration, what="Compile Compute shader"):
        table = self.tables["graphics-compiler-activity-intervals"]
        table.add(table.value("start-time", self.now), table.value("duration", duration),
                  table.value("shader-compiler-name", "Metal Shader Compiler"),
                  table.label(what, f"{what} ({self.name} ({self.pid}))"), self.owner(table))
        self.now += duration

    def thermal(self, start, duration, state):
        table = self.tables["device-thermal-state-intervals"]
        table.add(table.value("start-time", start), table.value("duration", duration),
                  table.value("start-time", start + duration), table.value("thermal-state", state),
                  table.value("string", "Current"), table.value("boolean", 0),
                  table.value("narrative", f"{state} thermal state"))

    def performance(self, start, duration, state):
        table = self.tables["gpu-performance-state-intervals"]
        table.add(table.value("start-time", start), table.value("duration", duration),
                  table.value("gpu-performance-state", state), table.value("string", "M3"),
                  table.value("boolean", 0), table.value("narrative", f"{state} GPU Performance state"))

    def allocate(self, size):
        table = self.tables["metal-resource-allocations"]
        table.add(table.value("start-time", self.now), "<sentinel/>", self.owner(table), self.main(table),
                  table.value("gpu-hardware-trace", self.identify()),
                  table.value("gpu-hardware-trace", 2**64 - 1), table.value("metal-object-label", "Buffer"),
                  table.value("size-in-bytes", size), table.value("metal-device-name", "M3"),
                  table.value("metal-object-label", "Buffer"),
                  table.value("gpu-memory-event-name", "Allocation"))
        table = self.tables["metal-current-allocated-size"]
        table.add(table.value("start-time", self.now), table.value("duration", 1000),
                  table.value("start-time", self.now + 1000), self.owner(table),
                  table.value("size-in-bytes", size))

    def work(self, duration, *frames):
        """The thread computes on the CPU; a sample every millisecond, leaf first."""
        table = self.tables["time-profile"]
        end = self.now + duration
        for at in range(self.now + 500_000, end, 1_000_000):
            table.add(table.value("sample-time", at), self.main(table), self.owner(table),
                      table.value("weight", 1_000_000), table.stack(list(frames) + ["main"]))
        self.now = end

    def exports(self):
        return {schema: table.text() for schema, table in self.tables.items()}

    def contents(self, exit_status=0, termination=None, schemas=(), arguments="", allocations=False):
        listed = list(COLUMNS) + list(schemas)
        tables = "".join(f'<table schema="{schema}" target-pid="SINGLE"/>\n' for schema in listed)
        tracks = ('<tracks><track name="Allocations"><details><detail name="Statistics" kind="table"/>'
                  '<detail name="Allocations List" kind="table"/></details></track></tracks>'
                  if allocations else "")
        reason = termination or f"exit({exit_status})"
        return (f'<?xml version="1.0"?>\n<trace-toc><run number="1"><info><target><device name="mac" '
                f'model="MacBook Pro" platform="macOS" os-version="26.1"/><process type="launched" '
                f'name={quoteattr(self.name)} pid="{self.pid}" arguments={quoteattr(arguments)} '
                f'return-exit-status="{exit_status}" termination-reason="{reason}"/></target><summary>'
                "<start-date>2026-05-01T10:00:00.000+00:00</start-date><end-reason>Target app exited"
                "</end-reason><instruments-version>26.0 (17A5295f)</instruments-version><template-name>"
                "Metal System Trace</template-name></summary></info><processes/><data>\n"
                f"{tables}</data>{tracks}</run></trace-toc>\n")


# ---- programs, each with one known trait; see README.md ----

CHAIN = [("v_Sinfloat32float32", 21_000), ("v_Cosfloat32float32", 21_000),
         ("v_Expfloat32float32", 20_000), ("v_Logfloat32float32", 20_000)]


def eager(program, labels=True):
    """MLX without mx.compile: ten element-wise kernels of 20 us a step, back to back."""
    for _ in range(60):
        program.buffer((CHAIN * 3)[:10], gap=300, latency=8_000, encode_ns=1200, wait=False, labels=labels)
        program.now = max(program.now, program.gpu_free - 150_000)


def compiled(program):
    """The same with mx.compile: one kernel a step."""
    for _ in range(60):
        program.buffer([("Sin_Cos_Exp_Log_fused_float32", 24_000)], latency=8_000, wait=False)
        program.now += 45_000


def synchronous(program):
    """waitUntilCompleted after every command buffer."""
    for step in range(100):
        program.now += 4_000 + step % 7 * 900
        program.buffer([("gemm_f32", 30_000 + step % 11 * 3_000)])


def warm_up(program):
    """The first steps compile shaders and run at a low clock."""
    program.performance(0, 520_000_000, "Minimum")
    program.performance(520_000_000, 400_000_000, "Maximum")
    for step in range(80):
        if step < 3:
            for _ in range(4):
                program.compile(5_000_000)
        program.buffer([("gemm_f16", 400_000 if step > 4 else 900_000)] * 4, wait=False)
        program.now = max(program.now, program.gpu_free - 300_000)


def compiling(program):
    """A shader is compiled in every step: a new shape each time."""
    for _ in range(60):
        program.compile(3_000_000)
        program.buffer([("gemm_f16", 500_000)])


def lazy(program):
    """The graph is built for 6 ms a step, then mx.eval does all the work at once."""
    for _ in range(40):
        program.work(6_000_000, "mlx::core::array::array", "py_build_graph")
        program.buffer([("gemm_f16", 120_000)] * 25, wait=True)


def throttled(program):
    """The machine gets hot: kernels take 1.6 times as long after a third of the run."""
    third = 0
    for step in range(120):
        hot = step >= 40
        if step == 40:
            third = program.gpu_free
        program.buffer([("gemm_f16", 1_600_000 if hot else 1_000_000)] * 3, wait=False)
        program.now = max(program.now, program.gpu_free - 800_000)
    program.thermal(0, third, "Nominal")
    program.thermal(third, program.gpu_free - third, "Serious")
    program.performance(0, third, "Maximum")
    program.performance(third, program.gpu_free - third, "Medium")


def cpu_fallback(program):
    """An operation that has no GPU kernel runs on the CPU between GPU steps."""
    for _ in range(50):
        program.buffer([("gemm_f16", 700_000)])
        program.work(5_000_000, "cblas_sgemm", "mlx::core::CPUKernel::eval_cpu")


def no_gpu(program):
    """Everything runs on the CPU; the GPU is there and idle."""
    program.work(400_000_000, "cblas_sgemm", "mlx::core::Matmul::eval_cpu")
    program.foreign(40)


PROGRAMS = {"eager": eager, "eager-unnamed": lambda program: eager(program, labels=False),
            "compiled": compiled, "synchronous": synchronous, "warm-up": warm_up,
            "compiling": compiling, "lazy": lazy, "throttled": throttled, "cpu-fallback": cpu_fallback,
            "no-gpu": no_gpu}


def write(name, folder, pid=4711, program="python3"):
    made = Program(program, pid)
    PROGRAMS[name](made)
    if name != "no-gpu":
        made.foreign(5)
    for schema, text in made.exports().items():
        with open(f"{folder}/{schema}.xml", "w", encoding="utf-8") as file:
            file.write(text)
    with open(f"{folder}/toc.xml", "w", encoding="utf-8") as file:
        file.write(made.contents())


def retarget(text, old_pid, new_pid):
    """A real table with another process id."""
    text = re.sub(rf">{old_pid}</pid>", f">{new_pid}</pid>", text)
    return text.replace(f"({old_pid})", f"({new_pid})").replace(f"pid: {old_pid})", f"pid: {new_pid})") \
        .replace(f'pid="{old_pid}"', f'pid="{new_pid}"')


if __name__ == "__main__":
    import os
    import sys
    for name in sys.argv[2:] or PROGRAMS:
        os.makedirs(f"{sys.argv[1]}/{name}", exist_ok=True)
        write(name, f"{sys.argv[1]}/{name}")
