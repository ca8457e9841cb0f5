#!/bin/bash
# Starts the service manager of a user without privileges, and runs commands as that user. For tests: it runs as root in
# namespaces of its own (unshare --mount --cgroup --net --pid --fork --mount-proc), and needs no systemd as the first
# process.
#
#   user-manager.sh FOLDER COMMANDS    FOLDER contains the program; its files are copied to ~/bin
set -eu
readonly folder=$1 commands=$2 user=64001
mount --make-rprivate /
PATH=$PATH:/usr/sbin:/sbin ip link set lo up
mount -t tmpfs none /srv
export HOME=/srv/user XDG_RUNTIME_DIR=/run/user/$user PATH=/srv/user/bin:/usr/bin:/bin
unset DBUS_SESSION_BUS_ADDRESS XDG_CONFIG_HOME XDG_DATA_HOME
mkdir -p "$HOME/bin"
cp "$folder/watchify" "$HOME/bin/"
chown -R $user:$user "$HOME"
mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/systemd/unit-root /run/systemd/propagate
mkdir -p -m 700 "$XDG_RUNTIME_DIR"
chown $user:$user "$XDG_RUNTIME_DIR"
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
# A group cannot be removed from within, so each run removes those of earlier ones; one in use stays.
find /sys/fs/cgroup -depth -path '*/watchify-test.*' -type d -exec rmdir {} + 2>/dev/null || true
group=$(mktemp -d /sys/fs/cgroup/watchify-test.XXXXXX)
chmod 755 "$group"
mkdir "$group/user"
echo $$ >"$group/user/cgroup.procs"
chown -R $user:$user "$group/user"
as_user() { setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
as_user /lib/systemd/systemd --user --log-target=console >"$folder/manager.log" 2>&1 &
for _ in $(seq 300); do
  as_user systemctl --user is-system-running >/dev/null 2>&1 && break
  sleep 0.1
done
status=0
as_user bash -c "$commands" || status=$?
exit $status # which also ends the manager: this is the first process of its namespace
