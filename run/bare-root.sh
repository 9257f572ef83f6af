# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the scripts that test what others install (run/check-bundle, run/check-package), after
# run/lib.sh: a root of its own, which a script fills, and commands that run in it.

# enter_bare_root ARGUMENTS...: reads the arguments of a script that takes one file, starts it again in a
# mount namespace, and exits as it does. There it sets file, and bare, a folder that is to become the
# bare root.
enter_bare_root() {
  if [ "${1:-}" = --inside ]; then
    bare=$2
    file=$3
    return
  fi
  case ${1:-} in
    -h | --help) echo "$usage" && exit 0 ;;
    -*) fail 2 "unknown option $1; $usage" ;;
  esac
  [ $# -eq 1 ] || fail 2 "$usage"
  [ -r "$1" ] || fail 2 "cannot read $1"
  local enter=(unshare --mount --propagation private)
  if [ "$(id -u)" -ne 0 ]; then
    enter=(unshare --map-root-user --mount --propagation private)
    if ! "${enter[@]}" true 2>/dev/null; then
      say "SKIPPED: not root, and this system allows no user namespaces"
      exit 0
    fi
  fi
  "${enter[@]}" true || fail 3 "unshare --mount is refused, although root asks"
  bare=$(mktemp -d) || fail 3 "cannot make a folder for the bare root"
  # The mounts exist for the process inside alone, and are gone when it ends.
  trap 'rm -rf --one-file-system "$bare"' EXIT
  "${enter[@]}" "$0" --inside "$bare" "$(realpath "$1")"
  exit
}

# What every root needs of the kernel.
mount_system() {
  local folder
  for folder in proc dev sys; do mount --rbind "/$folder" "$bare/$folder"; done
}

# there COMMAND...: runs it in the bare root. Waiting ranks yield their core, since other work may run
# on the same cores.
there() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1 \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${settings[@]}" \
    timeout -k 5 1200 "$chroot" "$bare" "$@"
}
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot) || fail 3 "chroot is not here"
settings=()
log=

# passes NAME COMMAND...: runs it in the bare root; its exit status must be 0.
passes() {
  local name=$1 status=0 begin=$SECONDS
  shift
  log=$(there "$@" </dev/null 2>&1) || status=$?
  [ $status -eq 0 ] || { echo "$log" >&2 && fail 3 "$name: status $status"; }
  say "$name: passed in $((SECONDS - begin)) s"
}

# fails NAME STATUS WORDS COMMAND...: runs it in the bare root; it must exit with this status, and
# print one line that contains the words.
fails() {
  local name=$1 expected=$2 words=$3 status=0
  shift 3
  log=$(there "$@" </dev/null 2>&1) || status=$?
  [[ $status -eq $expected && $log != *$'\n'* && $log == *"$words"* ]] ||
    { echo "$log" >&2 && fail 3 "$name: status $status, not $expected and one line with '$words'"; }
  say "$name: refused as it should be"
}
