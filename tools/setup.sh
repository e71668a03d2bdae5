#!/bin/sh
# Brings the system packages that building and testing Espalier needs: tools/setup.sh [further Debian package ...]
# On Debian and its kin it installs what is missing, as root or through a passwordless sudo. Elsewhere it says what is missing.
# Exits 1 if a tool is missing; without an optional library only the parts that need it are left out of the build.
set -eu

tools="g++ cmake ninja-build ccache doctest-dev python3 python3-venv python3-dev"
libraries="libcurl4-openssl-dev libsimdjson-dev libsqlite3-dev libeigen3-dev libfmt-dev zlib1g-dev libfaiss-dev libopenblas-dev"

patient="-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300"  # with a mirror that stumbles, and with another apt-get

works() { "$@" >/dev/null 2>&1; }

# What the build cannot do without, tried for real: a name on the path may be a shim without a program behind it.
missing_tools() {
  works c++ --version || works g++ --version || echo "a C++20 compiler"
  works cmake --version || echo "cmake 3.25 or newer"
  works ninja --version || echo "ninja"
  works python3 -c 'import ensurepip, os, sys, sysconfig, venv
assert sys.version_info >= (3, 10) and os.path.exists(sysconfig.get_path("include") + "/Python.h")' ||
    echo "python3 3.10 or newer with venv and headers"
}

missing_packages() {
  for package in "$@"; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
      *" installed") ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

if works dpkg-query --version; then
  # shellcheck disable=SC2086  # lists of words
  packages=$(missing_packages $tools $libraries "$@")
  if [ -n "$packages" ]; then
    install="install -y --no-install-recommends $packages"
    if [ "$(id -u)" = 0 ]; then
      as_root="env DEBIAN_FRONTEND=noninteractive"
    elif works sudo -n true; then
      as_root="sudo -n env DEBIAN_FRONTEND=noninteractive"
    else
      as_root=""
    fi
    if [ -n "$as_root" ]; then
      echo "installing: $packages"
      # shellcheck disable=SC2086  # a command is words
      $as_root apt-get $patient update -q && $as_root apt-get $patient $install || echo "this failed: apt-get $install" >&2
    else
      echo "not installed: $packages" >&2
      echo "to install them, run:  sudo apt-get update && sudo apt-get $install" >&2
    fi
  fi
fi

missing=$(missing_tools)
if [ -n "$missing" ]; then
  echo "needed and not found:" >&2
  echo "$missing" | sed 's/^/  /' >&2
  exit 1
fi
for package in "$@"; do
  [ -z "$(missing_packages "$package")" ] || exit 1
done
