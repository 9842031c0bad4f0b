#!/bin/sh
# Installs shardlint below a prefix: the program, its trainer, the manual and completions.
#
# usage: ./install.sh [--prefix DIR] [--binary FILE] [--uninstall]
#   --prefix DIR    where to (default: ~/.local)
#   --binary FILE   a program that is built already; without it one is built from this checkout
#   --uninstall     takes away what an installation put below the prefix
# Nothing is downloaded. `./dev setup` installs what a build needs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${HOME:-/usr/local}/.local
binary=
uninstall=

while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --binary)
      [ $# -ge 2 ] || { echo "install.sh: $1 wants a value" >&2; exit 2; }
      if [ "$1" = --prefix ]; then prefix=$2; else binary=$2; fi
      shift 2
      ;;
    --prefix=*) prefix=${1#*=}; shift ;;
    --binary=*) binary=${1#*=}; shift ;;
    --uninstall) uninstall=yes; shift ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "install.sh: there is no option $1" >&2; exit 2 ;;
  esac
done

files="bin/shardlint libexec/shardlint/shardlint-verify-cpu libexec/shardlint/shardlint-verify-gpu
share/man/man1/shardlint.1
share/bash-completion/completions/shardlint
share/zsh/site-functions/_shardlint
share/fish/vendor_completions.d/shardlint.fish"

if [ -n "$uninstall" ]; then
  for file in $files; do
    rm -f "$prefix/$file"
  done
  echo "removed from $prefix"
  exit 0
fi

if [ -z "$binary" ]; then
  build=$here/build-install
  command -v meson >/dev/null || { echo "install.sh: meson is missing; ./dev setup" >&2; exit 2; }
  [ -f "$build/build.ninja" ] || meson setup "$build" "$here" -Dtests=disabled -Dgpu=disabled >&2
  ninja -C "$build" >&2
  binary=$build/shardlint
fi
[ -x "$binary" ] || { echo "install.sh: $binary is no program" >&2; exit 2; }
"$binary" version >/dev/null || { echo "install.sh: $binary does not run here" >&2; exit 2; }

# put FILE MODE: standard input becomes PREFIX/FILE, whole or not at all.
put() {
  mkdir -p "$prefix/$(dirname "$1")"
  cat > "$prefix/$1.new"
  chmod "$2" "$prefix/$1.new"
  mv -f "$prefix/$1.new" "$prefix/$1"
}

put bin/shardlint 755 < "$binary"
for trainer in shardlint-verify-cpu shardlint-verify-gpu; do   # `shardlint verify` starts them
  for folder in "$(dirname "$binary")" "$(dirname "$binary")/src/ranks"; do
    if [ -x "$folder/$trainer" ]; then
      put "libexec/shardlint/$trainer" 755 < "$folder/$trainer"
    fi
  done
done
for shell in bash zsh fish; do
  case $shell in
    bash) file=share/bash-completion/completions/shardlint ;;
    zsh) file=share/zsh/site-functions/_shardlint ;;
    fish) file=share/fish/vendor_completions.d/shardlint.fish ;;
  esac
  "$binary" generate-shell-completion "$shell" | put "$file" 644
done
if command -v python3 >/dev/null; then
  python3 "$here/tools/man.py" "$binary" | put share/man/man1/shardlint.1 644
else
  echo "install.sh: no python3, hence no manual" >&2
fi
echo "installed to $prefix"
case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) echo "add $prefix/bin to PATH" ;;
esac
