"""The explorer in report.html: what it shows of a tree, by mouse and keyboard, and what it saves."""

import itertools
import json
import math
import re
from xml.etree import ElementTree

import pytest
import report_fixture
from waiting import painted, until

SVG = "{http://www.w3.org/2000/svg}"
PIXELS = """(colour) => {
  const canvas = document.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    count += colour ? data[i + 3] === 255 && colour.every((part, c) => data[i + c] === part) : data[i + 3] > 0;
  return count;
}"""  # the painted ones, or those of one colour


def open_question(page, address, number=1, more=""):
    page.goto(address + f"#q=wq-{number - 1:07}{more}")
    page.wait_for_selector(".work, .empty")


def hash_of(page, part):
    until(page, f"location.hash.includes({json.dumps(part)})")


def words_of(node):
    return set(re.findall(r"\w+", f"{node.get('text', '')} {node.get('thought', '')}".lower()))


def right(answer):
    return answer["status"] == "done" and answer["em"] == 1


def test_a_question_shows_its_scores_its_chain_and_its_pruned_branches(page, reports, plain):
    trees, answers, _, _ = plain
    page.goto(reports["plain"])
    assert page.locator(".histogram").count() == 2
    for number, (tree, answer) in enumerate(zip(trees, answers, strict=False), 1):
        page.click(f".questions li:nth-child({number}) button")
        chain = page.locator(".row.chosen > .text").all_text_contents()
        assert chain[0] == answer["question"] and chain[-1] == answer["answer"]
        assert page.text_content(".verdict .answer").endswith(answer["answer"])
        reasons = page.locator(".row.pruned > .why").all_text_contents()
        assert len(reasons) == sum(node["status"] == "pruned" for node in tree["nodes"])
        worse = sum(node.get("reason") == "not_best" for node in tree["nodes"])
        assert sum("not best" in reason for reason in reasons) == worse
        assert page.locator(".row.skipped").count() == len(tree["skips"])
        forced = sum(node.get("forced", False) for node in tree["nodes"])
        assert page.locator(".row .flag:text('forced')").count() == forced
    page.click(".questions li:nth-child(12) button")
    assert "503" in page.text_content(".detail") and "no tree yet" in page.text_content(".detail")


def test_a_node_shows_documents_with_gold_marked_and_rollouts(page, reports, plain):
    tree = plain[0][0]
    node = next(node for node in tree["nodes"] if node.get("documents") and node["status"] != "pruned")
    open_question(page, reports["plain"])
    page.click(f"#row-{node['id']} .text")
    assert node["text"] in page.text_content(".panel") and "Rollouts (4)" in page.text_content(".panel")
    documents = page.locator(".panel > section > .document")
    assert documents.locator("summary b").all_text_contents() == [
        tree["documents"][hit["id"]]["title"] for hit in node["documents"]
    ]
    bodies = [tree["documents"][hit["id"]] for hit in node["documents"]]
    gold = tree["golden_answers"][0]
    marks = documents.locator("mark").all_text_contents()
    assert marks == [gold] * sum((body["title"] + " " + body["text"]).count(gold) for body in bodies)
    page.click(".rollout summary >> nth=0")
    assert page.locator(".rollout[open] li .kind-query").count() == 1
    assert "not prompts" in page.text_content(".panel")


def test_siblings_are_compared_word_by_word_beside_the_exported_pair(page, reports, plain):
    tree = plain[0][7]
    [pair] = [pair for pair in plain[3] if pair["id"] == f"{tree['id']}#2>1"]  # whose prompt holds the gold answer
    chosen, rejected = pair["provenance"]["chosen_node"], pair["provenance"]["rejected_node"]
    open_question(page, reports["plain"], 8, more=f"&node={rejected}")
    assert "in an exported pair" in page.text_content(".node-head")
    assert f"#{chosen} " in page.eval_on_selector(".panel select", "select => select.selectedOptions[0].textContent")
    left, right = page.locator(".beside .two .full").all_text_contents()
    texts = {node["id"]: f"{node.get('thought', '')}\n{node.get('text')}".strip() for node in tree["nodes"]}
    assert (left, right) == (texts[rejected], texts[chosen])
    same = """[...document.querySelectorAll('.beside .two .full')].map((text) =>
        [...text.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(''))"""
    assert len(set(page.evaluate(same))) == 1
    page.click(".exported summary")
    assert page.text_content(".exported mark >> nth=0") in tree["golden_answers"]
    assert f"margin {pair['provenance']['margin']:.3f}" in page.text_content(".exported .facts")
    page.select_option(".narrow", "pairs")
    origins = [pair["provenance"] for pair in plain[3] if pair["provenance"]["tree"] == tree["id"]]
    ids = {origin[side] for origin in origins for side in ("chosen_node", "rejected_node")}
    assert page.text_content(".hits") == f"{len(ids)} found"


def test_selection_terms_are_those_of_the_formula(page, reports):
    tree = report_fixture.run(2)[0][0]
    node = next(node for node in tree["nodes"] if node["visits"] and node["parent"] == 0)
    siblings = [child for child in tree["nodes"] if child["parent"] == 0]
    shares = sum(child["prior"] for child in siblings if child["status"] != "pruned")
    above = tree["nodes"][0]["visits"]
    explore = 2.5 * node["prior"] / shares * math.sqrt(above) / (1 + node["visits"])
    open_question(page, reports["puct"], more=f"&node={node['id']}")
    row = page.locator(".panel tr", has=page.locator("b", has_text="(this)")).locator("td").all_text_contents()
    mean = node["total"] / node["visits"]
    assert row[3:] == [f"{mean:.3f}", f"{explore:.3f}", f"{mean + explore:.3f}"]
    assert "past choice are not recorded" in page.text_content(".panel")
    open_question(page, reports["plain"], more=f"&node={node['id']}")
    page.reload()
    assert "No selection formula is known for decex" in page.text_content(".panel")


def test_the_growth_is_scrubbed_by_slider_buttons_and_keys(page, reports, plain):
    size = len(plain[0][0]["nodes"])
    open_question(page, reports["plain"])
    page.locator(".growth input").fill("3")
    hash_of(page, "at=3")
    assert page.text_content(".growth span") == f"3 of {size} nodes"
    assert {row.get_attribute("data-node") for row in page.locator(".row:not(.skipped)").all()} == {"0", "1", "2"}
    page.click("[aria-label='one node on']")
    page.keyboard.press("]")
    until(page, "document.querySelectorAll('.row:not(.skipped)').length === 5")
    page.keyboard.press("{")
    until(page, "document.querySelectorAll('.row').length === 1")
    page.click(".play")
    until(page, f"document.querySelector('.growth span').textContent === '{size} of {size} nodes'")


def test_the_tree_is_walked_by_keyboard(page, reports):
    open_question(page, reports["plain"])
    active = "document.getElementById(document.querySelector('.outline').getAttribute('aria-activedescendant'))"
    state = f"{active}.getAttribute('aria-level') + {active}.getAttribute('aria-expanded')"
    rows = page.locator(".row").count()
    page.focus(".outline")
    page.keyboard.press("Home")
    assert page.evaluate(state) == "1true"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(state) == "1false" and page.locator(".row").count() == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{active}.getAttribute('aria-level')") == "2" and page.locator(".row").count() == rows
    page.keyboard.press("End")
    assert page.evaluate(f"{active} === document.querySelector('.row:last-child')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "card panel"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className").startswith("outline")
    page.keyboard.press("?")
    assert page.is_visible("dialog.keys")
    page.keyboard.press("Escape")
    page.keyboard.press("v")
    assert page.is_visible(".map") and not page.is_visible(".outline")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "find"
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    hash_of(page, "q=wq-0000001")


def test_nodes_are_found_by_words_and_bounds(page, reports, plain):
    nodes = plain[0][0]["nodes"]
    open_question(page, reports["plain"])
    for query, holds in (
        ("spouse please", lambda node: {"spouse", "please"} <= words_of(node)),
        ("value>0.5", lambda node: (node["value"] if node["reward"] is None else node["reward"]) > 0.5),
        (
            "visits>=4 prior<=0.5",
            lambda node: node["visits"] >= 4 and node["prior"] <= 0.5 and node["parent"] is not None,
        ),
    ):
        page.fill(".find", query)
        expected = {str(node["id"]) for node in nodes if holds(node)}
        assert page.text_content(".hits") == f"{len(expected)} found"
        assert {row.get_attribute("data-node") for row in page.locator(".row:not(.passed)").all()} == expected
    page.fill(".find", "")
    page.select_option(".narrow", "reason-not_best")
    assert page.text_content(".hits") == f"{sum(node.get('reason') == 'not_best' for node in nodes)} found"


def test_a_permalink_opens_the_same_view(page, reports):
    open_question(page, reports["plain"], 2)
    page.click("#row-4")
    page.fill(".find", "visits>0")
    page.select_option(".measure", "prior")
    page.locator(".growth input").fill("9")
    page.click("[data-view=map]")
    hash_of(page, "view=map")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.is_visible(".map")
    shown = [page.input_value(field) for field in (".find", ".measure", ".growth input")]
    assert shown == ["visits>0", "prior", "9"]
    assert "node 4" in page.text_content(".node-head")
    page.click(".walk button:text('next')")
    hash_of(page, "q=wq-0000002")
    page.go_back()
    hash_of(page, "q=wq-0000001")
    assert "node 4" in page.text_content(".node-head")


def test_the_tree_is_saved_as_svg_png_and_json(page, reports, plain):
    tree = plain[0][0]
    open_question(page, reports["plain"])

    def saved(name):
        with page.expect_download() as download:
            page.click(f".saves button:text('{name}')")
        assert download.value.suggested_filename == f"tree-wq-0000000.{name.lower()}"
        return download.value.path().read_bytes()

    assert json.loads(saved("JSON")) == tree
    root = ElementTree.fromstring(saved("SVG"))
    count = len(tree["nodes"]) + len(tree["skips"])
    assert len(root.findall(f".//{SVG}g[@data-node]")) == count
    assert len(root.findall(f".//{SVG}path")) == count - 1
    picture = saved("PNG")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (math.ceil(2 * float(root.get("width"))), math.ceil(2 * float(root.get("height"))))


def test_two_runs_stand_side_by_side(page, reports, plain):
    trees, answers, *_ = report_fixture.run(10, report_fixture.OTHER)
    page.goto(reports["both"])
    assert "The head is of A plain;" in page.text_content(".top")
    shared = [(a, b) for a, b in zip(plain[1], answers, strict=False)]
    only, only_b = (sum(right(run[i]) > right(run[1 - i]) for run in shared) for i in (0, 1))
    assert only > 1 and only_b and plain[1][1]["answer"] != answers[1]["answer"], "the runs prove nothing"
    cells = page.locator(".comparison table").nth(1).locator("td").all_text_contents()
    assert (cells[2], cells[4]) == (str(only), str(only_b))
    assert "10 questions are in both runs; 2 only in A, 0 only in B" in page.text_content(".comparison")
    assert page.locator(".comparison .label").all_text_contents() == ["oracle, simulated model"] * 2
    page.click(".questions li:nth-child(2) button")
    assert page.locator(".both .answer").nth(1).text_content().endswith(answers[1]["answer"])
    page.click(".both [data-run=B]")
    hash_of(page, "run=B")
    assert f"of {len(trees[1]['nodes'])} nodes" in page.text_content(".growth span")
    page.click("[data-filter=only_a]")
    extra = sum(map(right, plain[1][10:]))
    assert page.locator(".questions li:not([hidden])").count() == only + extra


def test_questions_are_filtered_and_searched(page, reports, plain):
    answers = plain[1]
    page.goto(reports["plain"])
    left = page.locator(".questions li:not([hidden])")
    done = [answer for answer in answers if answer["status"] == "done"]
    right, wrong = (sum(answer["em"] == em for answer in done) for em in (1, 0))
    for name, expected in {"right": right, "wrong": wrong, "budget": 1, "open": 1, "all": 12}.items():
        page.click(f"[data-filter={name}]")
        assert left.count() == expected
    word = answers[0]["answer"].lower()
    page.fill(".tools input", word)
    assert left.count() == sum(word in f"{a['id']}\n{a['question']}\n{a['answer']}".lower() for a in answers)


def test_ten_thousand_nodes_cost_few_elements(page, reports):
    open_question(page, reports["large"])
    page.click("text=expand all")
    assert page.evaluate("document.querySelector('.space').clientHeight") == 10_000 * 34
    assert page.locator(".row").count() < 80
    page.evaluate("document.querySelector('.outline').scrollTop = 170000")
    until(page, "document.querySelector('.row').offsetTop > 160000")
    page.focus(".outline")
    page.keyboard.press("End")
    assert "node 9999" in page.text_content(".node-head") or page.locator(".row[aria-selected=true]").count() == 1
    page.click("[data-view=map]")
    for at in (1, 5000, 10_000):
        page.locator(".growth input").fill(str(at))
        until(page, f"document.querySelector('.growth span').textContent.startsWith('{at:,} of 10,000')")
    painted(page)
    assert page.evaluate(PIXELS, None) > 10_000


def test_the_parts_keep_their_places_and_the_map_shows_the_chosen_node(page, reports):
    open_question(page, reports["plain"], more="&view=map&node=1")
    until(page, "document.querySelector('.detail').getBoundingClientRect().top < innerHeight / 2")
    boxes = [page.locator(part).bounding_box() for part in (".list", ".tree-card", ".panel")]
    assert all(a["x"] + a["width"] <= b["x"] for a, b in itertools.pairwise(boxes))
    assert page.evaluate("document.documentElement.scrollWidth") == 1500
    # The ring around the chosen node is the only thing in its colour.
    painted(page)
    assert 10 < page.evaluate(PIXELS, [168, 72, 10]) < 400
    page.set_viewport_size({"width": 1000, "height": 900})
    boxes = [page.locator(part).bounding_box() for part in (".tree-card", ".panel")]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_the_page_fits_a_phone_and_follows_the_colour_scheme(page, reports, name):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(reports[name])
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 390
    page.click(".back")
    assert page.evaluate(width) == 390
    page.click(".questions li:nth-child(1) button")
    ends = "[...document.querySelectorAll('.row .numbers')].map((one) => one.getBoundingClientRect().right)"
    assert len({round(end) for end in page.evaluate(ends)}) == 1
    page.click("#row-1")
    assert page.evaluate(width) == 390
    assert not page.is_visible(".list")
    page.click(".back")
    assert page.is_visible(".list")
    colour = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) != light


def test_without_scripts_the_summary_is_there(chromium, reports):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["plain"])
    text = page.inner_text("body")
    assert "need JavaScript" in text and "sub question" in text and "simulated model" in text
    context.close()
