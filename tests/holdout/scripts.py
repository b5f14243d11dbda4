"""Programs of a hold-out set that are scripts of their own, in a folder.

A script's prepare(fixed) returns the loop of the program, which takes the number of its turns; CUDA C++
programs take the argument 1 for the fixed one and print the nanoseconds of a turn."""

import glob
import importlib
import os
import re
import sys

STEPS = 60


def script(folder, name):
    def prepare(fixed):
        return prepare.load().prepare(fixed)

    def load():
        if folder not in sys.path:
            sys.path.insert(0, folder)
        module = importlib.import_module(name)
        prepare.steps = getattr(module.prepare, "steps", STEPS)
        return module

    prepare.__name__, prepare.load, prepare.takes_turns = name, load, True
    return prepare


def cuda(folder, name):
    def prepare(_):
        raise NotImplementedError(name)

    prepare.__name__, prepare.source = name, os.path.join(folder, name + ".cu")
    return prepare


def declared(text, what):
    """What the header of a script declares: '# finding: a, b' or '// remedy: words'."""
    found = re.search(rf"^(?:#|//) {what}: (.*)$", text, re.M)
    return found.group(1) if found else ""


def programs_of(folder):
    """All scripts of a folder, healthy ones last: (prepare, first findings that are right, remedy)."""
    programs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.py")) + glob.glob(os.path.join(folder, "*.cu"))):
        name, extension = os.path.splitext(os.path.basename(path))
        with open(path) as file:
            text = file.read()
        prepare = (cuda if extension == ".cu" else script)(folder, name)
        programs.append((prepare, declared(text, "finding").split(", "), declared(text, "remedy")))
    return sorted(programs, key=lambda program: program[1] == ["healthy"])
