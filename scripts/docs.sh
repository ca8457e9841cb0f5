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
graphs="$(swift build --show-bin-path)/../symbolgraph"
rm -rf .docs
mkdir -p "$work/all" "$work/library"
for package in . Watchify; do
  # The dump covers the test modules, too, and fails if they are not built.
  quietly swift build --disable-build-manifest-caching --package-path $package --scratch-path .build --build-tests
  quietly swift package --package-path $package --scratch-path .build \
    dump-symbol-graph --minimum-access-level public --skip-synthesized-members
  cp "$graphs"/*.symbols.json "$work/all" # the next dump removes them
done
for target in "${targets[@]}"; do
  mkdir "$work/library/$target"
  cp "$work/all/$target.symbols.json" "$work/library/$target/"
  for extension in "$work/all/$target"@*.symbols.json; do
    if [[ -f $extension ]]; then cp "$extension" "$work/library/$target/"; fi
  done
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
