# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Functions of the batch scripts in this folder, which set the variables of their top block, then source
# this file.

say() { echo "speedwell job: $*" >&2; }

fail() {
  say "$1"
  exit 2
}

# whole NAME MINIMUM: checks that the variable NAME holds a whole number of at least MINIMUM.
whole() {
  [[ ${!1} =~ ^[0-9]{1,6}$ && $((10#${!1})) -ge $2 ]] || fail "$1='${!1}' is not a whole number from $2"
}

# Sets p and q. If both are empty, they become the squarest grid of the ranks, with P <= Q; if one is,
# it becomes the number of ranks divided by the other.
choose_grid() {
  [ -z "$p" ] || whole p 1
  [ -z "$q" ] || whole q 1
  if [ -z "$p$q" ]; then
    for ((p = 1; (p + 1) * (p + 1) <= ranks; p++)); do :; done
    while [ $((ranks % p)) -ne 0 ]; do p=$((p - 1)); done
  fi
  p=${p:-$((ranks / q))}
  q=${q:-$((ranks / p))}
  [ $((p * q)) -eq "$ranks" ] || fail "p=$p and q=$q do not make a grid of the job's $ranks ranks"
}

# Sets command to the speedwell command of the checkout or the bundle.
find_command() {
  for command in "${SPEEDWELL:-}" "$speedwell_home/build/release/speedwell" "$speedwell_home/bin/speedwell"; do
    if [ -x "$command" ] && [ ! -d "$command" ]; then return; fi
  done
  fail "no speedwell command in $speedwell_home: build it there (run/setup), or set speedwell_home"
}

check_job() {
  [ -n "${SLURM_JOB_ID:-}" ] || fail "not in a Slurm job; submit the script with sbatch"
  command -v srun >/dev/null || fail "srun is not in PATH"
  local list
  list=$(srun --mpi=list 2>&1) || fail "'srun --mpi=list' failed: ${list##*$'\n'}"
  grep -qw -- "$mpi" <<<"$list" ||
    fail "this Slurm's srun has no '$mpi': choose mpi from 'srun --mpi=list', or use mpirun (docs/clusters.md)"
  nodes=${nodes:-${SLURM_JOB_NUM_NODES:-1}}
  whole nodes 1
  whole ranks_per_node 1
  [ "$nodes" -le "${SLURM_JOB_NUM_NODES:-$nodes}" ] ||
    fail "nodes=$nodes, but the job has $SLURM_JOB_NUM_NODES (#SBATCH --nodes)"
  [ "${SLURM_NTASKS_PER_NODE:-$ranks_per_node}" = "$ranks_per_node" ] ||
    fail "$ranks_per_node ranks a node, but #SBATCH --ntasks-per-node=$SLURM_NTASKS_PER_NODE"
  ranks=$((nodes * ranks_per_node))
  cpus_per_rank=${cpus_per_rank:-$((${SLURM_CPUS_ON_NODE:-0} / ranks_per_node))}
  whole cpus_per_rank 1
  mkdir -p "$results" 2>/dev/null || true
  [[ -d $results && -w $results ]] || fail "results='$results' cannot be written"
}

# Adds the options for GPUs. Every rank sees all GPUs of its node, so that the GPUs can reach each
# other; Speedwell chooses one by the rank's number on its node.
add_gpus() {
  [ -n "${gpus_per_node:-}" ] || return 0
  whole gpus_per_node 1
  [ "${SLURM_GPUS_ON_NODE:-$gpus_per_node}" -ge "$gpus_per_node" ] ||
    fail "gpus_per_node=$gpus_per_node, but a node of the job has $SLURM_GPUS_ON_NODE (--gpus-per-node)"
  launch+=(--gpus-per-node="$gpus_per_node" --gpu-bind=none)
  run+=(--device cuda)
  [ -n "$gpus" ] || return 0
  local list
  IFS=, read -ra list <<<"$gpus"
  [ ${#list[@]} -eq "$ranks_per_node" ] ||
    fail "gpus='$gpus' names ${#list[@]} GPUs for $ranks_per_node ranks a node"
  run+=(--gpus "$gpus")
}

# sized OPTIONS...: whether the options choose the size of the problem.
sized() {
  local option
  for option in "$@"; do
    case $option in
      -N | -N[0-9]* | -N=* | --n | --n=* | --time-target | --time-target=*) return 0 ;;
    esac
  done
  return 1
}

# run_job [OPTIONS OF SPEEDWELL MXP]: runs the benchmark, writes report and JSON to files named by the job's
# number, and prints what to submit.
run_job() {
  [[ $benchmark == mxp || $benchmark == bench ]] || fail "benchmark='$benchmark'; allowed: mxp, bench"
  check_job
  find_command
  choose_grid
  local base=$results/speedwell-$SLURM_JOB_ID status=0
  # By default Slurm distributes the ranks of a node over its sockets in turn. With blocks, neighbours in
  # the grid and their GPUs share a socket.
  launch=(srun --mpi="$mpi" --nodes="$nodes" --ntasks="$ranks" --ntasks-per-node="$ranks_per_node"
    --cpus-per-task="$cpus_per_rank" --cpu-bind="$cpu_bind" --mem-bind="$mem_bind"
    --distribution=block:block --kill-on-bad-exit=1)
  run=("$benchmark" -P "$p" -Q "$q" --json "$base.json" --progress)
  [ "$benchmark" = mxp ] || run+=(--submission "$base-submission")
  add_gpus
  if [ -n "$n" ]; then
    run+=(-N "$n")
  elif ! sized "${options[@]}" "$@"; then
    run+=(--time-target "$seconds")
  fi
  [ -z "$nb" ] || run+=(-NB "$nb")
  run+=("${options[@]}" "$@")
  say "$(printf '%q ' "${launch[@]}" "$command" "${run[@]}")"
  "${launch[@]}" "$command" "${run[@]}" | tee "$base.txt" || status=$?
  local score # the best of the runs, as in the JSON
  score=$(sed -n 's/^ *GFLOPS = *\([^, ]*\),.*/\1/p' "$base.txt" | sort -g | tail -n 1)
  if [ $status -eq 0 ] && [ -n "$score" ]; then
    local folder=
    [ "$benchmark" = mxp ] || folder=", folder $base-submission (speedwell verify checks it)"
    say "PASSED. To submit: score $score GFLOP/s, report $base.txt, result $base.json$folder"
  else
    say "nothing to submit: speedwell ended with status $status; its report so far: $base.txt"
  fi
  exit $status
}
