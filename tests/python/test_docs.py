# SPDX-License-Identifier: Apache-2.0
"""The Python snippets of README.md and docs/python.md run, and print what the pages say."""
import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def _snippets(page):
    return [pytest.param(*found, id=f"{page}-{i}") for i, found in enumerate(BLOCK.findall((ROOT / page).read_text()))]


@pytest.mark.parametrize("source, output", _snippets("docs/python.md"))
def test_snippets_of_the_guide(source, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "docs/python.md", "exec"), {"__name__": "snippet"})
    if output:
        assert printed.getvalue().strip() == output.strip()


def test_the_program_of_the_readme_learns():
    (parameters,) = (param.values for param in _snippets("README.md"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(parameters[0], "README.md", "exec"), {"__name__": "snippet"})
    step, loss = printed.getvalue().split()[-2:]
    assert step == "200" and float(loss) < 0.01
