"""Planning must start at once: no torch for data sets, partitions and the stub."""

import subprocess
import sys

import pytest

LIGHT = (
    "learning",
    "learning.batches",
    "learning.datasets.builtin",
    "learning.datasets.files",
    "learning.executors.stub",
    "learning.metrics",
    "learning.partition",
    "learning.settings",
)


@pytest.mark.parametrize("module", LIGHT)
def test_torch_is_not_imported(module: str):
    program = f"import sys, asyncfeel.{module}; print('torch' in sys.modules, 'simpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_data_and_partition_are_made_without_torch():
    program = (
        "import sys, numpy as np\n"
        "from asyncfeel.learning import partition\n"
        "from asyncfeel.learning.datasets import builtin\n"
        "data = builtin.digits()\n"
        "partition.dirichlet(data.y_train, 5, np.random.default_rng(1))\n"
        "builtin.quadratic(3, np.random.default_rng(1))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
