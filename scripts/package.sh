#!/usr/bin/env bash
# Makes a tarball and a Debian package of two programs that were built already. Called by ./run package.
#
#   package.sh BINARIES OUTPUT    BINARIES contains coffer and watchify
#
# The result depends only on the programs and on SOURCE_DATE_EPOCH, the date of the last commit by default.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly here binaries=$1 output=$2
readonly programs=(coffer watchify)

fail() {
  printf 'error: %s\n' "$@" >&2
  exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly root=$work/root
umask 022
export LC_ALL=C TZ=UTC
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct 2>/dev/null || stat -c %Y "$here/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH

is_elf() { [[ $(head -c 4 "$1" | tail -c 3) == ELF ]]; }

# Puts a file from standard input into the package.
put() {
  mkdir -p "$(dirname "$root/$1")"
  cat >"$root/$1"
}

# ---- files

mkdir -p "$root/usr/bin"
version='' size=0
for program in "${programs[@]}"; do
  [[ -x $binaries/$program ]] || fail "there is no '$program' in $binaries."
  install -m 755 "$binaries/$program" "$root/usr/bin/$program"
  if is_elf "$root/usr/bin/$program"; then
    strip --strip-all "$root/usr/bin/$program"
    # SwiftPM lets a program look for libraries beside itself, where a package has none.
    chrpath --delete "$root/usr/bin/$program" >/dev/null
  fi
  number=$("$binaries/$program" version | awk '{ print $2 }')
  [[ -z $version || $number == "$version" ]] || fail "$program has version $number, not $version."
  version=$number
  "$binaries/$program" completions | put "usr/share/bash-completion/completions/$program"
done
"$binaries/watchify" service unit | put usr/lib/systemd/user/watchify.service
"$binaries/watchify" service socket | put usr/lib/systemd/user/watchify.socket

date=$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')
year=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)
# As for other tools of Debian, the builder names a contact in DEBFULLNAME and DEBEMAIL.
readonly maintainer="${DEBFULLNAME:-Coffer developers} <${DEBEMAIL:-coffer@invalid.invalid}>"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: coffer\n\n'
  printf 'Files: *\nCopyright: %s the Coffer authors\nLicense: Apache-2.0\n' "$year"
  printf ' On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n\n'
  # The programs contain Swift's runtime and Foundation, and Unicode's data.
  printf 'Files: usr/bin/*\nCopyright: %s the Coffer authors\n 2014-%s the Swift project authors\n' "$year" "$year"
  printf 'License: Apache-2.0 with Swift exception\n'
  printf ' On Debian systems the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n'
  printf ' As an exception, if you use this Software to compile your source code and\n'
  printf ' portions of this Software are embedded into the binary product as a result,\n'
  printf ' you may redistribute such product without providing attribution as would\n'
  printf ' otherwise be required by Sections 4(a), 4(b) and 4(d) of the License.\n'
} | put usr/share/doc/coffer/copyright
{
  printf 'coffer (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n' "$version"
  printf ' -- %s  %s\n' "$maintainer" "$date"
} | gzip -9n | put usr/share/doc/coffer/changelog.gz

# ---- dependencies

# Prints the packages of the linked libraries with their versions. A library that no package contains, such as one of
# the compiler, would be missing on another machine.
linked_packages() {
  local program path
  local -a elves=()
  for program in "${programs[@]}"; do
    path=$root/usr/bin/$program
    is_elf "$path" || continue
    elves+=("$path")
    if readelf -d "$path" | grep -E 'R(UN)?PATH' >&2; then
      fail "$program looks for libraries in a folder of its own."
    fi
  done
  ((${#elves[@]})) || return 0
  mkdir -p "$work/shlibs/debian"
  printf 'Source: coffer\n\nPackage: coffer\nArchitecture: any\n' >"$work/shlibs/debian/control"
  (cd "$work/shlibs" && dpkg-shlibdeps -O "${elves[@]/#/-e}") | sed -n 's/^shlibs:Depends=//p'
}

linked=$(linked_packages)
# Loaded at run time, so that no program lists them: libcurl for Watchify, GIO for notifications and keyrings, libpq.
depends=$linked
[[ $depends == *libcurl* ]] || depends="${linked:+$linked, }libcurl4 | libcurl4t64 | libcurl3-gnutls"
architecture=$(dpkg --print-architecture)
size=$(du -sk --apparent-size "$root" | awk '{ print $1 }')
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: coffer
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: $depends
Recommends: ca-certificates, libglib2.0-0 | libglib2.0-0t64, tzdata
Suggests: gnome-keyring, libpq5 (>= 14), bash-completion
Section: utils
Priority: optional
Description: key-value stores and a monitor of shops for the command line
 coffer reads and writes durable, atomic and observable key-value stores:
 databases, directories of files, preferences and keyrings, also encrypted.
 .
 watchify follows Shopify shops and reports what changed: a lower price, a
 size that is back in stock, a new product.
CONTROL
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
find "$root/usr" "$root/DEBIAN" -type f ! -path '*/bin/*' -exec chmod 644 {} +

# ---- results

mkdir -p "$output"
deb=$output/coffer_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >/dev/null
name=coffer-$version-linux-$(uname -m)
mkdir -p "$work/$name"
cp -a "$root/usr/bin" "$root/usr/share" "$root/usr/lib" "$here/LICENSE" "$here/README.md" "$work/$name/"
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -9n >"$output/$name.tar.gz"
for program in "${programs[@]}"; do
  printf '%-40s %8s kB\n' "$program, stripped" "$(($(stat -c %s "$root/usr/bin/$program") / 1000))"
done
for file in "$deb" "$output/$name.tar.gz"; do
  printf '%-40s %8s kB\n' "${file##*/}" "$(($(stat -c %s "$file") / 1000))"
done
