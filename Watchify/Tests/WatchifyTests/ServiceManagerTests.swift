#if os(Linux)
  import CofferTesting
  import Foundation
  import Testing

  /// The namespaces for a service manager of its own.
  private enum ManagerSpace {
    static let namespaces = ["--mount", "--cgroup", "--net", "--pid", "--fork", "--mount-proc"]

    static var isPossible: Bool {
      guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/lib/systemd/systemd") else { return false }
      let trial = Process()
      trial.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
      // The network is a private one, in which the port of the page is free.
      trial.arguments = namespaces + ["sh", "-c", "mount -t cgroup2 none /mnt && ip link set lo up"]
      trial.standardError = FileHandle.nullDevice
      guard (try? trial.runUnblocked()) != nil else { return false }
      trial.waitUntilExit()
      return trial.terminationStatus == 0
    }
  }

  /// Tests with a real service manager, in namespaces that only root can create.
  @Suite(
    "service, with a manager", .serialized,
    .enabled(if: ManagerSpace.isPossible, "needs root, namespaces, systemd and iproute2"))
  struct ServiceManagerTests {
    let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    /// Runs commands as a user with a manager.
    private func run(_ commands: String) async throws -> EndedProgram {
      let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let script = here.appendingPathComponent("Support/user-manager.sh").path
      let copy = sandbox.url.appendingPathComponent("programs")
      try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: Sandbox.binaries.appendingPathComponent("watchify"), to: copy.appendingPathComponent("watchify"))
      let line = (["unshare"] + ManagerSpace.namespaces).joined(separator: " ")
      let quoted = commands.replacing("'", with: #"'\''"#)
      return try await sandbox.bash("\(line) bash '\(script)' '\(copy.path)' '\(quoted)' 2>&1")
    }

    @Test("install, status, an edit, the watchdog, remove")
    func life() async throws {
      let ended = try await run(
        #"""
        set -e
        say() { echo "== $*"; }
        property() { systemctl --user show watchify --property="$1" --value; }
        wait_for() { for _ in $(seq 300); do [ "$(property "$1")" = "$2" ] && return; sleep 0.1; done; say "no $1=$2"; }
        unit=~/.config/systemd/user/watchify.service
        watchify service status || say "status $?"
        watchify service install
        watchify service status
        say "enabled: $(systemctl --user is-enabled watchify)"
        say "mounts: $(awk '$2 == "/srv" { print substr($4, 1, 2) }' /proc/$(property MainPID)/mounts)"
        say "verify: $(systemd-analyze --user verify $unit 2>&1 | grep -v 'man watchify' || true)"
        watchify watch || say "second watch $?"
        sed -i 's/^WatchdogSec=.*/WatchdogSec=1/; s/^RestartSec=.*/RestartSec=0/' $unit
        sed -i 's/^TimeoutStopSec=.*/TimeoutStopSec=1/' $unit
        watchify service install || say "edited $?"
        watchify service remove || say "edited $?"
        systemctl --user daemon-reload
        systemctl --user restart watchify
        sleep 3
        say "restarts while it works: $(property NRestarts)"
        kill -STOP $(property MainPID)
        wait_for NRestarts 1
        wait_for ActiveState active
        say "restarts when it hangs: $(property NRestarts)"
        watchify service remove --force
        say "left: $(find ~/.config -type f -o -type l)"
        say "data: $(ls ~/.local/share/watchify | head -n 1)"
        watchify service status || say "status $?"
        """#)
      #expect(ended.status == 0, "\(ended.text)")
      for line in [
        "Watchify is not installed as a service.", "== status 3", "Watchify is running as a service: ",
        "== enabled: enabled", "== mounts: ro", "== verify: \n", "== second watch 1",
        "was edited since Watchify wrote it",
        "== restarts while it works: 0", "== restarts when it hangs: 1", "== left: \n", "== data: watchify.db",
      ] {
        #expect(ended.text.contains(line), "\(line) is missing in:\n\(ended.text)")
      }
      #expect(!ended.text.contains("== no "), "\(ended.text)")
    }

    @Test("the page behind the socket: it starts a stopped service, and outlives a failed one")
    func page() async throws {
      let ended = try await run(
        #"""
        set -e
        say() { echo "== $*"; }
        property() { systemctl --user show watchify --property="$1" --value; }
        wait_for() { for _ in $(seq 300); do [ "$(property "$1")" = "$2" ] && return; sleep 0.1; done; say "no $1=$2"; }
        page() {
          exec 5<>/dev/tcp/127.0.0.1/8737 || { echo unreachable; return; }
          printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${1:-127.0.0.1:8737}" >&5
          head -n 1 <&5 | tr -d '\r'
          exec 5<&-
        }
        watchify service install
        say "files: $(cd ~/.config/systemd/user && echo *.*)"
        say "socket: $(systemctl --user is-active watchify.socket), $(systemctl --user is-enabled watchify.socket)"
        socket=~/.config/systemd/user/watchify.socket
        say "verify: $(systemd-analyze --user verify "$socket" 2>&1 | grep -v 'man watchify')"
        say "listens: $(awk '$4 == "0A"' /proc/net/tcp | wc -l)"
        say "page: $(page)"
        say "foreign host: $(page shop.example:8737)"
        first=$(property MainPID)
        systemctl --user stop watchify 2>&1
        say "stopped: $(property ActiveState), result $(property Result), status $(property ExecMainStatus)"
        say "page after a stop: $(page)"
        say "state: $(property ActiveState)"
        [ "$(property MainPID)" != "$first" ] && say "another process"
        kill -KILL $(property MainPID)
        wait_for ActiveState activating
        say "page after a kill: $(page)"
        wait_for ActiveState active
        say "status: $(watchify service status)"
        watchify service remove
        say "page after the removal: $(page 2>/dev/null)"
        """#)
      #expect(ended.status == 0, "\(ended.text)")
      for line in [
        "== files: default.target.wants sockets.target.wants watchify.service watchify.socket\n",
        "== socket: active, enabled\n", "== verify: \n", "== listens: 1\n", "== page: HTTP/1.1 200 OK\n",
        "== stopped: inactive, result success, status 0\n", "== page after a stop: HTTP/1.1 200 OK\n",
        "== state: active\n", "== another process\n", "== page after a kill: HTTP/1.1 200 OK\n",
        "== status: Watchify is running as a service: ", "== page after the removal: unreachable\n",
      ] {
        #expect(ended.text.contains(line), "\(line) is missing in:\n\(ended.text)")
      }
      #expect(ended.text.contains(#/== foreign host: HTTP/1\.1 4\d\d/#), "\(ended.text)")
      #expect(!ended.text.contains("== no "), "\(ended.text)")
    }
  }
#endif
