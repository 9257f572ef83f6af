# SPDX-License-Identifier: BSD-3-Clause
"""The random vectors that judge systems are the same in each run of the tests."""

import os

os.environ.setdefault("SPEEDWELL_PROBE_SEED", "1")
