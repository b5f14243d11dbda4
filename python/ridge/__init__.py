"""Records and reports on programs from inside Python.

    import ridge

    with ridge.record("step.ridge"):     # also a decorator
        with ridge.range("forward"):     # also a decorator
            model(batch)

    report = ridge.report("step.ridge")
    report.verdict.manager               # the headline
    report                               # in a notebook: the page

A failure to record is a warning and never stops the program. Everything is done by the ridge
command and, for ranges and CUDA, by its probe; there is no extension module.
"""

import builtins
import contextlib
import ctypes
import functools
import html
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import warnings

__all__ = ["record", "range", "report", "Report", "command"]

_PROBE = "NVTX_INJECTION64_PATH"
_SPOOL = "RIDGE_SPOOL"
_POLL_SECONDS = 0.002
_ATTACH_POLLS = 2500


class Warning(UserWarning):
    """Something could not be recorded."""


def command():
    """The path of the ridge command: $RIDGE, the one of this environment, or the one in PATH."""
    given = os.environ.get("RIDGE")
    if given:
        return given
    own = os.path.join(sysconfig.get_path("scripts"), "ridge")
    found = own if os.access(own, os.X_OK) else shutil.which("ridge")
    if not found:
        raise FileNotFoundError("the ridge command was not found; set $RIDGE to its path")
    return found


# ---- The probe -----------------------------------------------------------------------------------

_lock = threading.Lock()
_probe = None  # the loaded library


def _load_probe():
    """The probe, if this process is recorded; else None."""
    global _probe
    if _probe is not None or _SPOOL not in os.environ or _PROBE not in os.environ:
        return _probe
    with _lock:
        try:
            library = ctypes.CDLL(os.environ[_PROBE])
            library.ridge_probe_push.argtypes = [ctypes.c_char_p]
            library.ridge_probe_attach.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
            _probe = library
        except (OSError, AttributeError) as error:
            warnings.warn("ranges are not recorded: %s" % error, Warning, stacklevel=3)
            del os.environ[_SPOOL]
    return _probe


class _Context(contextlib.ContextDecorator):
    """A decorated function gets a context of its own for each call, so it may call itself."""

    def _recreate_cm(self):
        return type(self)(*self._arguments[0], **self._arguments[1])


class range(_Context):
    """A named part of the program: a context manager and a decorator. Without a recording it does
    nothing."""

    def __init__(self, name):
        self._arguments = ((name,), {})
        self._name = str(name).encode("utf-8", "replace").replace(b"\0", b" ")
        self._open = False

    def __enter__(self):
        probe = _load_probe()
        if probe is not None:
            probe.ridge_probe_push(self._name)
            self._open = True
        return self

    def __exit__(self, *error):
        if self._open:
            _probe.ridge_probe_pop()
            self._open = False
        return False


# ---- Recording -----------------------------------------------------------------------------------


def _allow_reading(pid):
    """Lets the recorder read /proc of this process where Yama restricts that."""
    try:
        ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(pid), 0, 0, 0)
    except (OSError, AttributeError):
        pass


class record(_Context):
    """Records this process and its children while the block runs: a context manager and a
    decorator.

    path: the trace, which is replaced if it exists. Keyword arguments are options of `ridge
    record`: sample_rate=4999, stacks="fp", backend="cpu".
    """

    def __init__(self, path, **options):
        self._arguments = ((path,), options)
        self.path = os.fspath(path)
        self._options = options
        self._process = None
        self._saved = {}

    def _command(self):
        words = [command(), "record", "-q", "-f", "-p", str(os.getpid()), "-o", self.path]
        for name, value in self._options.items():
            option = "--" + name.replace("_", "-")
            if value is True:
                words.append(option)
            elif value is not False and value is not None:
                words += [option, str(value)]
        return words

    def _start(self):
        readable, writable = os.pipe()
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[writable],
                start_new_session=True,
                env=dict(os.environ, RIDGE_ANNOUNCE=str(writable)),
            )
            _allow_reading(self._process.pid)
        finally:
            os.close(writable)
        with os.fdopen(readable, encoding="utf-8", errors="surrogateescape") as announced:
            return dict(line.rstrip("\n").split("=", 1) for line in announced if "=" in line)

    def _use_probe(self, variables):
        for name in (_SPOOL, "RIDGE_PROBE", _PROBE, "CUDA_INJECTION64_PATH"):
            if name in variables:
                self._saved[name] = os.environ.get(name)
                os.environ[name] = variables[name]
        probe = _load_probe()
        if probe is None:
            return
        words = [variables.get(name, "").encode() for name in (_SPOOL, "RIDGE_PROBE")]
        for _ in builtins.range(_ATTACH_POLLS):  # the session before may be about to end
            if probe.ridge_probe_attach(*words, None) != 1:
                break
            time.sleep(_POLL_SECONDS)
        for _ in builtins.range(_ATTACH_POLLS):
            if probe.ridge_probe_attached() or not os.path.isdir(variables[_SPOOL]):
                return
            time.sleep(_POLL_SECONDS)
        warnings.warn("CUDA and ranges are not recorded: the probe does not start", Warning, 4)

    def __enter__(self):
        if _SPOOL in os.environ:
            warnings.warn("this process is recorded already", Warning, stacklevel=2)
            return self
        try:
            variables = self._start()
            if _SPOOL in variables:  # else the recorder has failed, and says why at the end
                self._use_probe(variables)
        except (OSError, ValueError) as error:
            warnings.warn("not recorded: %s" % error, Warning, stacklevel=2)
        return self

    def __exit__(self, *error):
        process, self._process = self._process, None
        if process is None:
            return False
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        status = process.wait()
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._saved = {}
        self._errors.seek(0)
        message = self._errors.read().decode("utf-8", "replace").strip()
        self._errors.close()
        if status != 0:
            warnings.warn(message or "ridge record failed with status %d" % status, Warning, 2)
        return False


# ---- Reports -------------------------------------------------------------------------------------


class _Object(dict):
    """An object of the JSON: members are also attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self):
        return sorted(set(super().__dir__()) | {name for name in self if name.isidentifier()})


def _run(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout


class Report(_Object):
    """The report as `ridge report --json` writes it (docs/report-json.md). str() is the text; a
    notebook shows the page."""

    def __init__(self, path, members, options):
        super().__init__(members)
        self.__dict__["_path"] = path
        self.__dict__["_options"] = options

    def __str__(self):
        words = [command(), "report", self._path] + self._options
        return _run(words).decode("utf-8", "replace")

    __repr__ = __str__

    def page(self):
        """The page, as HTML."""
        return _run([command(), "report", self._path, "--format", "html"] + self._options).decode()

    def _repr_html_(self):
        return (
            '<iframe style="width: 100%%; height: 700px; border: 0" srcdoc="%s"></iframe>'
            % html.escape(self.page(), quote=True)
        )


def report(path, **options):
    """The report on a trace. Keyword arguments are options of `ridge report`: steps="all",
    range="forward", window="0s,1s", device="0"."""
    path = os.fspath(path)
    words = []
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    text = _run([command(), "report", path, "--json"] + words)
    members = json.loads(text, object_pairs_hook=_Object)
    return Report(path, members, words)
