# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder, which source it: packages, configuring, building, MPI.

set -euo pipefail
script=run/$(basename "$0")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
install_allowed=yes
# Without this, ccache keeps nothing that was compiled with a precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
# Build folders of the same flags share what was compiled.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}

library_packages=(g++ cmake ninja-build pkg-config git python3 libopenblas-openmp-dev libdnnl-dev libfmt-dev
  nlohmann-json3-dev libhwloc-dev libzip-dev)
test_packages=(catch2 libblis-openmp-dev liblapacke-dev libboost-context-dev)
check_packages=(doxygen)  # of the checks of the sources
bundle_packages=(binutils xz-utils)
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static)
# With one that Debian's package depends on, and that a build does not need.
package_packages=(dpkg-dev file libopenblas0)
python_packages=(python3-dev python3-venv binutils ccache)
# Left out where apt does not know them.
optional_packages=(libsimgrid-dev)

# clang 14, which the code is formatted with, where it is the system's own; and the omp.h that it reads.
system=$(. /etc/os-release 2>/dev/null && echo "${ID:-}${VERSION_ID:-}") || system=
# And clang with libFuzzer and the thread sanitizer, which are parts of clang itself on Ubuntu 22.04,
# and with LLVM's OpenMP.
clang_packages=(clang)
case "$system" in
  debian12 | ubuntu22.04) check_packages+=(clang-format-14 clang-tidy-14 libomp-14-dev) ;;
  *) check_packages+=(clang-format clang-tidy libomp-dev) ;;
esac
case "$system" in
  debian12) clang_packages+=(libclang-rt-14-dev libomp-14-dev) ;;
  ubuntu22.04) clang_packages+=(libomp-14-dev) ;;
  *) clang_packages+=(libclang-rt-dev libomp-dev) ;;
esac

# For `speedwell predict`, which builds that are tested or packed have. That of Ubuntu 22.04 is too old.
predict_packages=(libsimgrid-dev)
[ "$system" != ubuntu22.04 ] || predict_packages=()
test_packages+=("${predict_packages[@]}")
package_packages+=("${predict_packages[@]}")

# fail STATUS MESSAGE: 2 for bad usage, 3 for a fault, as the speedwell command.
fail() {
  echo "$script: $2" >&2
  exit "$1"
}

# The MPI, whose compilers and launcher have names of their own where Debian has both; and the preset
# of the optimized build with it.
case ${SPEEDWELL_MPI:=openmpi} in
  openmpi) library_packages+=(libopenmpi-dev openmpi-bin) optimized=release ;;
  mpich) library_packages+=(libmpich-dev mpich) optimized=mpich ;;
  *) fail 2 "SPEEDWELL_MPI is '$SPEEDWELL_MPI'; allowed: openmpi, mpich" ;;
esac
build_packages=("${library_packages[@]}" libcli11-dev)

say() { echo "$script: $*" >&2; }

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ] || continue
    if [[ " ${optional_packages[*]} " == *" $package "* ]]; then
      apt-cache show "$package" >/dev/null 2>&1 || continue
    fi
    echo "$package"
  done
}

# Installs those of the packages that are missing; apt is not called when none is.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian or Ubuntu system: nothing is installed, docs/installing.md lists what is needed"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  [ $install_allowed = yes ] ||
    fail 2 "--no-install, but these packages are missing: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail 3 "neither root nor sudo; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update </dev/null >&2 ||
    fail 3 "apt-get update failed (is the network reachable?); missing: ${missing[*]}"
  mapfile -t missing < <(missing_packages "$@")  # apt may know more packages now
  say "installing ${missing[*]}"
  "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2 ||
    fail 3 "apt-get could not install: ${missing[*]}"
}

# configure PRESET [CMAKE OPTIONS]. What a build folder was first made with stays: its generator, its
# tests, which are left out at first unless the options ask for them, a compiler cache where there is
# one, and that the sources of a layer are compiled together, in half the time.
configure() {
  local preset=$1 first=()
  shift
  if [ ! -e "$root/build/$preset/CMakeCache.txt" ]; then
    first=(-DSPEEDWELL_TESTS=OFF -DCMAKE_UNITY_BUILD=ON)
    ! command -v ninja >/dev/null || first+=(-G Ninja)
    if command -v ccache >/dev/null; then
      first+=(-DCMAKE_{C,CXX,CUDA}_COMPILER_LAUNCHER=ccache)
    fi
  fi
  (cd "$root" && cmake --preset "$preset" "${first[@]}" "$@") >&2
}

# predict_option: the option by which such a build has predictions, where SimGrid is new enough.
predict_option() {
  if pkg-config --atleast-version=3.32 simgrid 2>/dev/null; then
    echo SPEEDWELL_PREDICT=ON
  else
    echo SPEEDWELL_PREDICT=OFF
  fi
}

# build PRESET [TARGETS]
build() {
  local targets=()
  [ $# -eq 1 ] || targets=(--target "${@:2}")
  cmake --build "$root/build/$1" -j "$jobs" "${targets[@]}" >&2
}

# How programs of this machine's processor are built and read; choose_architecture sets another's. The
# libraries of another lie in sysroot, the command loaded prints what the loader finds for a program.
arch=$HOSTTYPE
preset=release
sysroot=
emulator=()
loaded=(ldd)
strip='strip'

# choose_architecture ARCH: the processor that is built for, this machine's or Arm's 64 bits.
choose_architecture() {
  [[ $1 =~ ^(x86_64|aarch64)$ ]] || fail 2 "--arch is '$1'; allowed: x86_64, aarch64"
  [ "$1" != "$arch" ] || return 0
  [ "$1" = aarch64 ] || fail 2 "--arch is '$1', for which there is no cross compiler here; allowed: $arch"
  arch=$1
  preset=arm64
  sysroot=$(realpath -m "$root/build/arm64-root")
  emulator=(qemu-aarch64-static -L "$sysroot")
  loaded=("${emulator[@]}" -E LD_TRACE_LOADED_OBJECTS=1 "$sysroot/lib/ld-linux-aarch64.so.1")
  strip=aarch64-linux-gnu-strip
  build_packages+=("${arm64_packages[@]}")
}

# libraries_of FILE...: prints "name path" for each library that the files load, directly or through
# other libraries; the path is "-" where there is none.
libraries_of() {
  local file
  for file in "$@"; do
    LC_ALL=C "${loaded[@]}" "$file" 2>/dev/null || true
  done | awk -v root="$sysroot" '$2 == "=>" && $1 !~ "/" {
    print $1, ($3 == "not" ? "-" : index($3, root "/") == 1 ? $3 : root $3) }' | sort -u
}

# Whether a launcher of several ranks has started this script. (A script of a Slurm job is one process,
# whatever the job's SLURM_NTASKS.)
started_as_rank() {
  local size
  for size in "${OMPI_COMM_WORLD_SIZE:-}" "${PMI_SIZE:-}" "${SLURM_STEP_NUM_TASKS:-}"; do
    [[ ! $size =~ ^[0-9]+$ || $size -le 1 ]] || return 0
  done
  return 1
}

# choose_ranks SPEEDWELL OPTIONS...: sets ranks, unless it is set, and says by what: the tasks of the Slurm
# job, or a rank for each GPU that the options and CUDA_VISIBLE_DEVICES leave, or one.
choose_ranks() {
  local speedwell=$1 gpus='' option before=
  shift
  if [ -n "$ranks" ]; then
    return
  elif [[ ${SLURM_NTASKS:-} =~ ^[1-9][0-9]*$ ]]; then
    ranks=$SLURM_NTASKS
    say "starts $ranks ranks, as SLURM_NTASKS says (--ranks N starts N)"
    return
  fi
  ranks=1
  for option in "$@"; do
    # "--option value" is "--option=value".
    case $before in --device | --gpus) option=$before=$option ;; esac
    case $option in
      --device=cpu) return ;;
      --gpus=*) gpus=${option#--gpus=} ;;
    esac
    before=$option
  done
  if [ -n "$gpus" ]; then
    gpus=${gpus//[!,]/}
    ranks=$((${#gpus} + 1))
    say "starts a rank for each GPU of --gpus: $ranks"
    return
  fi
  # What a rank would see, whatever decides it: the driver, CUDA_VISIBLE_DEVICES, a container.
  gpus=$("$speedwell" info | grep -c '^device cuda .* free: ') || gpus=0
  [ "$gpus" -eq 0 ] || ranks=$gpus
  [ "$gpus" -lt 2 ] ||
    say "starts a rank for each of the $gpus GPUs that are visible (--ranks N starts N)"
}

# Sets mpirun to the command that starts N ranks, each free to use every core.
set_mpirun() {
  mpirun=(mpirun -n "$1")
  if [ "$SPEEDWELL_MPI" = mpich ]; then
    mpirun=(mpiexec.mpich -n "$1")
  elif mpirun --version 2>/dev/null | grep -q "Open MPI"; then
    mpirun+=(--bind-to none --oversubscribe)
    [ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
  fi
}

# copy_licences FOLDER FILES...: copies the licences of the packages that the files belong to.
copy_licences() {
  local folder=$1 package
  shift
  mkdir -p "$folder"
  set -- "${@#"$sysroot"}"
  while read -r package; do
    [ ! -e "$sysroot/usr/share/doc/$package/copyright" ] ||
      cp -L "$sysroot/usr/share/doc/$package/copyright" "$folder/$package"
  done < <({ dpkg-query --admindir="$sysroot/var/lib/dpkg" -S "$@" "${@/#\/usr/}" 2>/dev/null || true; } |
    sed 's/:.*//' | sort -u)
}

# make_environment PYTHON FOLDER PACKAGES: a virtual environment with these packages of Python's index.
make_environment() {
  local python=$1 folder=$2
  shift 2
  [ -x "$folder/bin/pip" ] || "$python" -m venv "$folder" >&2 ||
    fail 3 "$python cannot make a virtual environment (Debian: python3-venv)"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --retries 5 "$@" >&2 ||
    fail 3 "pip could not install: $*"
}
