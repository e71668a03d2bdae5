"""Hostile text stays text, in the page and in what it saves; nothing is loaded."""

import re
from xml.etree import ElementTree

import pytest
import report_fixture
from waiting import until_heard


def shown(text):
    """Text as the page shows it: control characters have a visible sign, what hides or reorders text an escape."""
    signs = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n" else c for c in text)
    return re.sub("[\u2028-\u202e]", lambda found: f"\\u{ord(found[0]):04x}", signs)


@pytest.mark.parametrize("name", ["hostile", "hostile_both"])
def test_hostile_text_is_shown_as_text(page, reports, name):
    trees, answers, _, _ = report_fixture.hostile_run()
    page.goto(reports[name])
    elements = page.evaluate("new Set([...document.querySelectorAll('*')].map((element) => element.localName)).size")
    for number, answer in enumerate(answers):
        page.click(f".questions li:nth-child({number + 1}) button")
        assert page.text_content(".detail h2") == " ".join(shown(answer["question"]).split())
        for node in page.eval_on_selector_all(".row", "rows => rows.map((row) => row.dataset.node)"):
            page.click(f"#row-{node} .kind")
            page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    page.click(".questions li:nth-child(1) button")
    node = next(node for node in trees[0]["nodes"] if node.get("documents"))
    page.click(f"#row-{node['id']}")
    texts = page.locator(".panel > section > .document .full").all_text_contents()
    assert texts == [shown(trees[0]["documents"][hit["id"]]["text"]) for hit in node["documents"]]
    assert report_fixture.HOSTILE[:40] in page.text_content(".panel .thought")
    assert report_fixture.HOSTILE[:40] in page.text_content(".exported")
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.querySelectorAll('script:not([data-block])').length") == 1
    assert elements < 60


def test_hostile_text_cannot_leave_its_place_in_saved_files(page, reports):
    page.goto(reports["hostile"])
    page.click(".questions li:nth-child(1) button")
    with page.expect_download() as download:
        page.click(".saves button:text('SVG')")
    assert "/" not in download.value.suggested_filename and "<" not in download.value.suggested_filename
    root = ElementTree.parse(download.value.path()).getroot()
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "rect", "g", "path", "polygon", "circle", "text"}
    assert any("</script>" in (text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_an_address_is_only_data(page, reports):
    page.goto(
        reports["plain"]
        + "#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&node=__proto__&find=%3Cb%3E&at=1e9&by=constructor"
    )
    assert "Choose a question" in page.text_content(".detail")
    page.goto("about:blank")
    page.goto(reports["plain"] + "#q=wq-0000001&node=99999&at=-4&by=constructor&show=__proto__&view=none")
    assert page.locator(".outline .row").count() == 1
    assert page.input_value(".measure") == "value"


def test_the_policy_refuses_markup_and_foreign_scripts(page, reports):
    page.goto(reports["plain"])
    refused = "() => { try { %s; return ''; } catch (error) { return error.message; } }"
    assert "TrustedHTML" in page.evaluate(refused % "document.body.innerHTML = '<b>x</b>'")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.com/x' }))"
    )
    until_heard(page, 3)
    markup, image, _ = page.complaints  # the third is that it was asked for at all
    assert "TrustedHTML" in markup and "Content Security Policy" in image
    page.complaints.clear()


def test_texts_of_a_megabyte_open_and_are_shown_in_full_on_demand(page, reports):
    page.goto(reports["long"])
    page.click(".questions li:nth-child(1) button")
    page.click("#row-1")
    assert len(page.text_content(".panel > div > .full")) < 30_000
    page.click(".panel > div > .link:text('show all')")
    assert len(page.text_content(".panel > .full, .panel > div > .full")) > 1_000_000
    page.fill(".find", "word109999")
    assert page.text_content(".hits") != "0 found"
