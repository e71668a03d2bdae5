#!/bin/sh
# Compiles and runs a program with what pkg-config says: pkg_config.sh PKG_CONFIG PREFIX COMPILER SOURCE
set -eu
PKG_CONFIG_PATH=$2/share/pkgconfig
export PKG_CONFIG_PATH
program=$(mktemp)
trap 'rm -f "$program"' EXIT
# shellcheck disable=SC2046  # flags are words
"$3" $("$1" --cflags espalier) "$4" -o "$program"
"$program"
