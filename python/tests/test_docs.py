"""What help() shows runs as it stands."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import ndpool

OPERATIONS = [name for name in ndpool.__all__ if name.endswith("pool")]
DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "python.md", DOCS / "learn/README.md"]


@pytest.mark.parametrize("name", [*OPERATIONS, "receptive_field", "ndpool"])
def test_the_examples_of_a_docstring_give_what_they_show(name: str) -> None:
    thing = ndpool if name == "ndpool" else getattr(ndpool, name)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, 0)
    assert examples.examples
    result = doctest.DocTestRunner().run(examples)
    assert result.failed == 0


@pytest.mark.parametrize("name", OPERATIONS)
def test_help_names_every_argument_of_an_operation(name: str) -> None:
    operation = getattr(ndpool, name)
    text = pydoc.plain(pydoc.render_doc(operation))
    for argument in inspect.signature(operation).parameters:
        assert re.search(rf"\b{argument}\b", text), argument
    assert "jvp" in text and "vjp" in text


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_code_of_a_page_runs(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M):
        exec(block, names)


def test_the_configuration_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ndpool.show_config()
    shown = capsys.readouterr().out
    assert ndpool.__version__ in shown and "targets" in shown


def test_explain_fills_the_formula_in() -> None:
    text = ndpool.max_pool.explain((32, 64, 112, 112), (3, 3), 2, 1)
    assert "floor((112 + 1 + 1 - 3) / 2) + 1 = 56" in text
    assert "u8" in text
