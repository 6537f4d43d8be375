#!/usr/bin/env bash
# Installs what Lockstep needs, and nothing twice: Debian packages, and LibTorch from its wheel.
#   scripts/setup.sh           what a CPU build needs
#   scripts/setup.sh --tests   also what the tests need: the whole wheel with CUDA, Python packages
# A LibTorch or a Python torch that is at hand (CMAKE_PREFIX_PATH, python3) is used instead.
# Downloads go to $LOCKSTEP_CACHE (default: ~/.cache/lockstep); .venv links there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build_packages=(build-essential cmake ninja-build ccache git ca-certificates pkg-config python3
  python3-venv zstd unzip libopenmpi-dev openmpi-bin libhdf5-dev libboost-program-options-dev
  libspdlog-dev nlohmann-json3-dev libjpeg62-turbo-dev libexif-dev libstb-dev libpng-dev zlib1g-dev libxxhash-dev
  libarchive-dev libgtest-dev)
# MPICH beside Open MPI: Debian gives Open MPI the precedence as mpicc and mpirun.
test_packages=(clang-format clang-tidy shellcheck mpich libmpich-dev)
torch_minimum=2.7.0 # as in cmake/FindLibTorch.cmake
test_modules=(torch torchvision numpy h5py safetensors pytest PIL)

with_tests=0
case "${1:-}" in
  '') ;;
  --tests) with_tests=1 ;;
  *) die "unknown option $1 (setup.sh knows --tests alone)" ;;
esac

install_packages() {
  local wanted=("${build_packages[@]}") missing=() package
  if ((with_tests)); then wanted+=("${test_packages[@]}"); fi
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian: install the equivalents of ${wanted[*]}"
    return
  fi
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
  for package in "${wanted[@]}"; do
    grep -qx "$package" <<<"$installed" || missing+=("$package")
  done
  if ((!${#missing[@]})); then return; fi

  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      die "Packages are missing (and you are not root) - ask for: apt-get install ${missing[*]}"
    fi
    as_root=(sudo)
  fi
  say "Installing packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# Whether LibTorch is where CMake looks first: in CMAKE_PREFIX_PATH, then in python3.
torch_at_hand() {
  local place
  local IFS=:
  for place in ${CMAKE_PREFIX_PATH:-}; do
    if [[ -e $place/Torch/TorchConfig.cmake || -e $place/share/cmake/Torch/TorchConfig.cmake ]]; then
      say "Using LibTorch in $place (CMAKE_PREFIX_PATH)"
      return 0
    fi
  done
  IFS=' '
  local modules=(torch)
  if ((with_tests)); then modules=("${test_modules[@]}"); fi
  python3 - "$torch_minimum" "${modules[@]}" <<'PYTHON' 2>/dev/null
import importlib.metadata, importlib.util, sys
numbers = lambda text: [int(n) for n in text.split("+")[0].split(".")[:3]]
complete = all(importlib.util.find_spec(name) for name in sys.argv[2:])
enough = complete and numbers(importlib.metadata.version("torch")) >= numbers(sys.argv[1])
if enough:
    print("        Using torch", importlib.metadata.version("torch"), "of", sys.executable)
sys.exit(not enough)
PYTHON
}

# Installs the requirements of FILE into the venv unless its stamp says that it was done.
install_requirements() {
  local name=$1 pip_options=("${@:2}") requirements=$repo/scripts/requirements/$1.txt
  local stamp=$venv/stamp-$name
  if cmp -s "$requirements" "$stamp"; then return; fi
  say "Installing Python packages ($name) into $venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${pip_options[@]}" \
    -r "$requirements" || die "pip failed (see above) - run scripts/setup.sh again to go on"
  # Written last: an interrupted installation is taken up again.
  cp "$requirements" "$stamp.new" && mv "$stamp.new" "$stamp"
}

make_venv() {
  local python=/usr/bin/python3
  if ! "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    python=python3
  fi
  local tag
  tag=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=$LOCKSTEP_CACHE/venv-$tag-$(grep -oP '^torch==\K.*' "$repo/scripts/requirements/build.txt")
  mkdir -p "$LOCKSTEP_CACHE"
  # Two clones may be set up at once.
  exec 9>"$LOCKSTEP_CACHE/setup.lock"
  flock 9
  if [[ ! -e $venv/stamp-venv ]]; then
    "$python" -m venv --clear "$venv"
    touch "$venv/stamp-venv"
  fi
  # The CPU part of the wheel needs two of its many libraries; the tests' set brings the others.
  install_requirements build --no-deps
  if ((with_tests)); then install_requirements tests; fi
  flock -u 9
  if [[ $(readlink "$repo/.venv" || true) != "$venv" ]]; then
    if [[ -e $repo/.venv && ! -L $repo/.venv ]]; then
      die "$repo/.venv is not a link made by this script - move it away"
    fi
    ln -sfn "$venv" "$repo/.venv"
  fi
}

install_packages
if ! torch_at_hand; then make_venv; fi
if ((with_tests)); then say "Set up: ready to build and to test"; else say "Set up: ready to build"; fi
