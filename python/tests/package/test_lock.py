"""The lock: mismatches are reported, and its options take effect."""

import warnings
from pathlib import Path

import pytest

import schedc

MODEL = Path(__file__).parents[3] / "examples/model/breast_cancer.json"

ENTRY = """lock 1
entry cpu:model.json:64:all
  structure sha256:0
  triple x86_64-unknown-linux-gnu
  processor znver9
  features -
  caches -
  schedc 0.0.1
  epoch 0
  nest sha256:0
  us-per-row 1 1 1
  default-us-per-row 1 1 1
  seed 1
  budget 1s
  date 2026-01-31
  schedule
  | parallel(batch)
  digest sha256:0
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(MODEL.read_bytes())
    return path


def silent(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return schedc.compile(*args, **options)


def test_an_entry_that_does_not_fit_is_a_warning(model):
    (model.parent / "schedc.lock").write_text(ENTRY)
    with pytest.warns(UserWarning,
                      match="U0024: .*schedc.lock, cpu:model.json:64:all: the model's structure has changed"):
        compiled = schedc.compile(model)
    assert "chosen by schedc" in compiled.schedule
    with pytest.raises(schedc.Refused, match="U0024"):
        schedc.compile(model, locked=True)
    silent(model, frozen=True)
    silent(model, "parallel(batch)")
    silent(model.read_bytes())


def test_without_a_lock_a_schedule_is_chosen_unless_it_must_be_locked(model):
    silent(model)
    with pytest.raises(schedc.Refused, match="U0028: .*there is no lock"):
        schedc.compile(model, locked=True)
    with pytest.raises(schedc.Refused, match="U0002"):
        schedc.compile(model, lock=model.parent / "none.lock")


def test_what_contradicts_itself_is_refused(model):
    for options in [{"lock": "a.lock", "frozen": True}, {"locked": True, "schedule": "parallel(batch)"}]:
        with pytest.raises(ValueError, match="omit"):
            schedc.compile(model, **options)
    with pytest.raises(ValueError, match="give the path"):
        schedc.compile(model.read_bytes(), locked=True)
