"""FaceFusion: swap and enhance faces in images and videos."""

import os

# NumPy reads it when it is first imported. Work is spread over threads frame by frame; more of them inside a product of
# small matrices only wait for each other (a tenth of all processor time at 720p, measured with the mesh swapper), and
# would make results depend on the number of cores.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

__version__ = "4.0.0"
