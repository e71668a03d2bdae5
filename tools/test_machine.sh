#!/bin/sh
# Tries a clone of this repository on a bare system: tools/test_machine.sh SUITE [STEP ...]
# SUITE is a release of Debian or its kin that debootstrap knows. The steps are pip (the package with a compiler and Python
# alone, and a Python function as model), demo and test (`make demo`, `make test`). Each runs even if an earlier one failed.
# Packages, wheels and compiled files are kept in build/machine, so a second run is cheap. MIRROR names another mirror.
set -eu

suite=${1:?which suite? for example trixie}
shift
steps=${*:-pip demo test}
root=$(cd "$(dirname "$0")/.." && pwd)
kept=$root/build/machine
system=$kept/$suite

[ "$(id -u)" = 0 ] || { echo "this needs root: a bare system is set up in a folder and entered by chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap: tools/setup.sh debootstrap" >&2; exit 1; }

# All mounts below end with this process.
[ -n "${ESPALIER_MOUNTS:-}" ] || exec env ESPALIER_MOUNTS=own unshare --mount --propagation private "$0" "$suite" $steps

minutes() { awk -v from="$began" -v to="$(date +%s)" 'BEGIN { printf "%.1f minutes", (to - from) / 60 }'; }
say() { echo "$suite: $*" | tee -a "$kept/$suite.log"; }

# The base, once. A mirror's copy of a rolling suite may be older than its date of expiry.
mkdir -p "$kept/packages-$suite" "$kept/ccache-$suite" "$kept/wheels"
: >"$kept/$suite.log"
began=$(date +%s)
if [ ! -e "$system.base/ready" ]; then
  rm -rf "$system.base"
  script=""
  [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=sid
  debootstrap --variant=minbase --cache-dir="$kept/packages-$suite" "$suite" "$system.base" "${MIRROR:-}" $script >"$kept/$suite-base.log"
  touch "$system.base/ready"
fi
rm -rf --one-file-system "$system"
cp -a "$system.base" "$system"

# What this machine needs to reach its mirrors and its package index, the bare one needs too.
echo 'Acquire::Check-Valid-Until "false";' >"$system/etc/apt/apt.conf.d/99machine"
for path in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/xdg/pip /etc/ssl/certs /usr/local/share/ca-certificates; do
  [ ! -e "$path" ] || { mkdir -p "$system${path%/*}" && cp -rL "$path" "$system${path%/*}/" 2>/dev/null; } || true
done
bind() { mkdir -p "$system$2" && mount --bind "$1" "$system$2"; }
bind "$kept/packages-$suite" /var/cache/apt/archives
bind "$kept/ccache-$suite" /var/cache/ccache
bind "$kept/wheels" /var/cache/wheels
for folder in $(python3 -m pip config list 2>/dev/null | tr " '=" '\n\n\n' | sed -n 's,^\(file://\)\?\(/.*\),\2,p' | sort -u); do
  case $folder in /etc/*) ;; *) [ ! -d "$folder" ] || bind "$folder" "$folder" ;; esac
done
mount -t proc proc "$system/proc"
mount --rbind /dev "$system/dev"

inside() {
  # shellcheck disable=SC2046  # variables are words
  chroot "$system" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/var/cache/ccache PIP_CACHE_DIR=/var/cache/wheels \
    $(env | grep -E '^(PIP_|SSL_CERT|REQUESTS_CA|CURL_CA|[a-zA-Z]+_(proxy|PROXY)=)' | grep -v '[[:space:]]') sh -c "$1"
}

git clone -q "$root" "$system/espalier"
inside 'apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git make' >"$kept/$suite-base.log"
say "base system and clone, $(minutes)"

status=0
step() {
  began=$(date +%s)
  if inside "cd /espalier && $2" >"$kept/$suite-$1.log" 2>&1; then
    say "$1: passed, $(minutes)"
  else
    say "$1: FAILED, $(minutes), see build/machine/$suite-$1.log"
    tail -n 20 "$kept/$suite-$1.log"
    status=1
  fi
}
for name in $steps; do
  case $name in
    pip) step pip 'apt-get install -y -q --no-install-recommends g++ python3-venv python3-dev &&
      python3 -m venv /alone && /alone/bin/pip install . && cd / && /alone/bin/espalier --version &&
      /alone/bin/python /espalier/tests/bare_machine.py' ;;
    demo | test) step "$name" "make $name" ;;
    *) echo "there is no step $name" >&2; exit 2 ;;
  esac
done
exit "$status"
