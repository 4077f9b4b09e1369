# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts, from the repository's root. Installs Debian packages and configures builds; says what it does in plain lines.

# need PACKAGE... : installs those that are missing, as root or by a sudo that asks nothing; else prints the line to run and stops.
need() {
  local missing=() package
  if ! command -v apt-get >/dev/null; then
    echo "This is no Debian machine, so nothing is installed here; the packages needed are called there: $*"
    return
  fi
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "Some packages are missing and only root can install them. Run this line, then start again:"
      echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
      exit 1
    fi
    as_root=(sudo -n)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >/dev/null || echo "apt-get update failed; trying with the package lists that are here"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ccache is used where it is; a build without it differs in nothing but time. Clones in other folders find what this one compiled.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=true
  CCACHE_BASEDIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  export CCACHE_BASEDIR
fi

# run_tests PRESET OPTION... : runs CTest and says which ten tests took longest.
run_tests() {
  local log=build/$1/ctest.log
  ctest --preset "$@" | tee "$log"
  echo "The ten longest tests:"
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec *$/\2 s  \1/p' "$log" | sort -rn | head -n 10 || true
}

# quietly COMMAND... : its output is shown only if it fails.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    local status=$?
    cat "$log"
    rm -f "$log"
    return $status
  fi
}
