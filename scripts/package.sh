#!/usr/bin/env bash
# Makes a tarball that runs on a machine without Python, LibTorch or HDF5: the programs (for the
# CPU), the shared libraries they need but those of the C library, the compiler and MPI, and the
# licences of all that is carried. MPI is the machine's own: Open MPI 4 or 5 (libmpi.so.40).
#   scripts/package.sh            build/package/lockstep-VERSION-linux-ARCH-cpu.tar.zst
# It takes packages apart by dpkg, so it runs on Debian or Ubuntu; the tarball runs on others too.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
command -v dpkg-query >/dev/null ||
  die "this is no Debian (the licences of libraries are found by dpkg) - run it on one"

build_dir=build/package
mkdir -p build
say "Configuring $build_dir"
cmake --preset release -B "$build_dir" -DLOCKSTEP_CUDA=OFF -DLOCKSTEP_TESTS=OFF \
  -DLOCKSTEP_RELOCATABLE=ON -DCMAKE_INSTALL_LIBDIR=lib >"$build_dir.log" ||
  die "configuring failed (see $build_dir.log)"
build package
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build_dir/CMakeCache.txt")
torch=$(sed -n 's/^-- LibTorch .*: //p' "$build_dir.log")
name=lockstep-$version-linux-$(uname -m)-cpu
stage=$build_dir/$name
rm -rf "$stage"
cmake --install "$build_dir" --prefix "$repo/$stage" --strip >>"$build_dir.log"
# The package for other programs needs all that it was built with: it is no part of the tarball.
rm -rf "${stage:?}/include" "${stage:?}/lib"
licenses=$stage/licenses
mkdir -p "$stage/lib" "$licenses"
cp LICENSE "$licenses/lockstep"

# Libraries of the machine: they must fit its kernel, its launcher and its network. zlib and zstd
# are among them because MPI needs them too, and a process has only one of each.
stays='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+|mpi|open-rte|open-pal|pmix|hwloc|event_.*|udev|z|zstd))\.so'

# Lines of the list: a file, where it is from, its licence. Each licence is copied once.
list=$licenses/LIST.txt
printf '%-36s %-44s %s\n' 'file' 'from' 'licence' >"$list"
note() { printf '%-36s %-44s %s\n' "$1" "$2" "licenses/$3" >>"$list"; }

# note_package NAME PACKAGE: the licence of a Debian package stands in its documentation.
note_package() {
  local copyright=/usr/share/doc/$2/copyright
  [[ -e $copyright ]] || die "the licence of the package $2 is not installed ($copyright)"
  cp -L "$copyright" "$licenses/$2"
  note "$1" "$(dpkg-query -W -f '${Package} ${Version}\n' "$2" | head -n 1)" "$2"
}

# note_wheel NAME WHEEL FILE...: LibTorch and what lies beside it come from wheels.
note_wheel() {
  local what=$1 wheel=$2 file
  shift 2
  for file in "$@"; do
    [[ -e $file ]] || die "the licence of $wheel was not found ($file)"
    cp "$file" "$licenses/$wheel-$(basename "$file")"
    note "$what" "$wheel" "$wheel-$(basename "$file")"
  done
}

for_wheel() {
  local library=$1 info
  case "$library" in
    libcudart*) info=$(echo "$torch"/../nvidia_cuda_runtime*.dist-info) ;;
    libcupti*) info=$(echo "$torch"/../nvidia_cuda_cupti*.dist-info) ;;
    libgomp*)
      note_package "$library" gcc-12-base
      return
      ;;
    libtorch_cpu* | libc10*) info=$(echo "$torch"/../torch-*.dist-info) ;;
    *) die "$library lies beside LibTorch, and its licence is not known - add it to package.sh" ;;
  esac
  local files=("$info"/licenses/*)
  note_wheel "$library" "$(basename "$info" .dist-info)" "${files[@]}"
}

while read -r library path; do
  if [[ $library =~ $stays ]]; then continue; fi
  cp -L "$path" "$stage/lib/$library"
  real=$(readlink -f "$path")
  if [[ $real == "$(readlink -f "$torch/..")"/* ]]; then
    for_wheel "$library"
  else
    # Some packages list their files below /lib, which is /usr/lib.
    package=$(dpkg -S "$real" "${real#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1 || true)
    [[ $package ]] || die "$path belongs to no package, so its licence is not known"
    note_package "$library" "$package"
  fi
done < <(for program in "$build_dir"/bin/*; do ldd "$program"; done | awk '$2 == "=>" {print $1, $3}' | sort -u)
# Headers alone: parts of them are inside the programs.
for package in nlohmann-json3-dev libstb-dev; do note_package '(in the programs)' "$package"; done
# What the licences refer to.
while read -r file; do cp -L "$file" "$licenses/"; done < <(
  cat "$licenses"/* | grep -oE '/usr/share/common-licenses/[A-Za-z]+-?[0-9.]*[0-9]' | sort -u |
    while read -r file; do if [[ -e $file ]]; then echo "$file"; fi; done
)

# Each library must be found in the tarball, or be one of the machine's.
lost=$(for program in "$stage"/bin/*; do env -i LC_ALL=C ldd "$program"; done |
  awk '$2 == "=>" {print $1, $3}' | sort -u | while read -r library path; do
  if [[ ! $library =~ $stays && $(realpath -m "$path") != "$repo/$stage/lib/"* ]]; then
    echo "$library $path"
  fi
done)
if [[ $lost ]]; then die "the tarball lacks libraries: $lost"; fi

# needs PREFIX: the highest version of symbols with this prefix that any of the files wants.
needs() {
  objdump -T "$stage"/bin/* "$stage"/lib/* | grep -ohE "\b$1_[0-9.]+" | sort -uV | tail -n 1
}
glibc=$(needs GLIBC)
libstdcxx=$(needs GLIBCXX)
sed "s/@VERSION@/$version/; s/@GLIBC@/$glibc/; s/@GLIBCXX@/$libstdcxx/" packaging/README.in >"$stage/README"

tar --owner=0 --group=0 --sort=name -I 'zstd -9 -T0' -cf "$build_dir/$name.tar.zst" -C "$build_dir" "$name"
say "Made $build_dir/$name.tar.zst ($(du -h "$build_dir/$name.tar.zst" | cut -f1), unpacked $(du -sh "$stage" | cut -f1), $(find "$stage/lib" -type f | wc -l) libraries; needs $glibc, $libstdcxx)"
