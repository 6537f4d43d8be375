#!/usr/bin/env bash
# Installs a build into a prefix of its own, moves it elsewhere, runs the programs from there, and
# builds and runs a program from outside (tests/install) against it.
#   scripts/check_install.sh [NAME]    installs build/NAME (default: release)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
allow_mpi_as_root
name=${1:-release}
[[ -e build/$name/CMakeCache.txt ]] || die "build/$name is no build - run cmake --preset release first"
build "$name"

work=build/install
prefix=$repo/$work/prefix
rm -rf "$work"
mkdir -p "$work"
cmake --install "build/$name" --prefix "$repo/$work/first" >"$work/install.log"
mv "$work/first" "$prefix"
if grep -rE "$repo/(src|include|build)" "$prefix/lib/cmake"; then
  die "the CMake package names files of this clone (see above)"
fi

bare=(env -i "PATH=/usr/bin:/bin" "HOME=$work")
programs=("$prefix"/bin/*)
for program in "${programs[@]}"; do
  "${bare[@]}" "$program" --help >"$work/help.txt" || die "$program --help failed"
  grep -qi usage "$work/help.txt" || die "$program --help does not say how it is used"
done
"${bare[@]}" "$prefix/bin/lockstep" --version
"${bare[@]}" "$prefix/bin/lockstep" train --config "$prefix/share/lockstep/configs/quickstart.cfg" \
  --data.train any --print-config >"$work/config.txt"
grep -q 'share/lockstep/configs/' "$work/config.txt" || die "the installed configs were not read"

# All other headers are the first that some source file includes, and so compile by themselves.
first=$(git ls-files '*.cpp' | xargs grep -hm1 '^#include' | sort -u)
alone=
while read -r header; do
  grep -qF "\"$header\"" <<<"$first" || alone+="$header;"
done < <(cd "$prefix/include" && find lockstep -name '*.hpp' | sort)

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1
fi
cmake -G Ninja -S tests/install -B "$work/outside" -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_PREFIX_PATH=$prefix" "-DLOCKSTEP_HEADERS=${alone%;}" "${launcher[@]}" >"$work/outside.log" ||
  die "find_package(Lockstep) failed (see $work/outside.log)"
cmake --build "$work/outside" -j "$(build_jobs)" || die "the program from outside does not build"
"$work/outside/schedule/schedule" >/dev/null || die "the schedule from outside is wrong"
mkdir "$work/set"
OMP_NUM_THREADS=1 mpirun --oversubscribe -np 2 "$work/outside/outside" "$work/set" |
  tee "$work/training.log" | tail -n 1 || die "the program from outside did not learn (see $work/training.log)"
say "Installed ${#programs[@]} programs in $(du -sh "$prefix" | cut -f1); a program from outside builds and trains"
