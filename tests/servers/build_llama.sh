#!/usr/bin/env bash
# Builds llama.cpp's llama-server once, from the source in the package index's llama-cpp-python, and prints the folder
# that it is kept in, under ESPALIER_CACHE (default ~/.cache/espalier): bin/llama-server with its libraries, and
# python/llama_cpp, the Python server, which uses the same libraries. PYTHON chooses whose pip and cmake are used.
set -euo pipefail

release=0.3.36
home=${ESPALIER_CACHE:-~/.cache/espalier}/llama-cpp-python-$release
python=${PYTHON:-python3}

mkdir -p "$home"
exec 9>"$home/lock"
flock 9 # one build at a time
if [ ! -d "$home/ready" ]; then
  work=$(mktemp -d "$home/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  {
    "$python" -m pip download -q --no-deps --no-binary llama-cpp-python -d "$work" "llama-cpp-python==$release"
    tar -xzf "$work"/*.tar.gz -C "$work" --strip-components=1
    # -O1: the model is tiny, the server's own speed does not matter. No instructions of one machine only, no network.
    cmake -S "$work/vendor/llama.cpp" -B "$work/build" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1 \
      -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF \
      -DGGML_CPU_REPACK=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
      -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF
    cmake --build "$work/build" --target llama-server --parallel "${JOBS:-$(nproc)}"
    mkdir -p "$work/ready/python"
    mv "$work/build/bin" "$work/ready/bin"
    mv "$work/llama_cpp" "$work/ready/python/llama_cpp"
    mv "$work/ready" "$home/ready"
  } >"$home/build.log" 2>&1 || { tail -n 20 "$home/build.log" >&2; exit 1; }
  rm "$home/build.log"
fi
echo "$home/ready"
