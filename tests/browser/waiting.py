"""Waiting for a page."""

import time


def until(page, expression):
    """Waits until the expression is true; Playwright's own wait evaluates in the page, which its policy refuses."""
    end = time.monotonic() + 30
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)
