#!/usr/bin/env bash
# Installs the missing system packages for the race detector, the prose linter (Vale is partly C++), the images and the TLS
# example. The local Kubernetes installs its own. This needs Debian and root; on other systems the script prints the names of
# the missing packages. With the argument node it also installs Node.js and npm, for the Azure emulator of the
# integration tests and for the site of the manual, and with the argument chromium the browser that reads that site in a test.
set -euo pipefail

missing=()
command -v gcc >/dev/null || missing+=(gcc)
command -v g++ >/dev/null || missing+=(g++)
command -v openssl >/dev/null || missing+=(openssl)
command -v ip >/dev/null || missing+=(iproute2) # the integration test on IPv6
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
for wanted in "$@"; do
  case "$wanted" in
    node)
      command -v node >/dev/null || missing+=(nodejs)
      command -v npm >/dev/null || missing+=(npm)
      ;;
    chromium) command -v chromium >/dev/null || missing+=(chromium) ;;
  esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing packages (Debian names): ${missing[*]}. Install them and run this command again." >&2
  exit 1
fi
echo "installing ${missing[*]}"
patience=(-o Acquire::http::Timeout=30 -o Acquire::Retries=3) # a stalled download ends, and is tried again
apt-get "${patience[@]}" update -qq
DEBIAN_FRONTEND=noninteractive apt-get "${patience[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
