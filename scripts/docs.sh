#!/usr/bin/env bash
# Builds the documentation of every library target into .docs, as one static site. Called by ./run docs.
# Broken links and undocumented public names are errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Lower floors first: later ones link to earlier ones.
readonly targets=(
  CofferCore CofferFileSystem CofferTerminal CofferBus CofferEncryption CofferSQLite
  CofferPostgreSQL CofferFiles CofferSecrets Coffer CofferRouter CofferPersistence CofferCallbacks CofferVault
  CofferTesting
  WatchifyHTTP ReplayShop WatchifyKit
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the output of a command only if it fails.
quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
  fi
}

printf '==> Documentation\n' >&2
rm -rf .docs
for package in . Watchify; do
  quietly swift build --disable-build-manifest-caching --package-path $package --scratch-path .build
done
modules=(-I "$(swift build --show-bin-path)/Modules")
for folder in Sources/CofferC* Watchify/Sources/WatchifyC*; do modules+=(-I "$folder"); done
triple=$(swift -print-target-info | sed -nE 's/.*"triple": "([^"]+)".*/\1/p' | head -n 1)
for target in "${targets[@]}"; do
  mkdir -p "$work/library/$target"
  quietly swift symbolgraph-extract -module-name "$target" -target "$triple" "${modules[@]}" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$work/library/$target"
done
quietly swift scripts/undocumented.swift "$work"/library/*/*.symbols.json

archives=()
links=()
for target in "${targets[@]}"; do
  catalog=()
  for folder in {.,Watchify}/Sources/"$target/$target.docc"; do
    if [[ -d $folder ]]; then catalog=("$folder"); fi
  done
  archive="$work/$target.doccarchive"
  quietly docc convert "${catalog[@]}" --additional-symbol-graph-dir "$work/library/$target" \
    --fallback-display-name "$target" --fallback-bundle-identifier "coffer.$target" \
    --transform-for-static-hosting --hosting-base-path docs --warnings-as-errors \
    --enable-experimental-external-link-support "${links[@]}" --output-path "$archive"
  archives+=("$archive")
  links+=(--dependency "$archive")
done
quietly docc merge "${archives[@]}" --synthesized-landing-page-name Coffer \
  --synthesized-landing-page-kind Package --output-path .docs
printf 'Written to .docs; serve that folder as /docs\n' >&2
