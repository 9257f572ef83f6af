# SPDX-License-Identifier: BSD-3-Clause
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Speedwell(CMakePackage, CudaPackage):
    """Speedwell solves dense linear systems to the accuracy of FP64 with nearly all multiplications
    of 16-bit numbers, and runs the benchmarks HPL-MxP and HPL by their rules, on processors and on
    NVIDIA GPUs, across MPI ranks."""

    # There is no public repository yet, from which Spack could fetch a version: `spack develop
    # --path CHECKOUT speedwell@main` builds a checkout.
    license("BSD-3-Clause")

    version("main", branch="main")

    variant("onednn", default=True, description="Native BF16 by oneDNN")
    variant("libzip", default=True, description="Read and write .npz files")
    variant("predict", default=False, description="speedwell predict, by SimGrid")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("nlohmann-json", type="build")

    depends_on("mpi")
    depends_on("fmt")
    depends_on("hwloc")
    depends_on("openblas threads=openmp")
    depends_on("onednn@2.6:", when="+onednn")
    depends_on("libzip@1.7:", when="+libzip")
    depends_on("simgrid@3.32:", when="+predict")
    depends_on("cuda@12:", when="+cuda")

    generator("ninja")

    conflicts("%gcc@:10", msg="Speedwell is written in C++20")
    conflicts("%clang@:13", msg="Speedwell is written in C++20")
    requires(
        "target=x86_64:",
        "target=aarch64:",
        policy="one_of",
        msg="Speedwell has loops for x86-64 and Arm",
    )
    for arch in CudaPackage.cuda_arch_values:
        if arch != "none" and int("".join(filter(str.isdigit, arch))) < 80:
            conflicts(
                f"cuda_arch={arch}", when="+cuda", msg="Speedwell needs a GPU of 8.0 or later"
            )

    def cmake_args(self):
        args = [
            self.define("SPEEDWELL_TESTS", False),
            self.define_from_variant("SPEEDWELL_CUDA", "cuda"),
            self.define_from_variant("SPEEDWELL_ONEDNN", "onednn"),
            self.define_from_variant("SPEEDWELL_LIBZIP", "libzip"),
            self.define_from_variant("SPEEDWELL_PREDICT", "predict"),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            archs = self.spec.variants["cuda_arch"].value
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(archs)))
        return args

    def test_mxp(self):
        """run HPL-MxP at a small order"""
        speedwell = which(self.prefix.bin.speedwell)
        report = speedwell("mxp", "-N", "500", output=str.split, error=str.split)
        check_outputs(r"1 tests completed and passed residual checks", report)
