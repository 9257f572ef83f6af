# SPDX-License-Identifier: BSD-3-Clause
from ramble.appkit import *


class Speedwell(ExecutableApplication):
    """Speedwell runs the benchmarks HPL-MxP and HPL by their rules, on processors and GPUs."""

    name = "speedwell"

    tags("benchmark-app", "benchmark", "linpack", "mixed-precision")

    software_spec("speedwell", pkg_spec="speedwell@main", package_manager="spack*")

    required_package("speedwell", package_manager="spack*")

    executable("mxp", "speedwell mxp -N {order} {options}", use_mpi=True)
    executable("hpl", "speedwell hpl -N {order} {options}", use_mpi=True)

    workload("mxp", executables=["mxp"])
    workload("hpl", executables=["hpl"])

    workload_variable(
        "order",
        default="20000",
        description="Order of the matrix, or several with commas between them",
        workloads=["mxp", "hpl"],
    )

    workload_variable(
        "options",
        default="",
        description="Further options of the command, such as '--nb 256'",
        workloads=["mxp", "hpl"],
    )

    # HPL's line of a run, and what follows it until the next.
    run_regex = (
        r"(?P<variant>W[RC]\w+)\s+(?P<order>\d+)\s+(?P<block>\d+)\s+(?P<rows>\d+)\s+(?P<columns>\d+)"
        r"\s+(?P<time>\d+\.\d+)\s+(?P<gflops>\d\.\d+e[+-]\d+)\s*$"
    )

    figure_of_merit_context(
        "run",
        regex=run_regex,
        output_format="{variant} N={order} NB={block} {rows}x{columns}",
    )

    figure_of_merit("Time", fom_regex=run_regex, group_name="time", units="s", contexts=["run"])

    figure_of_merit(
        "Performance", fom_regex=run_regex, group_name="gflops", units="GFLOP/s", contexts=["run"]
    )

    figure_of_merit(
        "Scaled residual",
        fom_regex=r"\|\|Ax-b\|\|_oo/\(eps\*.*\)= +(?P<residual>\S+) \.+ (PASSED|FAILED)",
        group_name="residual",
        units="",
        contexts=["run"],
    )

    figure_of_merit(
        "Performance of the LU",
        fom_regex=r"\s+LU GFLOPS = (?P<gflops>\d\.\d+e[+-]\d+), per GPU",
        group_name="gflops",
        units="GFLOP/s",
        contexts=["run"],
    )

    success_criteria(
        "a run passed",
        mode="string",
        match=r"\s+[1-9]\d* tests completed and passed residual checks",
    )

    success_criteria(
        "no run failed",
        mode="string",
        match=r"\s+0 tests completed and failed residual checks",
    )
