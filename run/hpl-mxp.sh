#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts `speedwell mxp` with the flags of NVIDIA's HPL-MxP launcher. Every rank runs it, as it runs
# NVIDIA's launcher:
#   mpirun -n 8 run/hpl-mxp.sh --n 380000 --nb 4096 --nprow 4 --npcol 2 --nporder row \
#     --gpu-affinity 0:1:2:3:4:5:6:7
# It sources no other file, so that it also works beside `speedwell` in the bin/ of an unpacked bundle.
set -euo pipefail

# Columns: flag, kind of value, option of `speedwell mxp` (-: none, the flag is ignored; *: handled
# below), effect.
table="\
--n                                count     --n         size of the matrix
--nb                               count     --nb        width of a block
--nprow                            count     --nprow     rows of the process grid
--npcol                            count     --npcol     columns of the process grid
--nporder                          order     --nporder   order of the ranks in the grid
--sloppy-type                      precision --precision type of the update
--test-loop                        count     --repeat    number of runs
--gpu-affinity                     gpus      *           CUDA_VISIBLE_DEVICES, by node-local rank
--cpu-affinity                     cpus      *           numactl --physcpubind, by node-local rank
--mem-affinity                     cpus      *           numactl --membind, by node-local rank
--ucx-affinity                     devices   *           UCX_NET_DEVICES, port 1, by node-local rank
--ucx-tls                          word      *           UCX_TLS
--exec-name                        word      *           the speedwell command, as SPEEDWELL
--use-mpi-panel-broadcast          percent   *           0: --comm nccl; 100: --comm mpi; else ignored
--use-host-mpi                     switch    *           1: --comm staged
--mpi-use-mpi                      switch    -           ignored; similar: -- --bcast ibcast
--mpi-use-host-threads             switch    -           ignored
--tolerance                        real      -           ignored; refined to a scaled residual below 1
--preset-gemm-kernel               whole     -           ignored
--u-panel-chunk-nbs                whole     -           ignored
--call-dgemv-with-multiple-threads whole     -           ignored
--prioritize-trsm                  whole     -           ignored
--prioritize-factorization         whole     -           ignored; the next panel always goes first
--use-separate-stream-for-gemm     whole     -           ignored
--Anq-device                       whole     -           ignored; A is never stored in FP64
--fill-device                      switch    -           ignored; A is never stored in FP64
--fill-device-buffer-size          whole     -           ignored; A is never stored in FP64
--cuda-host-register-step          whole     -           ignored; A is never stored in FP64
--fp4-scaling-factor-a             real      -           ignored
--skip-tests                       switch    -           ignored; no tests run before the benchmark
--gemm-iterations                  whole     -           ignored; no tests run before the benchmark
--monitor-gpu                      switch    -           ignored
--monitor-gpu-interval             real      -           ignored
--monitor-gpu-clock-warning        whole     -           ignored
--monitor-gpu-power-warning        whole     -           ignored
--monitor-gpu-temp-warning         whole     -           ignored
--monitor-gpu-pcie-width-warning   whole     -           ignored
--monitor-gpu-pcie-gen-warning     whole     -           ignored
--cuda-compat                      none      -           ignored
--no-multinode                     none      -           ignored"

# first_set NAME...: prints the value of the first variable that is set. mpirun's variables are named
# before Slurm's, which mpirun may have inherited.
first_set() {
  local name
  for name in "$@"; do
    if [ -n "${!name:-}" ]; then
      echo "${!name}"
      return
    fi
  done
}
rank=$(first_set OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK MV2_COMM_WORLD_RANK SLURM_PROCID)
local_rank=$(first_set OMPI_COMM_WORLD_LOCAL_RANK PMIX_LOCAL_RANK MPI_LOCALRANKID \
  MV2_COMM_WORLD_LOCAL_RANK SLURM_LOCALID)
local_size=$(first_set OMPI_COMM_WORLD_LOCAL_SIZE PMIX_LOCAL_SIZE MPI_LOCALNRANKS \
  MV2_COMM_WORLD_LOCAL_SIZE)

say() { [ "${rank:-0}" != 0 ] || echo "hpl-mxp.sh: $1" >&2; }

# For an error that every rank finds: rank 0 prints it. The other ranks wait, since a launcher may
# kill rank 0 as soon as one of them fails.
fail() {
  say "$1"
  [ "${rank:-0}" = 0 ] || sleep 1
  exit 2
}

# For an error that only this rank may have found.
fail_here() {
  echo "hpl-mxp.sh: rank ${rank:-0}: $1" >&2
  exit 2
}

usage() {
  [ "${rank:-0}" = 0 ] || return 0
  echo "usage: hpl-mxp.sh [flags of NVIDIA's HPL-MxP launcher] [-- options of speedwell mxp]"
  echo "Every rank runs it, under mpirun or srun. What each flag (--name value, --name=value) does here:"
  local name kind option text
  while read -r name kind option text; do
    [[ $option != --* ]] || text="$option: $text"
    printf '  %-35s %s\n' "$name" "$text"
  done <<<"$table"
}

declare -A kinds=() translations=() values=()
names=()
while read -r name kind option _; do
  names+=("$name")
  kinds[$name]=$kind
  translations[$name]=$option
done <<<"$table"

number='[0-9]{1,18}'
range="$number(-$number)?(,$number(-$number)?)*"
gpu="($number|(GPU|MIG)-[0-9A-Za-z/-]+)"
device='[A-Za-z0-9_.-]+'
declare -A patterns=([count]='[1-9][0-9]{0,17}' [whole]=$number [percent]='[0-9]{1,2}|100'
  [real]='([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?' [switch]='[01]' [order]='row|column'
  [precision]='FP16|fp16|2' [word]='.+'
  [gpus]="$gpu(:$gpu)*" [cpus]="$range(:$range)*" [devices]="$device(:$device)*")
declare -A expected=([count]='a whole number from 1' [whole]='a whole number from 0'
  [percent]='a whole number from 0 to 100' [real]='a number from 0' [switch]='0 or 1'
  [order]='row or column' [precision]='FP16 or 2 (others: -- --precision)' [word]='a word'
  [gpus]='GPUs with colons between them, as 0:1:2:3'
  [cpus]='ranges with colons between them, as 0-15:16-31'
  [devices]='devices with colons between them, as mlx5_0:mlx5_1')

while [ $# -gt 0 ]; do
  word=$1
  shift
  [ "$word" != -- ] || break
  case $word in
    -h | --help) usage && exit 0 ;;
    --*=*) name=${word%%=*} value=${word#*=} given=yes ;;
    *) name=$word value='' given=no ;;
  esac
  kind=${kinds["${name:-?}"]:-}
  [ -n "$kind" ] ||
    fail "unknown flag ${name@Q}; allowed: ${names[*]}; after --, the options of speedwell mxp"
  [ -z "${values[$name]+set}" ] || fail "$name is given more than once"
  if [ "$kind" = none ]; then
    [ "$given" = no ] || fail "$name takes no value"
    value=1
  elif [ "$given" = no ] && [ "$kind" = switch ] && [[ $# -eq 0 || $1 == -* ]]; then
    value=1
  elif [ "$given" = no ]; then
    [[ $# -gt 0 && $1 != --* ]] || fail "$name: its value is missing, ${expected[$kind]}"
    value=$1
    shift
  fi
  [[ $kind = none || $value =~ ^(${patterns[$kind]})$ ]] ||
    fail "$name: ${value@Q} is not ${expected[$kind]}"
  values[$name]=$value
done

options=()
ignored=()
for name in "${names[@]}"; do
  [ -n "${values[$name]+set}" ] || continue
  [ "${kinds[$name]}" != precision ] || values[$name]=fp16
  case ${translations[$name]} in
    --*) options+=("${translations[$name]}" "${values[$name]}") ;;
    -) ignored+=("$name") ;;
  esac
done

if [ "${values[--use-host-mpi]:-0}" = 1 ]; then
  options+=(--comm staged)
  [ -z "${values[--use-mpi-panel-broadcast]+set}" ] || ignored+=(--use-mpi-panel-broadcast)
else
  case $((10#${values[--use-mpi-panel-broadcast]:-50})) in
    0) options+=(--comm nccl) ;;
    100) options+=(--comm mpi) ;;
    *) [ -z "${values[--use-mpi-panel-broadcast]+set}" ] || ignored+=(--use-mpi-panel-broadcast) ;;
  esac
fi

# pick FLAG: sets `mine` to this rank's entry of the flag's list.
pick() {
  local list
  IFS=: read -ra list <<<"${values[$1]}"
  [ -n "$local_rank" ] || [ -z "$rank" ] ||
    fail "$1: the launcher does not tell a rank's number on its node (SLURM_LOCALID and the like)"
  [[ ! $local_size =~ ^$number$ ]] || [ "$local_size" -le ${#list[@]} ] ||
    fail "$1 is for ${#list[@]} ranks a node, but $local_size run on a node"
  [[ ${local_rank:=0} =~ ^$number$ ]] || fail_here "its number on the node is ${local_rank@Q}"
  [ "$local_rank" -lt ${#list[@]} ] ||
    fail_here "$1 is for ${#list[@]} ranks a node, but this is number $local_rank, from 0, on its node"
  mine=${list[$local_rank]}
}

if [ -n "${values[--gpu-affinity]+set}" ]; then
  pick --gpu-affinity
  export CUDA_VISIBLE_DEVICES=$mine
fi
if [ -n "${values[--ucx-affinity]+set}" ]; then
  pick --ucx-affinity
  export UCX_NET_DEVICES=$mine:1
fi
[ -z "${values[--ucx-tls]+set}" ] || export UCX_TLS=${values[--ucx-tls]}

bind=()
for name in --cpu-affinity=--physcpubind --mem-affinity=--membind; do
  flag=${name%%=*}
  [ -n "${values[$flag]+set}" ] || continue
  pick "$flag"
  if command -v numactl >/dev/null; then
    bind+=("${name#*=}=$mine")
  else
    ignored+=("$flag (no numactl here)")
  fi
done
if [ ${#bind[@]} -gt 0 ]; then
  bind=(numactl "${bind[@]}")
  "${bind[@]}" true >/dev/null 2>&1 ||
    fail_here "this machine, or the launcher's binding of ranks to cores, refuses '${bind[*]}'"
fi

if [ ${#ignored[@]} -gt 0 ]; then
  printf -v list ', %s' "${ignored[@]}"
  say "ignored: ${list:2}"
fi

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
speedwell=${values[--exec-name]:-${SPEEDWELL:-}}
if [ -n "$speedwell" ]; then
  type -P "$speedwell" >/dev/null || fail "${speedwell@Q} cannot be executed (--exec-name, or SPEEDWELL)"
elif [ -x "$here/../build/release/speedwell" ]; then
  speedwell=$here/../build/release/speedwell
elif [ -x "$here/speedwell" ]; then
  speedwell=$here/speedwell
else
  speedwell=$(type -P speedwell) ||
    fail "no speedwell command: build it (run/setup), set SPEEDWELL to it, or put it into PATH"
fi
exec "${bind[@]}" "$speedwell" mxp "${options[@]}" "$@"
