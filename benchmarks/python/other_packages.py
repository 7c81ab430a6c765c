# SPDX-License-Identifier: Apache-2.0
"""Steps of packages that are not installed with torch, from folders named on the command line."""
import importlib.util
import sys


def add_arguments(parser):
    group = parser.add_argument_group("other packages, as peers")
    group.add_argument(
        "--release", metavar="FOLDER", help="that of `pip install --no-deps --target FOLDER trasmuon-pytorch==0.1.0`"
    )
    group.add_argument("--dion", metavar="FOLDER", help="a checkout of github.com/microsoft/dion")


def _load(option, folder, package):
    sys.path.insert(0, folder)
    if importlib.util.find_spec(package) is None:
        sys.exit(f"bench.py: --{option} must be a folder with the package {package}, got {folder}")
    return __import__(package)


def steps(tensors, arguments):
    """Yields (name, step) for the packages whose folders were given. Their steps compile at the first call."""
    on_gpu = tensors[0].is_cuda
    if arguments.release:
        release = _load("release", arguments.release, "trasmuon")
        yield "TrasMuon, the authors' release", release.TrasMuon(tensors, use_triton=on_gpu).step
    if arguments.dion:
        dion = _load("dion", arguments.dion, "dion")
        yield "NorMuon, microsoft/dion", dion.NorMuon(tensors, use_triton=on_gpu).step
        if importlib.util.find_spec("gram_newton_schulz"):
            yield "NorMuon, microsoft/dion, Gram form", dion.NorMuon(tensors, use_gram_newton_schulz=True).step
        if on_gpu:  # on a CPU its QR compiles for longer than anybody waits
            yield "Dion, microsoft/dion, rank 1/4", dion.Dion(tensors, rank_fraction=0.25).step
