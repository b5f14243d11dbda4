"""Opens pages that `ridge report --format html` wrote in a real browser and checks what a person would:
that they say what they should, do what is asked, survive hostile traces, ask nothing of the network.

  python3 check.py RIDGE GENERATE FIXTURES SCRATCH PICTURES

GENERATE makes large traces; FIXTURES may be empty. Prints FAILED lines, figures (times are reported,
never asserted) and last `N passed, N failed[, N skipped]`. Pictures of the views go to PICTURES."""

import os
import sys
import traceback

import behavior  # for its tests
import browser
import drawn  # for its tests
import extremes  # for its tests
from suite import PICTURES, Skip, tests

counts = {"passed": 0, "failed": 0, "skipped": 0}


def main():
    os.makedirs(PICTURES, exist_ok=True)
    wanted = sys.argv[6:]
    chromium = browser.Browser(browser.find())
    for one in tests:
        if wanted and not any(word in one.__name__ for word in wanted):
            continue
        name = one.__name__.replace("_", " ")
        try:
            one(chromium)
            counts["passed"] += 1
        except Skip as reason:
            print(f"skipped tests/page: {name}: {reason}")
            counts["skipped"] += 1
        except (AssertionError, browser.BrowserError) as error:
            print(f"FAILED tests/page: {name}: {error}")
            counts["failed"] += 1
            if chromium.process.poll() is not None:
                chromium = browser.Browser(browser.find())
        except Exception:
            print(f"FAILED tests/page: {name}: {traceback.format_exc()}")
            counts["failed"] += 1
    chromium.close()
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return counts["failed"] > 0


sys.exit(main())
