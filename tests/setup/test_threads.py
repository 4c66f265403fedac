from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

COUNT = """
import facefusion.core.values
import numpy as np, psutil
square = np.ones((900, 900))
square @ square
print(psutil.Process().num_threads())
"""


def test_products_of_matrices_have_one_thread() -> None:
    """Whatever the number of cores: threads are for frames, and sums must not depend on how many there are."""
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"
