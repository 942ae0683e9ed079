#!/usr/bin/env bash
# Builds the site of the manual into dist/site. The packages of npm are pinned by package-lock.json, and installed when it changed.
set -euo pipefail
cd "$(dirname "$0")"

if ! cmp -s package-lock.json node_modules/.installed; then
  for attempt in 1 2 3; do # a stalled download ends, and is tried again
    if timeout 300 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-timeout=30000 --fetch-retries=5; then
      cp package-lock.json node_modules/.installed
      break
    fi
    echo "npm ci failed in attempt $attempt of 3" >&2
  done
  [ -e node_modules/.installed ]
fi
node_modules/.bin/vitepress build
echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory dist/site"
