"""report.html in a browser: hostile text stays text, nothing is loaded, the tree works by mouse and keyboard."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import headless
import pytest
import report_fixture

ROOT = Path(__file__).resolve().parent.parent.parent
needs_chromium = pytest.mark.skipif(
    headless.PROGRAM is None, reason="no browser: Debian's package chromium is not installed"
)


def test_style_and_script_in_the_header_are_those_of_tools():
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_report.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Addresses of two reports by name: an ordinary run, and one whose every text is hostile."""
    folder = tmp_path_factory.mktemp("report")
    program = folder / "write_report"
    subprocess.run(
        [
            *shlex.split(os.environ.get("CXX", "c++")),
            "-std=c++20",
            f"-I{ROOT / 'include'}",
            ROOT / "tests" / "output" / "write_report.cpp",
            "-lsimdjson",
            "-o",
            program,
        ],
        check=True,
    )
    runs = {
        "plain": report_fixture.run(12),
        "hostile": tuple(report_fixture.hostile(part) for part in report_fixture.run(3)),
    }
    for name, run in runs.items():
        report_fixture.write(folder / name, *run)
        subprocess.run([program, folder / name], check=True)
    return {name: (folder / name / "report.html").as_uri() for name in runs}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    browser = headless.Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    chromium.send("Emulation.clearDeviceMetricsOverride")
    chromium.send("Emulation.setDeviceMetricsOverride", width=1300, height=900, deviceScaleFactor=1, mobile=False)
    chromium.send("Emulation.setEmulatedMedia", features=[])
    return chromium


def shown(text):
    """Text as the page shows it: control characters have a visible sign."""
    return "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n" else c for c in text)


def text_of(browser, selector):
    return browser.run(f"document.querySelector({json.dumps(selector)}).textContent")


def open_question(browser, number):
    button = f".questions li:nth-child({number}) button"
    browser.click(button)
    browser.wait(lambda: browser.run(f"document.querySelector('{button}[aria-current=true]') !== null"))


@needs_chromium
def test_hostile_text_is_shown_as_text(browser, pages):
    trees, answers, _ = (report_fixture.hostile(part) for part in report_fixture.run(3))
    browser.open(pages["hostile"])
    assert browser.run("document.querySelectorAll('.questions li').length") == 3
    for number, answer in enumerate(answers, 1):
        open_question(browser, number)
        assert text_of(browser, ".detail h2") == shown(answer["question"])
        # Everything that can be opened is opened.
        browser.run("""document.querySelectorAll('.tree .row').forEach((row) => row.click());
                       document.querySelectorAll('details').forEach((details) => { details.open = true; })""")
    open_question(browser, 1)
    texts = browser.run("[...document.querySelectorAll('.tree .row .text')].map((text) => text.textContent)")
    assert {shown(node["text"]) for node in trees[0]["nodes"] if node.get("text")} <= set(texts)
    browser.run("document.querySelectorAll('.tree .row').forEach((row) => row.click())")
    bodies = browser.run("[...document.querySelectorAll('.document p')].map((text) => text.textContent)")
    hits = {hit["id"] for node in trees[0]["nodes"] for hit in node.get("documents", [])}
    assert hits
    for hit in hits:
        assert shown(trees[0]["documents"][hit]["text"]) in bodies
    thoughts = browser.run("[...document.querySelectorAll('.thought')].map((text) => text.textContent)")
    assert any(report_fixture.HOSTILE[:40] in thought for thought in thoughts)
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 2 * 3 + 1
    assert browser.requests() == [pages["hostile"]]
    assert browser.complaints() == []


@needs_chromium
def test_the_policy_refuses_markup_and_foreign_scripts(browser, pages):
    browser.open(pages["plain"])
    refused = "(() => { try { %s; return ''; } catch (error) { return error.message; } })()"
    assert "TrustedHTML" in browser.run(refused % "document.body.innerHTML = '<b>x</b>'")
    assert "Content Security Policy" in browser.run(refused % "window.eval('1')")
    browser.run("document.body.append(Object.assign(document.createElement('img'), { src: 'file:///x.png' }))")
    browser.wait(
        lambda: (
            browser.run("true")
            and any("Content Security Policy" in json.dumps(event) for event in browser.complaints())
        )
    )


@needs_chromium
def test_a_question_shows_its_scores_its_chain_and_its_pruned_branches(browser, pages):
    trees, answers, _ = report_fixture.run(12)
    browser.open(pages["plain"])
    for number, (tree, answer) in enumerate(zip(trees, answers, strict=False), 1):
        open_question(browser, number)
        chain = browser.run(
            "[...document.querySelectorAll('.tree .chosen > .row > .text')].map((text) => text.textContent)"
        )
        assert chain[0] == answer["question"] and chain[-1] == answer["answer"]
        assert text_of(browser, ".verdict .answer").endswith(answer["answer"])
        reasons = browser.run("[...document.querySelectorAll('.pruned > .row > .why')].map((why) => why.textContent)")
        assert len(reasons) == sum(node["status"] == "pruned" for node in tree["nodes"])
        assert sum("ranked higher" in reason for reason in reasons) == sum(
            node.get("reason") == "not_best" for node in tree["nodes"]
        )
        assert browser.run("document.querySelectorAll('.skipped').length") == len(tree["skips"])
        assert browser.run("document.querySelectorAll('.flag').length") == sum(
            "forced" in node and node["forced"] for node in tree["nodes"]
        )
        assert "oracle, simulated model" in text_of(browser, ".scored")
    open_question(browser, 12)
    assert "503" in text_of(browser, ".detail") and "no tree yet" in text_of(browser, ".detail")
    assert browser.complaints() == []


@needs_chromium
def test_a_node_opens_to_documents_with_gold_marked_and_rollouts(browser, pages):
    tree = report_fixture.run(12)[0][0]
    node = next(node for node in tree["nodes"] if node.get("documents") and node["status"] != "pruned")
    browser.open(pages["plain"])
    open_question(browser, 1)
    browser.click(".chosen > .row > .kind-query")
    more = browser.wait(lambda: browser.run("document.querySelector('.chosen > .more')?.textContent"))
    assert node["text"] in more and "Rollouts (4)" in more
    titles = browser.run(
        "[...document.querySelectorAll('.chosen > .more > section > .document > summary b')].map((b) => b.textContent)"
    )
    assert titles == [tree["documents"][hit["id"]]["title"] for hit in node["documents"]]
    bodies = [tree["documents"][hit["id"]] for hit in node["documents"]]
    gold = tree["golden_answers"][0]
    marks = browser.run(
        "[...document.querySelectorAll('.chosen > .more > section > .document mark')].map((mark) => mark.textContent)"
    )
    assert marks == [gold] * sum((body["title"] + " " + body["text"]).count(gold) for body in bodies)
    browser.click(".chosen > .more .rollout summary")
    assert browser.wait(lambda: browser.run("document.querySelector('.rollout[open] li .kind-query') !== null"))


@needs_chromium
def test_the_tree_is_walked_by_keyboard(browser, pages):
    browser.open(pages["plain"])
    open_question(browser, 1)
    focus = "document.activeElement.getAttribute('aria-level') + document.activeElement.getAttribute('aria-expanded')"
    browser.run("document.querySelector('.tree > li').focus()")
    assert browser.run(focus) == "1true"
    browser.press("ArrowLeft")
    assert browser.run(focus) == "1false"
    assert browser.run("document.querySelectorAll('.tree ul:not([hidden])').length") < browser.run(
        "document.querySelectorAll('.tree ul').length"
    )
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert browser.run("document.activeElement.getAttribute('aria-level')") == "2"
    browser.press("Enter")
    assert browser.run("document.activeElement.querySelector('.more') !== null")
    browser.press("End")
    assert browser.run(
        "document.activeElement === [...document.querySelectorAll('.tree li')].filter((li) => li.offsetParent).at(-1)"
    )
    browser.press("Home")
    assert browser.run("document.activeElement.getAttribute('aria-level')") == "1"
    assert browser.run("document.querySelectorAll('.tree [tabindex=\"0\"]').length") == 1


@needs_chromium
def test_questions_are_filtered_and_searched(browser, pages):
    answers = report_fixture.run(12)[1]
    browser.open(pages["plain"])
    visible = "[...document.querySelectorAll('.questions li')].filter((li) => !li.hidden).length"
    done = [answer for answer in answers if answer["status"] == "done"]
    for name, expected in (
        ("right", sum(a["em"] == 1 for a in done)),
        ("wrong", sum(a["em"] == 0 for a in done)),
        ("budget", 1),
        ("open", 1),
        ("all", 12),
    ):
        browser.click(f"[data-filter={name}]")
        assert browser.run(visible) == expected
    word = answers[0]["answer"].lower()
    browser.click("input[type=search]")
    browser.send("Input.insertText", text=word)
    assert browser.run(visible) == sum(word in f"{a['id']}\n{a['question']}\n{a['answer']}".lower() for a in answers)


@needs_chromium
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_the_page_fits_a_phone_and_follows_the_colour_scheme(browser, pages, name):
    browser.send("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=2, mobile=True)
    browser.open(pages[name])
    assert browser.run("document.documentElement.scrollWidth") == 390
    open_question(browser, 1)
    browser.run("document.querySelectorAll('.tree .row').forEach((row) => row.click())")
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("document.querySelector('.list').offsetParent === null")
    browser.click(".back")
    browser.wait(lambda: browser.run("document.querySelector('.list').offsetParent !== null"))
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(colour)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.run(colour) != light


@needs_chromium
def test_without_scripts_the_summary_is_there(browser, pages):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["plain"])
        page = browser.run("document.body.innerText")
        assert "need JavaScript" in page and "sub question" in page and "simulated model" in page
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
