"""Builds the wheel: runs make, and packs the ridge command, the probe and the module.

A PEP 517 build backend of its own, because there is no extension module to compile and nothing to
configure. `make wheel` calls it directly.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

PRELOADED = ("libridge-memory.so", "libridge-collectives.so")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return file.read()


def version():
    return re.search(r'RIDGE_VERSION "([^"]+)"', read("include", "ridge.h").decode()).group(1)


def metadata():
    lines = [
        "Metadata-Version: 2.1",
        "Name: ridge",
        "Version: " + version(),
        "Summary: Shows why a tensor program is slower than its hardware allows",
        "License: Apache-2.0",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
        read("README.md").decode(),
    ]
    return "\n".join(lines).encode()


def tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def wheel_file():
    return "\n".join(
        ["Wheel-Version: 1.0", "Generator: ridge", "Root-Is-Purelib: false", "Tag: " + tag(), ""]
    ).encode()


def build_folder():
    return os.environ.get("RIDGE_PREBUILT") or os.environ.get("BUILD") or "build"


def run_make():
    """Builds ridge, unless $RIDGE_PREBUILT names a folder that holds it."""
    if os.environ.get("RIDGE_PREBUILT"):
        return
    jobs = "-j%d" % (os.cpu_count() or 1)
    # those of an outer make would refer to its jobs
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    command = ["make", jobs, "all", "BUILD=" + build_folder()]
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=sys.stderr)


def contents():
    """The members of the wheel: name, content, executable."""
    name = "ridge-" + version()
    library = "libridge-probe." + ("dylib" if sys.platform == "darwin" else "so")
    for file in sorted(os.listdir(os.path.join(ROOT, "python", "ridge"))):
        if file.endswith(".py"):
            yield "ridge/" + file, read("python", "ridge", file), False
    yield name + ".data/scripts/ridge", read(build_folder(), "ridge"), True
    yield name + ".data/data/lib/ridge/" + library, read(build_folder(), library), True
    runtime = "libridge.0.dylib" if sys.platform == "darwin" else "libridge.so.0"
    yield name + ".data/data/lib/ridge/" + runtime, read(build_folder(), runtime), True
    for preloaded in PRELOADED:
        if os.path.exists(os.path.join(ROOT, build_folder(), preloaded)):
            yield name + ".data/data/lib/ridge/" + preloaded, read(build_folder(), preloaded), True
    yield name + ".dist-info/METADATA", metadata(), False
    yield name + ".dist-info/WHEEL", wheel_file(), False
    yield name + ".dist-info/LICENSE", read("LICENSE"), False


def add(archive, name, content, executable):
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    run_make()
    name = "ridge-" + version()
    file = "%s-%s.whl" % (name, tag())
    record = name + ".dist-info/RECORD"
    rows = []
    with zipfile.ZipFile(os.path.join(wheel_directory, file), "w") as archive:
        for member, content, executable in contents():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            rows.append("%s,sha256=%s,%d" % (member, digest.decode(), len(content)))
            add(archive, member, content, executable)
        rows.append(record + ",,")
        add(archive, record, ("\n".join(rows) + "\n").encode(), False)
    return file


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks."""
    name = "ridge-" + version()
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    path = os.path.join(sdist_directory, name + ".tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in files.split("\0"):
            if file and os.path.isfile(os.path.join(ROOT, file)):
                archive.add(os.path.join(ROOT, file), name + "/" + file, recursive=False)
    return os.path.basename(path)


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(folder, exist_ok=True)
    print(os.path.join(folder, build_wheel(folder)))
