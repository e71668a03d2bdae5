"""Waiting for a page, as long as it takes on a busy machine."""

import time


def until(page, expression):
    """Waits until the expression is true; Playwright's own wait evaluates in the page, which its policy refuses."""
    end = time.monotonic() + 30
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


def painted(page):
    """Waits until the page has drawn what it was about to draw: layout may ask for another frame."""
    for _ in range(3):
        page.evaluate("new Promise((done) => requestAnimationFrame(() => done()))")


def until_heard(page, complaints):
    """Waits until the page has complained so often."""
    end = time.monotonic() + 30
    while len(page.complaints) < complaints:
        assert time.monotonic() < end, page.complaints
        page.wait_for_timeout(20)
