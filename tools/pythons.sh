#!/bin/sh
# Prints every Python from 3.10 on that this machine can build an extension for, one command per line.
set -eu
minor=10
while [ "$minor" -le 20 ]; do
  python="python3.$minor"
  if "$python" -c 'import os, pip, sys, sysconfig
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")
assert not sysconfig.get_config_var("Py_GIL_DISABLED")' >/dev/null 2>&1; then
    echo "$python"
  fi
  minor=$((minor + 1))
done
