#!/usr/bin/env bash
# Sets up, builds, passes all tests: the stages below in their order, ending at the first failure.
#   scripts/test.sh           everything, as .ci/run does
#   scripts/test.sh --quick   format, scripts, and the tests of the release build
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=0
case "${1:-}" in
  '') ;;
  --quick) quick=1 ;;
  *) die "unknown option $1 (test.sh knows --quick alone)" ;;
esac
cd "$repo"
allow_mpi_as_root

stage() {
  local title=$1
  shift
  printf '\n[%s] == %s\n' "$(elapsed)" "$title"
  # In a shell of its own, so that the first error inside ends the stage; not as `( ) || die`, which
  # would turn `set -e` off inside.
  set +e
  (set -e; "$@")
  local rc=$?
  set -e
  if ((rc != 0)); then die "Stage failed: $title"; fi
}

format() {
  git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run --Werror
}

scripts_check() {
  shellcheck -x scripts/*.sh slurm/*.sh .ci/run
}

release_tests() {
  ctest --test-dir build/release --output-on-failure -j "$(nproc)" -L 'unit|mpi'
}

# A program for the CPU starts faster than one for GPUs, and those tests are mostly starts.
program_tests() {
  scripts/check_no_toolkit.sh --tests 'job|peers'
}

build_release() {
  configure release
  build release
}

# Two epochs of the eight. What it says at its end is part of it: where the results are.
quickstart() {
  local results
  QUICKSTART_MIN_ACCURACY=25 scripts/quickstart.sh --train.epochs 2 | tee build/quickstart.log
  results=$(sed -n 's/.* Results: \(.*\) (.*/\1/p' build/quickstart.log)
  if [[ ! -s $results/metrics.csv ]]; then die "quickstart does not say where its results are"; fi
}

# Lines of the documents that are stages of their own, or this script, are not run again.
examples() {
  tests/docs/run_blocks.py README.md docs/guide.md \
    --elsewhere scripts/quickstart.sh --elsewhere scripts/test.sh
}

sanitizer_tests() {
  local preset=$1
  configure "$preset"
  build "$preset" unit_tests
  ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" -L unit
}

stage "Set up" scripts/setup.sh --tests
stage "Format" format
stage "Scripts" scripts_check
stage "Build: release" build_release
stage "Tests: units and MPI" release_tests
stage "Tests: programs, built without a CUDA toolkit" program_tests
if ((!quick)); then
  stage "Installed, and used from outside" scripts/check_install.sh no-toolkit
  stage "MPICH" scripts/check_mpich.sh
  stage "Quickstart" quickstart
  stage "Examples in README and guide" examples
  stage "Tests: ThreadSanitizer" sanitizer_tests tsan
  stage "Tests: AddressSanitizer and UBSan" sanitizer_tests asan
  stage "Lint" scripts/lint.sh
fi
printf '\nAll stages passed in %s\n' "$(elapsed)"
