#!/usr/bin/env bash
# clang-tidy over the project, each file once per contents: what passed is remembered in
# $LOCKSTEP_CACHE/lint by a digest of the file, the project's headers below it and the settings.
#   scripts/lint.sh    the files of the last commit, then others as far as the time goes; prints
#                      what was not checked
# scripts/lint_full.sh checks everything.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"

# A configuration of its own: clang cannot read g++'s precompiled headers.
if ! cmake --preset release -B build/lint -DLOCKSTEP_PCH=OFF -DLOCKSTEP_CCACHE=OFF \
  >build/lint.log 2>&1; then
  cat build/lint.log >&2
  die "configuring for lint failed (see above)"
fi
exec python3 scripts/lint.py --build build/lint --cache "$LOCKSTEP_CACHE/lint" "$@"
