#!/usr/bin/env bash
# Installs the Debian packages named as arguments that are not there yet, as root or with sudo.
set -euo pipefail

if ! command -v dpkg-query >/dev/null; then
  echo "install.sh: not a Debian system; these packages, under the names they have here, are needed:" >&2
  echo "  $*" >&2
  exit 0
fi
missing=()
for package in "$@"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install.sh: these packages are missing, and installing them needs root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
