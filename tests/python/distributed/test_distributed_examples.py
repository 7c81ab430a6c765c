# SPDX-License-Identifier: Apache-2.0
"""The examples with DDP and FSDP2 run with the environment that torchrun gives them, and docs/distributed.md shows lines
of them."""
import contextlib
import io
import os
import pathlib
import re
import runpy
import sys

import pytest
from conftest import needs_torch
from rank_processes import run_ranks

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLES = {"DDP": "ddp.py", "FSDP2": "fsdp2.py"}


def _run(rank, path):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    sys.path.insert(0, str(pathlib.Path(path).parent))  # as for a program
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(path, run_name="__main__")
    assert f"rank {rank.rank}: right answers" in printed.getvalue()


@pytest.mark.parametrize("name", ["ddp.py", pytest.param("fsdp2.py", marks=needs_torch(2, 6, "fully_shard"))])
def test_example(name):
    run_ranks(2, _run, str(ROOT / "examples/python" / name), timeout=None)


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_page_shows_lines_of_the_example(title):
    page = (ROOT / "docs/distributed.md").read_text()
    section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
    (snippet,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    lines = {line.strip() for line in (ROOT / "examples/python" / EXAMPLES[title]).read_text().splitlines()}
    shown = [line.strip() for line in snippet.splitlines() if line.strip()]
    assert len(shown) <= 10 and [line for line in shown if line not in lines] == []
