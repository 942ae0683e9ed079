#!/usr/bin/env bash
# Builds the release of the current commit twice, in two directories of different names, and compares the SHA-256 sums of all
# files. The second build uses an empty build cache.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "$(git status --porcelain)" ]; then
  echo "the work tree has changes, which a clone would not have: commit them first" >&2
  exit 1
fi
copy=$(mktemp -d)
trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
git clone -q . "$copy/another-folder"
make release
GOCACHE="$copy/cache" make -C "$copy/another-folder" release
diff dist/release/SHA256SUMS "$copy/another-folder/dist/release/SHA256SUMS"
echo "both builds have the same $(wc -l <dist/release/SHA256SUMS) files"
