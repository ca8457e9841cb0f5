#!/usr/bin/env bash
# Installs a Debian package on a bare machine, uses it, upgrades and removes it. Called by ./run package --check, in a
# copy of a minimal Debian, and usable in any container: it changes the system that it runs in.
#
#   package-check.sh PACKAGE
set -euo pipefail
readonly package=$1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
unset XDG_DATA_HOME

say() { printf '    %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
quietly() {
  local log
  log=$("$@" 2>&1) || fail "$* failed: $log"
}

say "installing, without recommended packages"
quietly apt-get update -q
quietly apt-get install -y -q --no-install-recommends "$package"
for program in coffer watchify; do
  libraries=$(ldd "/usr/bin/$program")
  if grep -E 'not found|swift' <<<"$libraries"; then fail "$program needs libraries that are not in any package."; fi
  "$program" version
  bash -n "/usr/share/bash-completion/completions/$program"
done

say "using coffer"
coffer set greeting hello >/dev/null
[[ $(coffer get greeting) == hello ]] || fail "coffer does not return what was stored."
say "using watchify"
watchify demo --fast >/tmp/demo.log 2>&1 || fail "the demonstration failed: $(tail -n 5 /tmp/demo.log)"
watchify list >/dev/null
for unit in service socket; do
  [[ -s /usr/lib/systemd/user/watchify.$unit ]] || fail "there is no watchify.$unit."
done
grep -qx 'ExecStart=/usr/bin/watchify serve .*' /usr/lib/systemd/user/watchify.service ||
  fail "the unit does not serve the page."
diff <(watchify service socket) /usr/lib/systemd/user/watchify.socket || fail "the socket unit is another one."
status=0
watchify service status || status=$?
((status == 1 || status == 3)) || fail "the status of the service is $status."

# Prints the status line of a page of 'watchify serve' at a port.
page_status() {
  local line=unreachable
  if exec 5<>"/dev/tcp/127.0.0.1/$1"; then
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$1" >&5
    read -r line <&5 || true
    exec 5<&-
  fi 2>/dev/null
  printf '%s\n' "${line%$'\r'}"
}

say "serving the page"
watchify serve --port 0 --json >/tmp/serve.log 2>&1 &
server=$! port=''
for _ in {1..300}; do
  port=$(sed -nE 's|.*"url":.*127\.0\.0\.1:([0-9]+).*|\1|p' /tmp/serve.log)
  [[ -z $port ]] || break
  sleep 0.1
done
[[ -n $port ]] || fail "the page has no address: $(tail -n 5 /tmp/serve.log)"
answer=$(page_status "$port")
[[ $answer == 'HTTP/1.1 200 OK' ]] || fail "the page answers '$answer'."
kill -TERM "$server"
status=0
wait "$server" || status=$?
((status == 0)) || fail "the page ended with status $status: $(tail -n 5 /tmp/serve.log)"

# Makes a package of a higher version with the same contents.
higher_package() {
  dpkg-deb --raw-extract "$package" /tmp/higher
  sed -i 's/^Version: .*/&+1/' /tmp/higher/DEBIAN/control
  dpkg-deb --build /tmp/higher /tmp/higher.deb >/dev/null
  rm -rf /tmp/higher
}

say "upgrading and reinstalling"
installed_version() { dpkg-query --show --showformat='${Version}' coffer; }
before=$(sha256sum "$HOME/.local/share/watchify/watchify.db" "$HOME/.local/share/coffer/coffer.db")
old=$(installed_version)
higher_package
quietly apt-get install -y -q --no-install-recommends /tmp/higher.deb
[[ $(installed_version) == "$old+1" ]] || fail "the version after the upgrade is $(installed_version)."
[[ $(coffer get greeting) == hello ]] || fail "coffer does not return after the upgrade what was stored."
quietly apt-get install -y -q --reinstall --no-install-recommends /tmp/higher.deb
say "removing and purging"
quietly apt-get remove -y -q coffer
[[ ! -e /usr/bin/watchify ]] || fail "watchify is still there."
quietly dpkg --purge coffer # apt-get does not know a package that is neither installed nor in a repository
left=$(find /usr /etc /var/lib -path '*watchify*' -o -path '/usr/share/doc/coffer*' | grep -v /var/lib/dpkg/ || true)
[[ -z $left ]] || fail "the package left files: $left"
[[ $before == "$(sha256sum "$HOME/.local/share/watchify/watchify.db" "$HOME/.local/share/coffer/coffer.db")" ]] ||
  fail "the data of the user has changed."
say "removed; the data of the user is unchanged"
