#!/usr/bin/env bash
# Builds an Apptainer container of the tarball, by packaging/lockstep.def: Debian 12, Open MPI,
# Lockstep for the CPU. Needs apptainer (or singularity) and a network for debian:12-slim.
#   scripts/apptainer.sh             of the tarball that scripts/package.sh makes
#   scripts/apptainer.sh TARBALL
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
tarball=${1:-}
if [[ $tarball ]]; then tarball=$(realpath "$tarball"); fi
cd "$repo"

tool=$(command -v apptainer || command -v singularity) ||
  die "apptainer is not installed (Debian 12 has no package of it) - install it as apptainer.org says, or run this on a machine of the cluster that has it"

if [[ -z $tarball ]]; then
  scripts/package.sh
  tarball=$(find build/package -maxdepth 1 -name "lockstep-*-cpu.tar.zst" -printf "%T@ %p\n" | sort -n | tail -n 1 | cut -d" " -f2)
fi
[[ -s $tarball ]] || die "$tarball is no tarball - make it with scripts/package.sh"

work=build/apptainer
rm -rf "$work"
mkdir -p "$work/root"
tar -xf "$tarball" -C "$work/root" --strip-components=1
image=$(basename "$tarball" .tar.zst).sif
# %files of the definition count from the working folder.
(cd "$work" && "$tool" build "$image" "$repo/packaging/lockstep.def") ||
  die "$(basename "$tool") build failed (see above; without root it may need --fakeroot, set up by the administrator)"
say "Made $work/$image ($(du -h "$work/$image" | cut -f1))"
