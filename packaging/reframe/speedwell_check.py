# SPDX-License-Identifier: BSD-3-Clause
"""HPL-MxP and HPL by Speedwell as ReFrame's tests: they fail unless x passes the residual check,
and record time and performance. `-S SpeedwellCheck.order=200000` sets the order of the matrix."""

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import (
    parameter,
    performance_function,
    run_before,
    sanity_function,
    variable,
)

# HPL's line of a run: variant, order, block size, process rows and columns, seconds, GFLOP/s.
RUN = r"^W[RC]\w+ +(?P<order>\d+) +\d+ +\d+ +\d+ +(?P<time>\d+\.\d+) +(?P<gflops>\d\.\d+e[+-]\d+)$"
PASSED = r"^ +(?P<passed>\d+) tests completed and passed residual checks"
FAILED = r"^ +(?P<failed>\d+) tests completed and failed residual checks"
SKIPPED = r"^ +(?P<skipped>\d+) tests skipped"
RESIDUAL = r"^\|\|Ax-b\|\|_oo/\(eps\*.*\)= +(?P<residual>\S+) \.+ PASSED$"


@rfm.simple_test
class SpeedwellCheck(rfm.RunOnlyRegressionTest):
    command = parameter(["mxp", "hpl"])
    order = variable(int, value=20000)
    options = variable(typ.List[str], value=[])

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "speedwell"
    num_tasks = 1
    tags = {"benchmark", "linpack"}

    @run_before("run")
    def set_options(self):
        self.executable_opts = [self.command, "-N", str(self.order), *self.options]

    @sanity_function
    def residuals_pass(self):
        passed = sn.extractsingle(PASSED, self.stdout, "passed", int)
        failed = sn.extractsingle(FAILED, self.stdout, "failed", int)
        skipped = sn.extractsingle(SKIPPED, self.stdout, "skipped", int)
        return sn.all([sn.assert_ge(passed, 1), sn.assert_eq(failed, 0), sn.assert_eq(skipped, 0)])

    @performance_function("GFLOP/s")
    def gflops(self):
        return sn.extractsingle(RUN, self.stdout, "gflops", float)

    @performance_function("s")
    def seconds(self):
        return sn.extractsingle(RUN, self.stdout, "time", float)

    @performance_function("1")
    def scaled_residual(self):
        return sn.extractsingle(RESIDUAL, self.stdout, "residual", float)
