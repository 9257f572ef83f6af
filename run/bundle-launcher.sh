#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Starts a program of this archive: the one that has the name of the link by which this script was
# started. The program gets the archive's own libraries and MPI, and CUDA's libraries if the machine
# has them. The script needs /bin/sh and coreutils alone.
set -u
IFS='
'

self=$(readlink -f -- "$0")
root=${self%/*/*}

# The program's name is that of the link in bin/. A user's link to that link may have another name.
link=$0
while [ -L "$link" ]; do
  case $link in */*) folder=${link%/*}/ ;; *) folder= ;; esac
  [ "$(readlink -f -- "${folder:-.}")" != "$root/bin" ] || break
  target=$(readlink -- "$link")
  case $target in /*) link=$target ;; *) link=$folder$target ;; esac
done
name=${link##*/}
program=$root/libexec/$name

fail() {
  echo "$name: $1" >&2
  exit 3
}

case $root in
  *[:\;]*) fail "the loader cannot read folders with ':' or ';' in their names: $root" ;;
esac
read -r machine <"$root/share/speedwell/architecture"
[ "$(uname -m)" = "$machine" ] || fail "this archive is for $machine, and this machine is $(uname -m)"
case $machine in
  aarch64) cuda_target=sbsa-linux cache_mark=AArch64 ;;
  *) cuda_target=x86_64-linux cache_mark=x86-64 ;;
esac

# The driver's library, and the libraries to which CUDA 13 programs link or which they load. Programs
# load NCCL only if it is found.
wanted="libcuda.so.1
libcudart.so.13
libcublas.so.13
libcublasLt.so.13
libcusolver.so.12
libcusparse.so.12
libnvJitLink.so.13
libnvrtc.so.13
libnccl.so.2"
while read -r library; do
  case $IFS$wanted$IFS in
    *"$IFS$library$IFS"*) ;;
    *) wanted=$wanted$IFS$library ;;
  esac
done <"$root/share/speedwell/cuda-libraries"
places="LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, the loader's cache and folders, \
Python's nvidia packages (of VIRTUAL_ENV, CONDA_PREFIX, the python3 in PATH, ~/.local, /usr, /opt) \
and /usr/local/nvidia"

# The result of the search: folders for the loader, and a report with a line for each library.
folders=
report=

# found LIBRARY PLACE: the library is no longer wanted; the report gets a line about it.
found() {
  rest=
  for other in $wanted; do
    [ "$other" = "$1" ] || rest=$rest${rest:+$IFS}$other
  done
  wanted=$rest
  report=$report"$1: $2$IFS"
}

# take_from FOLDER...: takes the libraries that are still wanted from these folders.
take_from() {
  for candidate in "$@"; do
    [ -d "$candidate" ] || continue
    for library in $wanted; do
      [ -e "$candidate/$library" ] || continue
      found "$library" "$candidate"
      case $IFS$folders$IFS in
        *"$IFS$candidate$IFS"*) ;;
        *) folders=$folders${folders:+$IFS}$candidate ;;
      esac
    done
  done
}

take_from_toolkits() {
  for toolkit in "$@"; do
    take_from "$toolkit/lib64" "$toolkit/targets/$cuda_target/lib" "$toolkit/lib"
  done
}

# take_from_pythons FOLDER...: takes libraries from the nvidia packages of these Python installations.
take_from_pythons() {
  for python in "$@"; do
    for packages in "$python"/lib*/python3*/site-packages "$python"/lib/python3*/dist-packages; do
      take_from "$packages"/nvidia/cu13/lib "$packages"/nvidia/*/lib
    done
  done
}

# Finds libraries that the loader finds by itself: their folders are not added to LD_LIBRARY_PATH.
note_cache() {
  while read -r line; do
    library=${line%% *}
    library=${library##*[!a-zA-Z0-9_.+-]}
    case $line in *"$cache_mark"*' => '*) ;; *) continue ;; esac
    case $IFS$wanted$IFS in
      *"$IFS$library$IFS"*) found "$library" "${line##* => } (the loader's cache)" ;;
    esac
  done <<END
$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null)
END
}

find_cuda() {
  old_ifs=$IFS
  IFS=:
  set -f
  # shellcheck disable=SC2086
  set -- ${LD_LIBRARY_PATH:-}
  set +f
  IFS=$old_ifs
  take_from "$@"
  take_from_toolkits ${CUDA_HOME:+"$CUDA_HOME"} ${CUDA_PATH:+"$CUDA_PATH"} \
    /usr/local/cuda /usr/local/cuda-13* /usr/local/cuda*
  note_cache
  take_from /usr/lib64 "/usr/lib/$machine-linux-gnu"
  python=$(command -v python3)
  case $python in
    */bin/*) take_from_pythons "${python%/bin/*}" ;;
  esac
  take_from_pythons ${VIRTUAL_ENV:+"$VIRTUAL_ENV"} ${CONDA_PREFIX:+"$CONDA_PREFIX"} \
    ${HOME:+"$HOME/.local"} \
    /usr /usr/local /opt /opt/* /opt/*/* /opt/*/.venv
  take_from_toolkits ${CONDA_PREFIX:+"$CONDA_PREFIX"} /opt/cuda /opt/conda
  take_from /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib
}

# Searches once for a run: ranks inherit the outcome from the launcher that started mpirun.
case ${SPEEDWELL_BUNDLE:-}$IFS${LD_LIBRARY_PATH:-} in
  "$root$IFS$root/lib"*) [ "$name" != speedwell-environment ] || find_cuda ;;
  *)
    find_cuda
    path=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    for folder in $folders; do
      case :$path: in *":$folder:"*) ;; *) path=$path:$folder ;; esac
    done
    export LD_LIBRARY_PATH="$path" SPEEDWELL_BUNDLE="$root"
    ;;
esac

# Open MPI was configured for Debian's folders; these variables name the archive's.
export OPAL_PREFIX="$root" OPAL_BINDIR="$root/bin" OPAL_LIBDIR="$root/lib" \
  OPAL_PKGLIBDIR="$root/lib/openmpi3" OPAL_SYSCONFDIR="$root/etc/openmpi" \
  OPAL_DATADIR="$root/share" OPAL_PKGDATADIR="$root/share/openmpi" PMIX_PREFIX="$root" \
  PMIX_LIBDIR="$root/lib" PMIX_PKGLIBDIR="$root/lib/pmix" HWLOC_PLUGINS_PATH="$root/lib/hwloc"
case :$PATH: in *":$root/bin:"*) ;; *) export PATH="$root/bin:$PATH" ;; esac

# Without ssh, Open MPI refuses to start even on this node alone, unless its rsh launcher is disabled.
if [ -z "${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm:-}" ] &&
  ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then
  export OMPI_MCA_plm='^rsh'
fi

# Open MPI's shared memory fails ("Read -1, expected ...") where ranks may not read each other's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism="${OMPI_MCA_btl_vader_single_copy_mechanism:-none}"

if [ "$name" = speedwell-environment ]; then
  printf '%s' "$report" | while read -r line; do printf '# %s\n' "$line"; done
  for library in $wanted; do echo "# $library: not found"; done
  echo "# looked in $places"
  for variable in PATH LD_LIBRARY_PATH SPEEDWELL_BUNDLE OPAL_PREFIX OPAL_BINDIR OPAL_LIBDIR \
    OPAL_PKGLIBDIR OPAL_SYSCONFDIR OPAL_DATADIR OPAL_PKGDATADIR PMIX_PREFIX PMIX_LIBDIR PMIX_PKGLIBDIR \
    HWLOC_PLUGINS_PATH OMPI_MCA_plm OMPI_MCA_btl_vader_single_copy_mechanism; do
    eval "value=\${$variable-}"
    [ -n "$value" ] || continue
    # A quote inside quotes is written '\''.
    quoted=
    while :; do
      case $value in
        *\'*)
          quoted=$quoted${value%%\'*}"'\\''"
          value=${value#*\'}
          ;;
        *) break ;;
      esac
    done
    printf "export %s='%s'\n" "$variable" "$quoted$value"
  done
  exit 0
fi

[ -x "$program" ] || fail "this archive has no such program; see $root/BUNDLE.txt"

# The loader's own message would name a missing library, but not the places where it was looked for.
trace=$(LD_TRACE_LOADED_OBJECTS=1 "$program" 2>&1)
case $trace in
  *' => not found'*)
    missing=
    for line in $trace; do
      case $line in *' => not found'*) line=${line%% => *} && missing=$missing" ${line##*[!a-zA-Z0-9_.+-]}" ;; esac
    done
    fail "not found:$missing; looked in $places. CUDA 13's folder goes into CUDA_HOME"
    ;;
  *'version `GLIBC_'*' not found'*)
    fail "this system's C library is too old: glibc $(cat "$root/share/speedwell/glibc") is needed"
    ;;
esac

# On other nodes mpirun starts bin/orted below this prefix, which is a link to this script too.
case $name in
  mpirun | mpiexec | orterun)
    for argument in "$@"; do
      case $argument in --prefix | -prefix) exec "$program" "$@" ;; esac
    done
    exec "$program" --prefix "$root" "$@"
    ;;
esac
exec "$program" "$@"
