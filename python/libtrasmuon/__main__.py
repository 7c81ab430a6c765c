# SPDX-License-Identifier: Apache-2.0
"""python -m libtrasmuon: versions, devices, what was found and what is missing."""
import os
import platform
import sys
from typing import List, Tuple

import torch

from ._library import CUDA, core_version, get_num_threads, library_path, why_unusable


def report() -> Tuple[List[Tuple[str, str]], bool]:
    """Lines of name and value, and whether everything that torch can use, the library can."""
    path, complete = library_path().resolve(), True
    backend = path.parent / "libtrasmuon_cuda.so"
    lines = [
        ("libtrasmuon", core_version()),
        ("library", str(path)),
        ("CUDA backend", str(backend) if backend.exists() else "missing: built without CUDA, which needs nvcc"),
        ("python", f"{platform.python_version()}, {platform.machine()}"),
        ("torch", f"{torch.__version__}, CUDA {torch.version.cuda or 'not built in'}"),
        ("cpu", f"usable, {get_num_threads()} threads"),
    ]
    for variable in ("TRASMUON_LIBRARY", "TRASMUON_NUM_THREADS", "TRASMUON_ISA"):
        if variable in os.environ:
            lines.append((variable, os.environ[variable]))
    if not torch.cuda.is_available():
        lines.append(("cuda", "torch finds no GPU"))
    for index in range(torch.cuda.device_count()):
        problem = why_unusable(CUDA + index)
        complete = complete and problem is None
        lines.append((f"cuda:{index}", f"{torch.cuda.get_device_name(index)}, {problem or 'usable'}"))
    return lines, complete


def main() -> int:
    """Prints the report; 1 if torch has a GPU that the library cannot use."""
    lines, complete = report()
    for name, value in lines:
        print(f"{name:20} {value}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
