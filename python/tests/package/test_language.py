"""The language from Python, and its display in notebooks."""

import pickle

import pytest

import schedc

TEXT = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n"


def test_checks_find_what_is_wrong():
    assert list(schedc.check(TEXT)) == []
    findings = schedc.check("tile(foo, a, b, 3)\n")
    assert [finding.code for finding in findings.errors] == ["S0024"]
    assert "The loops at this point are `batch` and `tree`." in str(findings)
    assert str(findings[0]) == "1:6: error: S0024: no loop is called `foo`"


def test_params_and_files(tmp_path):
    path = tmp_path / "fast.sched"
    path.write_text("param ROWS = 64\ntile(batch, b0, b1, ROWS)\n")
    assert "step 32" in str(schedc.nest(path, sets={"ROWS": 32}))
    assert "step 64" in str(schedc.nest(str(path)))
    with pytest.raises(schedc.Refused):
        schedc.nest("tile(foo, a, b, 3)")
    with pytest.raises(schedc.Refused, match="is no target"):
        schedc.check(TEXT, target="toaster")


def test_the_formatter():
    assert schedc.format("tile( batch,b0 ,b1,64 )") == "tile(batch, b0, b1, 64)\n"
    with pytest.raises(schedc.Refused):
        schedc.format("tile(")


def test_notebooks_show_pictures_and_colours():
    picture = schedc.Schedule(TEXT)._repr_html_()
    assert picture.count("for b0 in 0..n_rows") == 1 and picture.count("<div") == picture.count("</div>")
    wrong = schedc.check("tile(foo, a, b, 3)")._repr_html_()
    assert "color:" in wrong and "no loop is called" in wrong and "\x1b" not in wrong
    assert wrong.count("<span") == wrong.count("</span>")


def test_refusals_travel():
    with pytest.raises(schedc.Refused) as refused:
        schedc.compile(b"no model at all")
    there = pickle.loads(pickle.dumps(refused.value))
    assert str(there) == str(refused.value) and there.findings[0] == refused.value.findings[0]


def test_the_cell_magic():
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "schedc")
    shell.run_cell_magic("sched", "mine", TEXT)
    assert shell.user_ns["mine"] == TEXT
