"""Lists of filters show words in place of keys: the style that says them, beside what it leaves alone."""

from __future__ import annotations

from pathlib import Path

from sojourn_superset.look import read_look

LOOK = """
congestion_control:
  bbr: {name: BBRv1, white: 0.4}
  same: {name: same, white: 0.0}
value_words: {app_first: 'application "first"'}
css: 'a { color: red; } '
"""


def test_a_key_has_its_words_and_a_name_that_is_its_key_none(tmp_path: Path) -> None:
    (tmp_path / "look.yaml").write_text(LOOK, encoding="utf-8")
    css = read_look(tmp_path).page_css()
    assert css.startswith("a { color: red; } ")
    assert '.ant-select-selection-item[title="app_first"]' in css
    # Quotes of a word do not end it.
    assert 'content: "application \\"first\\""' in css
    assert 'content: "BBRv1"' in css
    assert 'title="same"' not in css
    assert css.count("{") == css.count("}") == 5
