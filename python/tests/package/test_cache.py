"""The cache of compiled code, and the effort of a compilation."""


import pytest
import schedc
import xgboost


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("SCHEDC_CACHE", str(tmp_path))
    return tmp_path / "artefacts"


@pytest.fixture(scope="module")
def booster(rows, target):
    """A model of 30 trees."""
    return xgboost.train({"max_depth": 4}, xgboost.DMatrix(rows, label=target), num_boost_round=30)


def test_the_second_compilation_takes_what_the_first_one_kept(booster, rows, folder):
    first = schedc.compile(booster)
    kept = sorted(path.name for path in folder.iterdir())
    assert len(kept) >= 2
    second = schedc.compile(booster)
    assert second.schedules == first.schedules
    assert (second.predict(rows) == first.predict(rows)).all()
    assert sorted(path.name for path in folder.iterdir()) == kept
    # Another schedule leads to other code.
    schedc.compile(booster, "reorder(batch, tree)")
    assert len(list(folder.iterdir())) > len(kept)


def test_damaged_entries_are_made_again(booster, rows, folder):
    first = schedc.compile(booster)
    for path in folder.iterdir():
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert (schedc.compile(booster).predict(rows) == first.predict(rows)).all()


def test_without_a_cache_nothing_is_kept(booster, folder):
    schedc.compile(booster, cache=False)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_no_error(booster, rows, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCHEDC_CACHE", str(tmp_path / "file"))
    assert len(schedc.compile(booster).predict(rows)) == len(rows)


def test_both_efforts_predict_the_same(booster, rows):
    fast, full = (schedc.compile(booster, effort=effort, cache=False) for effort in ("fast", "full"))
    assert (fast.predict(rows) == full.predict(rows)).all()
    with pytest.raises(ValueError, match='effort: choose "full"'):
        schedc.compile(booster, effort="some")


def test_an_effort_has_no_effect_on_a_given_schedule(booster):
    idle = schedc.compile(booster, "parallel(batch)", effort="fast")
    assert any("effort `fast` has no effect on a given schedule" in note for note in idle.notes)
    assert not any("effort" in note for note in schedc.compile(booster, effort="fast").notes)
