#!/usr/bin/env bash
# Installs what is missing of the system packages that the race detector, the images and the TLS example need; the local Kubernetes
# looks after its own. With the argument node also Node.js and npm. Debian and root; elsewhere it names them.
set -euo pipefail

missing=()
command -v gcc >/dev/null || missing+=(gcc)
command -v openssl >/dev/null || missing+=(openssl)
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
if [ "${1:-}" = node ]; then # the integration tests' Azure emulator
  command -v node >/dev/null || missing+=(nodejs)
  command -v npm >/dev/null || missing+=(npm)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]} (names of Debian's packages): install them and run this again" >&2
  exit 1
fi
echo "installing ${missing[*]}"
patience=(-o Acquire::http::Timeout=30 -o Acquire::Retries=3) # a stalled download ends, and is tried again
apt-get "${patience[@]}" update -qq
DEBIAN_FRONTEND=noninteractive apt-get "${patience[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
