"""How the page looks: a tree on the first screen, room for texts, nothing clipped, labels that stand clear."""

import itertools
from urllib.parse import parse_qsl, urlencode

import pytest
import report_fixture
from espalier.report import write_report
from waiting import painted, until

SCREENS = {"wide": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 844}}
# Writes down what the map draws: each line of text and each mark, as [left, top, right, bottom] in pixels.
RECORDER = """(() => {
  const pen = CanvasRenderingContext2D.prototype, drawn = window.drawn = { texts: [], marks: [] };
  let shapes = [];
  const watch = (name, see) => {
    const own = pen[name];
    pen[name] = function (...at) { see.call(this, ...at); return own.apply(this, at); };
  };
  const add = (start, ...points) => {
    if (start) shapes.push([Infinity, Infinity, -Infinity, -Infinity]);
    for (const [x, y] of points) {
      const box = shapes.at(-1);
      box.splice(0, 4, Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y));
    }
  };
  watch("clearRect", () => { drawn.texts.length = drawn.marks.length = 0; });
  watch("beginPath", () => { shapes = []; });
  watch("moveTo", (x, y) => add(true, [x, y]));
  watch("lineTo", (x, y) => add(false, [x, y]));
  watch("rect", (x, y, w, h) => add(true, [x, y], [x + w, y + h]));
  watch("arc", (x, y, r) => add(!shapes.length, [x - r, y - r], [x + r, y + r]));
  watch("fill", () => { drawn.marks.push(...shapes); });
  watch("fillText", function (text, x, y) {
    drawn.texts.push({ text, box: [x, y - 10, x + this.measureText(text).width, y + 3] });
  });
})()"""


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def drawn(page):
    painted(page)
    return page.evaluate("window.drawn")


@pytest.fixture
def watched(page):
    page.add_init_script(RECORDER)
    return page


@pytest.fixture
def bushy(tmp_path):
    """A run whose tree is too large to be shown whole, and the address of its page."""
    run = report_fixture.large(300)
    report_fixture.write(tmp_path, *run)
    write_report(tmp_path, tmp_path / "report.html")
    return run[0][0], (tmp_path / "report.html").as_uri()


@pytest.mark.parametrize("screen", SCREENS)
def test_oracle_and_simulated_are_said_once_above_the_scores_and_in_the_title(page, reports, screen):
    page.set_viewport_size(SCREENS[screen])
    page.goto(reports["plain"])
    assert "oracle, simulated model" in page.title()
    labels = [label.bounding_box()["y"] for label in page.locator(".badge b").all()]
    assert len(labels) == 2 and max(labels) < page.locator(".tile b").first.bounding_box()["y"]
    for _ in ("folded", "unfolded"):
        said = page.inner_text("body").lower()
        assert (said.count("oracle"), said.count("simulated")) == (1, 1)
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")


@pytest.mark.parametrize(("screen", "share"), [("wide", 0.5), ("phone", 0.55)])
def test_each_tree_begins_high_on_the_first_screen_and_the_find_boxs_hint_is_whole(page, reports, screen, share):
    page.set_viewport_size(SCREENS[screen])
    for number, view in itertools.product(range(11), ("outline", "map")):
        page.goto(reports["plain"] + f"#q=wq-{number:07}&view={view}")
        top = page.evaluate("(view) => document.querySelector(view).getBoundingClientRect().top + scrollY", f".{view}")
        assert 0 < top < share * SCREENS[screen]["height"]
        page.evaluate("find = document.querySelector('.find'); find.type = 'text'; find.value = find.placeholder")
        assert page.evaluate("find.scrollWidth <= find.clientWidth")


@pytest.mark.parametrize(("screen", "least"), [("wide", 8), ("phone", 2)])
def test_the_first_screen_shows_the_scores_and_the_first_tree(page, reports, plain, screen, least):
    page.set_viewport_size(SCREENS[screen])
    page.goto(reports["plain"])
    painted(page)
    assert page.evaluate("scrollY") == 0
    rows = [row.bounding_box() for row in page.locator(".outline .row").all()]
    high = SCREENS[screen]["height"]
    assert sum(box["y"] + box["height"] <= high for box in rows) >= least
    assert page.locator(".tile b").first.bounding_box()["y"] < rows[0]["y"]
    assert page.text_content(".detail h2") == plain[1][0]["question"]
    assert page.locator(".detail h2").bounding_box()["y"] > 0
    assert page.evaluate("document.documentElement.scrollWidth") == SCREENS[screen]["width"]


def test_an_address_without_a_question_opens_the_first_one_and_going_back_opens_it_again(page, reports):
    page.set_viewport_size(SCREENS["phone"])
    page.goto(reports["plain"])
    page.click(".back")
    assert page.is_visible(".list") and not page.is_visible(".outline")
    page.go_back()
    until(page, "document.querySelector('.outline')?.checkVisibility()")


@pytest.mark.parametrize("place", ["view=map", "by=visits", "find=who", "node=1", "view=map&q="])
def test_a_place_without_a_question_is_one_in_the_first_question(page, reports, plain, place):
    page.goto(reports["plain"] + "#" + place)
    for _ in ("loaded", "typed into the open page"):
        until(page, "document.querySelector('.work') !== null")
        assert page.text_content(".detail h2") == plain[1][0]["question"] and "q=wq-0000000" in page.url
        assert page.is_visible(".map" if "map" in place else ".outline")
        assert dict(parse_qsl(place)).items() <= dict(parse_qsl(page.url.split("#")[1])).items()
        page.evaluate(f"location.hash = '{place}'")
        until(page, "location.hash.includes('q=wq')")


def test_texts_have_the_whole_width_until_a_node_is_chosen(page, reports):
    page.set_viewport_size(SCREENS["wide"])
    page.goto(reports["plain"])
    right = "(part) => Math.round(document.querySelector(part).getBoundingClientRect().right)"
    assert page.evaluate(right, ".tree-card") == page.evaluate(right, ".detail")
    high = page.locator(".outline").bounding_box()["y"]
    alone = page.locator("#row-1 .text").bounding_box()["width"]
    page.click("#row-1")
    until(page, f"document.querySelector('#row-1 .text')?.getBoundingClientRect().width < {alone - 250}")
    assert page.locator(".outline").bounding_box()["y"] == high  # nothing moves below the pointer
    assert page.evaluate(right, ".tree-card") < page.evaluate(right, ".panel") == page.evaluate(right, ".detail")
    page.click(".panel button:text('close')")
    until(page, "!location.hash.includes('node=')")
    assert page.evaluate(right, ".tree-card") == page.evaluate(right, ".detail")
    assert not page.is_visible(".panel")


def test_below_the_tree_stands_what_can_be_done_and_what_its_number_of_nodes_leaves_out(page, reports, plain):
    page.goto(reports["plain"] + "#q=wq-0000000")
    legend = page.locator(".tree-card > .note")
    assert "Choose a node" in legend.text_content() and legend.is_visible()
    assert f"skipped ({len(plain[0][0]['skips'])}) counts as no node" in page.text_content(".moment")
    page.click("#row-1")
    until(page, "document.querySelector('.tree-card > .note').hidden")
    page.click("[data-view=map]")
    assert "Drag to move" in legend.text_content() and legend.is_visible()


def test_on_a_phone_the_list_beside_the_map_is_read_in_full(page, reports):
    page.set_viewport_size(SCREENS["phone"])
    page.goto(reports["plain"] + "#view=map")
    long = """(list) => {
      const style = getComputedStyle(list), pen = document.createElement("canvas").getContext("2d");
      pen.font = `${style.fontSize} ${style.fontFamily}`;
      return pen.measureText("every node").width + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + 20;
    }"""
    assert page.locator(".bar .narrow").evaluate(long) < page.locator(".bar .narrow").bounding_box()["width"]


def test_on_a_phone_a_chosen_node_lies_over_the_foot_of_the_screen(page, reports):
    page.set_viewport_size(SCREENS["phone"])
    page.goto(reports["plain"])
    page.click("#row-1")
    box = page.locator(".panel").bounding_box()
    assert box["y"] + box["height"] == SCREENS["phone"]["height"] and box["y"] > 300
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["plain", "hostile", "both"])
def test_nothing_is_wider_than_its_card(page, reports, name, screen):
    page.set_viewport_size(SCREENS[screen])
    page.goto(reports[name])
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.locator(".scored td").count() > 50
    wide = "one.scrollWidth > one.clientWidth + 1 && one.checkVisibility()"
    assert page.evaluate(f"[...document.querySelectorAll('.card, .tile')].filter((one) => {wide}).length") == 0


@pytest.mark.parametrize("screen", SCREENS)
def test_all_numbers_and_notes_of_the_run_are_read_in_full(page, tmp_path, screen):
    trees, answers, summary, _ = report_fixture.run(3)
    remark = "513 steps of right paths were left out: they have no process reward (annotate with prm)"
    said = "The answer to the question is, as far as I can see from all of these documents, Fenosmouth."
    unread = {"question": "wq-0000000", "text": said, "cut_at": None}
    summary |= {"notes": {"rft.jsonl": remark}, "first_unread": {"rollout": unread, "own_answer": unread}}
    summary["by_purpose"]["rollout"] |= {"refused": 1, "repairs": 1234, "repaired": 1012}
    report_fixture.write(tmp_path, trees, answers, summary)
    write_report(tmp_path, tmp_path / "report.html")
    page.set_viewport_size(SCREENS[screen])
    page.goto((tmp_path / "report.html").as_uri())
    page.click("text=All numbers of the run")
    assert page.is_visible(f"text={remark}") and page.is_visible(f"text={said} >> nth=1")
    wide = "(one) => one.scrollWidth > one.clientWidth + 1"
    alone = ", .top .scroll" if screen == "wide" else ""  # on a phone a table of many columns scrolls in its card
    parts = f".top .card, .top td, .tile{alone}"
    assert page.evaluate(f"[...document.querySelectorAll('{parts}')].filter({wide}).length") == 0


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["plain", "hostile", "bushy"])
def test_labels_in_the_map_never_lie_on_marks_or_on_each_other(watched, reports, bushy, screen, name):
    watched.set_viewport_size(SCREENS[screen])
    question = report_fixture.hostile_run()[1][0]["id"] if name == "hostile" else "wq-0000000"
    watched.goto(f"{bushy[1] if name == 'bushy' else reports[name]}#{urlencode({'q': question})}")
    for zoom in ("fit", "zoom in", "zoom out", "zoom out", "expand all"):
        if zoom == "fit":
            watched.click("[data-view=map]")
        else:
            watched.locator(f".work button:text('{zoom}'), .zoom [title='{zoom}']").click()
        picture = drawn(watched)
        boxes = [text["box"] for text in picture["texts"]]
        assert len(picture["marks"]) > 5 and (boxes or zoom not in ("fit", "zoom in"))
        assert not [box for box in boxes for mark in picture["marks"] if meet(box, mark)]
        assert not [pair for pair in itertools.combinations(boxes, 2) if meet(*pair)]


@pytest.mark.parametrize("screen", SCREENS)
def test_the_answers_chain_reads_in_full_in_the_map(watched, reports, plain, screen):
    watched.set_viewport_size(SCREENS[screen])
    watched.goto(reports["plain"] + "#q=wq-0000000")
    chain = watched.locator(".row.chosen > .text").all_text_contents()
    watched.click("[data-view=map]")
    picture = drawn(watched)
    said = " ".join(text["text"] for text in picture["texts"])
    assert len(chain) > 3
    for text in chain:
        assert text in said
    canvas = watched.locator(".map canvas").bounding_box()
    first = [text["box"] for text in picture["texts"] if text["box"][0] == picture["texts"][0]["box"][0]]
    assert all(box[2] <= canvas["width"] and box[3] <= canvas["height"] for box in first)


def test_a_folded_subtree_says_how_many_nodes_it_holds(watched, reports, plain, bushy):
    size = len(plain[0][0]["nodes"])
    watched.set_viewport_size(SCREENS["wide"])
    watched.goto(reports["plain"] + "#q=wq-0000000")
    watched.focus(".outline")
    watched.keyboard.press("Home")
    watched.keyboard.press("ArrowLeft")
    assert watched.text_content("#row-0 .held") == f"+ {size - 1} nodes"
    watched.click("[data-view=map]")
    assert f"+ {size - 1} nodes" in [text["text"] for text in drawn(watched)["texts"]]
    tree, address = bushy
    held = {node["id"]: 0 for node in tree["nodes"]}
    for node in reversed(tree["nodes"][1:]):
        held[node["parent"]] += 1 + held[node["id"]]
    watched.goto(address + "#q=wq-0000000")
    watched.evaluate("document.querySelector('.outline').scrollTop = 1e6")
    painted(watched)
    tags = {
        row.get_attribute("data-node"): row.locator(".held").text_content()
        for row in watched.locator(".row[aria-expanded=false]").all()
    }
    assert tags
    for node, tag in tags.items():
        assert tag == f"+ {held[int(node)]} {'node' if held[int(node)] == 1 else 'nodes'}"


def test_a_click_on_the_count_unfolds_and_a_double_click_folds(watched, reports, plain):
    size = len(plain[0][0]["nodes"]) + len(plain[0][0]["skips"])
    watched.goto(reports["plain"] + "#q=wq-0000000")
    watched.click("[data-view=map]")
    assert len(drawn(watched)["marks"]) == size
    watched.dblclick(".map canvas", position={"x": 24, "y": 24})
    picture = drawn(watched)
    assert len(picture["marks"]) == 1
    left, top, right, bottom = picture["texts"][-1]["box"]
    watched.click(".map canvas", position={"x": 24 + (left + right) / 2, "y": 24 + (top + bottom) / 2})
    assert len(drawn(watched)["marks"]) == size


def test_scrubbing_says_which_values_are_final(page, reports):
    page.goto(reports["plain"] + "#q=wq-0000000")
    assert "finished tree" in page.text_content(".moment")
    page.locator(".growth input").fill("3")
    until(page, "document.querySelector('.moment').textContent.includes('final')")
    said = page.text_content(".moment")
    assert all(word in said for word in ("alues", "visits", "pruning", "chain")) and page.is_visible(".moment")
    page.click("[data-view=map]")
    assert page.text_content(".moment") == said
