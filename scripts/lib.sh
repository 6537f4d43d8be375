# shellcheck shell=bash
# What the scripts share. Source it; it stops the script at the first error.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
started=$SECONDS

# Everything that is downloaded or worth keeping between clones lives in one folder outside them.
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
LOCKSTEP_CACHE=$(realpath -m "${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/lockstep}")
export LOCKSTEP_CACHE
export PIP_CACHE_DIR=$LOCKSTEP_CACHE/pip
export CCACHE_DIR=${CCACHE_DIR:-$LOCKSTEP_CACHE/ccache}

elapsed() {
  local seconds=$((SECONDS - started))
  printf '%02d:%02d' $((seconds / 60)) $((seconds % 60))
}

say() { printf '[%s] %s\n' "$(elapsed)" "$*"; }

die() {
  printf '[%s] %s\n' "$(elapsed)" "$*" >&2
  exit 1
}

# OpenMPI refuses to start as root unless told so: containers have no other user.
allow_mpi_as_root() {
  if [[ $(id -u) == 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

# A file that includes LibTorch takes about 1.5 GB of memory to compile.
build_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  local by_memory=$((memory_gb / 2))
  echo $((by_memory < 1 ? 1 : by_memory < cores ? by_memory : cores))
}

# configure PRESET [CMake options]: quiet but for what was found and for errors.
configure() {
  local preset=$1 log
  shift
  log=$repo/build/configure-$preset.log
  mkdir -p "$repo/build"
  if ! (cd "$repo" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
    cat "$log" >&2
    die "configuring the preset '$preset' failed (see above)"
  fi
  sed -n 's/^-- \(LibTorch\|Building\|Python tests\)/   \1/p' "$log"
}

# build PRESET [targets]
build() {
  local preset=$1
  shift
  local targets=()
  if (($#)); then targets=(--target "$@"); fi
  # Stale locks and old objects are ccache's own business; the limit keeps it from filling a disk.
  if command -v ccache >/dev/null; then ccache --max-size 10G >/dev/null; fi
  NINJA_STATUS="   [%f/%t] " cmake --build "$repo/build/$preset" -j "$(build_jobs)" "${targets[@]}" ||
    die "building '$preset' failed (see above)"
}
