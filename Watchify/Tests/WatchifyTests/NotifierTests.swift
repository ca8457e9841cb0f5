import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Messages to a service manager", .serialized)
struct NotifierTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func names() -> [String] { ["@watchify-\(UUID().uuidString)", sandbox.path("notify")] }

  @Test("States and status lines, at a path and in the abstract namespace")
  func messages() throws {
    for name in names() {
      let socket = try #require(NotifySocket(name))
      let notifier = try #require(ServiceNotifier(path: name))
      #expect(notifier.notify(.ready, status: "Watching 3 stores"))
      #expect(socket.message(within: 5_000) == "READY=1\nSTATUS=Watching 3 stores")
      #expect(notifier.notify(.stopping))
      #expect(socket.message(within: 5_000) == "STOPPING=1")
      #expect(notifier.notify(.reloading))
      #expect(try #require(socket.message(within: 5_000)).wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=\d+/) != nil)
      #expect(notifier.keepAlive())
      #expect(socket.message(within: 5_000) == "WATCHDOG=1")
      // A shop's text must not become a variable of its own.
      #expect(notifier.notify(status: "a\nMAINPID=1\u{7F}b"))
      #expect(socket.message(within: 5_000) == "STATUS=a MAINPID=1 b")
    }
  }

  @Test("Invalid and dead sockets are no failure", arguments: ["", "/", "@", "relative", "vsock:2:1"])
  func invalid(_ path: String) {
    #expect(ServiceNotifier(path: path) == nil)
    #expect(ServiceNotifier(path: "/" + String(repeating: "a", count: 107)) == nil)
    #expect(ServiceNotifier(path: "/nonexistent/socket")?.notify(.ready) == false)
  }

  @Test("Variables that are meant for another process are ignored")
  func variables() throws {
    func environment(_ values: KeyValuePairs<String, String>) -> ServiceEnvironment {
      ServiceEnvironment(process: 42, firstDescriptor: 900_000) { name in values.first { $0.key == name }?.value }
    }
    let whole = environment(["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "42"])
    #expect(whole.notifier?.watchdogTime == .seconds(2))
    #expect(
      environment(["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "2", "WATCHDOG_PID": "41"]).notifier?.watchdogTime == nil)
    #expect(environment(["NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "-1"]).notifier?.watchdogTime == nil)
    #expect(environment([:]).notifier == nil)
    // Descriptors that are not open, not meant for this process, or too many.
    for pid in ["42", "41", ""] {
      for count in ["1", "-1", "2147483647", "99999999999999999999", "x"] {
        #expect(environment(["LISTEN_PID": pid, "LISTEN_FDS": count, "LISTEN_FDNAMES": "a"]).sockets.isEmpty)
      }
    }
  }

  @Test("A passed socket has its name and is closed to started programs; a file is not accepted")
  func sockets() throws {
    var pair: [CInt] = [0, 0]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    // A file in front of the socket, at descriptors in a row.
    let first: CInt = 700
    let file = open("/dev/null", O_RDONLY)
    try #require(dup2(file, first) == first && dup2(pair[0], first + 1) == first + 1)
    defer { for descriptor in pair + [file, first, first + 1] { close(descriptor) } }
    let environment = ServiceEnvironment(process: 42, firstDescriptor: first) { name in
      switch name {
      case "LISTEN_PID": "42"
      case "LISTEN_FDS": "2"
      case "LISTEN_FDNAMES": "file:page"
      default: nil
      }
    }
    #expect(environment.sockets == [ServiceSocket(name: "page", descriptor: first + 1)])
    #expect(fcntl(first + 1, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("A loop that is stuck is not kept alive")
  func stuck() async throws {
    let socket = try #require(NotifySocket("@watchify-\(UUID().uuidString)"))
    let notifier = try #require(ServiceNotifier(path: socket.path, watchdogTime: .milliseconds(20)))
    let pulse = LoopPulse()
    var rounds = 0
    await notifier.keepAlive(by: pulse) { _ in
      rounds += 1
      #expect(socket.message(within: 0) == (rounds == 2 ? nil : "WATCHDOG=1"), "round \(rounds)")
      if rounds == 3 { throw CancellationError() }
      pulse.step(within: rounds == 1 ? .seconds(-1) : nil)
    }
    #expect(rounds == 3)
  }

  @Test("A watch reports when it is ready, what it does, that it lives, and its end")
  func watch() async throws {
    try await sandbox.follow()
    let socket = try #require(NotifySocket(sandbox.path("manager")))
    let watch = try sandbox.startWatchify(
      ["watch"], with: [("NOTIFY_SOCKET", socket.path), ("WATCHDOG_USEC", "100000")])
    let first = try await socket.messages(until: "READY=1")
    // The loop begins before the process is ready, so its status may come first.
    if !first.contains(where: { $0.contains("STATUS=Next sync") }) {
      _ = try await socket.messages(until: "STATUS=Next sync")
    }
    _ = try await socket.messages(until: "WATCHDOG=1")
    watch.signal(SIGTERM)
    _ = try await socket.messages(until: "STOPPING=1")
    #expect(try await watch.ended().status == 0)
  }
}
