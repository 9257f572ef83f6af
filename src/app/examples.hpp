// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell examples`: command lines to paste.
#pragma once

#include <string>
#include <string_view>

namespace speedwell {

struct Example {
  std::string_view what;     ///< what it does, in one line
  std::string_view command;  ///< as a shell reads it, perhaps behind mpirun; words without quotes
};

inline constexpr Example examples[]{
    {"Solve A x = b of two NumPy files, and write x", "speedwell solve A.npy b.npy -o x.npy"},
    {"Refine x to its last digit, and write the report and its JSON",
     "speedwell solve A.mtx b.mtx -o x.mtx --accuracy forward --report x.txt --json x.json"},
    {"Run both benchmarks for about a minute, with n by the free memory",
     "speedwell bench --time-target 60"},
    {"Run both, and write what lists and competitions ask for into a new folder",
     "mpirun -n 4 speedwell bench --submission my-run"},
    {"Check such a folder", "speedwell verify my-run"},
    {"Run HPL-MxP on four ranks with a grid of 2 x 2",
     "mpirun -n 4 speedwell mxp -N 20000 -NB 512 -P 2 -Q 2"},
    {"Run HPL-MxP on a node of eight GPUs, three times, and write JSON",
     "mpirun -n 8 --bind-to none speedwell mxp --device cuda --repeat 3 --json mxp.json"},
    {"Run HPL with every combination of two orders and three block sizes",
     "speedwell hpl -N 4000,8000 -NB 64,128,256"},
    {"Run HPL as an HPL.dat says", "mpirun -n 4 speedwell hpl -i HPL.dat"},
    {"See what every rank did when, in Perfetto",
     "mpirun -n 4 speedwell mxp -N 20000 --trace trace.json"},
    {"Watch the GPUs beside a run, and warn above 85 C",
     "speedwell mxp --monitor 1 --monitor-temperature 85"},
    {"Compare with LAPACK at several orders, and keep the rates",
     "speedwell compare -N 2000,4000,8000 --json rates.json"},
    {"Compare solvers on a user matrix", "speedwell compare -N 4000 --matrix gaussian --rhs 16"},
    {"Compare levels of precision on a system whose x is known",
     "speedwell compare --levels -N 4000"},
    {"Find block size, look-ahead and chunk of this machine, for later runs",
     "speedwell tune --budget 120 --benchmark both"},
    {"Check all nodes of a job before a long run",
     "mpirun -n 16 speedwell check --seconds 20 --json figures.json"},
    {"Check them later, and compare with that check",
     "mpirun -n 16 speedwell check --seconds 20 --baseline figures.json"},
    {"Predict HPL-MxP on a node of eight H200", "speedwell predict mxp --machine h200-x8"},
    {"Predict what a complex system of order 50000 costs in each precision",
     "speedwell predict solve --machine h200 -N 50000 --complex"},
    {"Predict HPL on 32 GPUs of a cluster",
     "speedwell predict hpl --machine h200-cluster --ranks 32"},
    {"Measure the GPUs of this machine for predictions", "speedwell predict --calibrate mine.json"},
    {"See what Speedwell finds on this node", "speedwell info"},
};

/// The examples as text: a line '# WHAT' and the command.
std::string examples_text();

}  // namespace speedwell
