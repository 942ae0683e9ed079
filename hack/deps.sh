#!/usr/bin/env bash
# Installs the missing system packages for the race detector, the prose linter (Vale is partly C++), the images and the TLS
# example. The local Kubernetes installs its own. This needs Debian and root; on other systems the script prints the names of
# the missing packages.
set -euo pipefail

missing=()
command -v gcc >/dev/null || missing+=(gcc)
command -v g++ >/dev/null || missing+=(g++)
command -v openssl >/dev/null || missing+=(openssl)
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing packages (Debian names): ${missing[*]}. Install them and run this command again." >&2
  exit 1
fi
echo "installing ${missing[*]}"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
