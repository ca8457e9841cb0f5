import CofferTesting
import Foundation
import ReplayShop
import Testing
import WatchifyTestSupport

@Suite("The end of serve, and its sockets", .serialized)
struct ServeEndTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// What a program that starts Watchify may have done to its own signals, which Watchify inherits: an option of
  /// env(1).
  /// Shells ignore SIGINT for programs in the background, and the threads of Dispatch block most signals.
  enum Inherited: String, CaseIterable {
    case nothing = "--default-signal=TERM,INT"
    case ignored = "--ignore-signal=TERM,INT"
    case blocked = "--block-signal=TERM,INT"
  }

  private func start(_ command: String, _ inherited: Inherited = .nothing) throws -> RunningProgram {
    try sandbox.startBash("exec env \(inherited.rawValue) watchify \(command)")
  }

  @Test("serve and watch end on SIGTERM and SIGINT, whatever they inherit", arguments: Inherited.allCases)
  func signals(inherited: Inherited) async throws {
    for number in [SIGTERM, SIGINT] {
      for (command, sign) in [("serve --port 0", "The page: http://127.0.0.1:"), ("watch", "You follow no store yet")] {
        let program = try start(command, inherited)
        try await eventually("'\(command)' begins") { try program.output().contains(sign) }
        program.signal(number)
        let ended = try await program.ended()
        #expect(ended.status == 0, "\(command), signal \(number): \(ended.text) \(ended.errors)")
        #expect(ended.lines.last == "Ended. Stored data is kept.")
      }
    }
  }

  @Test(
    "The page of a demo ends on a signal that directly follows its address",
    arguments: [(Inherited.nothing, SIGINT), (.ignored, SIGTERM), (.blocked, SIGTERM)])
  func demo(inherited: Inherited, number: Int32) async throws {
    let program = try start("demo --fast --serve --port 0", inherited)
    try await eventually("the address") { try program.output().contains("The page: http://127.0.0.1:") }
    program.signal(number)
    let ended = try await program.ended()
    #expect(ended.status == 0, "\(ended.text) \(ended.errors)")
  }

  @Test("Beside a watch it only serves, and ends on a signal that directly follows its address")
  func beside() async throws {
    let watch = try start("watch")
    try await eventually("the watch") { try watch.output().contains("You follow no store yet") }
    let page = try start("serve --port 0")
    try await eventually("the page") { try page.output().contains("The page: ") }
    page.signal(SIGTERM)
    let ended = try await page.ended()
    #expect(ended.status == 0 && ended.text.hasPrefix("Another process watches the stores"), "\(ended.text)")
    watch.signal(SIGTERM)
    #expect(try await watch.ended().status == 0)
  }

  @Test("When the watch beside it ends or is killed, it watches, at the same address", arguments: [SIGTERM, SIGKILL])
  func successor(number: Int32) async throws {
    let watch = try start("watch")
    try await eventually("the watch") { try watch.output().contains("You follow no store yet") }
    let page = try start("serve --port 0")
    try await eventually("the page") { try page.output().contains("The page: ") }
    watch.signal(number)
    _ = try await watch.ended()
    try await eventually("it watches") { try page.output().contains("You follow no store yet") }
    #expect(try await sandbox.watchify("list", "--json").json()["isWatched"] as? Bool == true)
    let address = try #require(try page.output().firstMatch(of: /127\.0\.0\.1:([0-9]+)/)?.1)
    #expect(try await ask(try #require(UInt16(address)), "/").status == 200)
    page.signal(SIGTERM)
    let ended = try await page.ended()
    #expect(ended.status == 0 && ended.lines.last == "Ended. Stored data is kept.", "\(ended.text)")
    #expect(ended.text.components(separatedBy: "The page: ").count == 2, "the address is told once")
  }

  @Test("An occupied port, another address without a token, and half of an identity are refused")
  func refusals() async throws {
    let other = try #require(sandbox.shop.port)
    for (options, status, words) in [
      ("--port \(other)", Int32(1), "cannot listen at 127.0.0.1, port \(other)"),
      ("--listen 0.0.0.0", 2, "Other devices can reach 0.0.0.0, so an access token is required."),
      ("--port 65536", 2, "--port takes a number"), ("--key k", 2, "TLS needs both"),
    ] {
      let ended = try await start("serve \(options)").ended()
      #expect(ended.status == status && ended.errors.contains(words), "\(options): \(ended.errors)")
    }
  }
}

#if os(Linux)
  private let activator = "/usr/bin/systemd-socket-activate"

  /// Tests with the program of systemd that passes sockets as its manager does.
  @Suite(
    "serve, at a passed socket", .serialized,
    .enabled(if: FileManager.default.isExecutableFile(atPath: activator), "needs systemd-socket-activate"))
  struct SocketActivationTests {
    let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    /// Listens at addresses, and starts `watchify serve` at the first connection, in the same process.
    private func activate(_ addresses: [String], variables: [String] = []) async throws -> RunningProgram {
      let all = ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "LC_ALL"] + variables
      let words = addresses.map { "--listen=\($0)" } + all.map { "--setenv=\($0)" }
      let program = Sandbox.binaries.appendingPathComponent("watchify").path
      let running = try sandbox.startBash(
        "exec \(activator) \(words.joined(separator: " ")) --fdname=page '\(program)' serve --json")
      try await eventually("it listens") {
        try running.errors().components(separatedBy: "Listening on").count > addresses.count
      }
      return running
    }

    /// A port that was free a moment ago.
    private func freePort() throws -> UInt16 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutableBytes(of: &address) { bytes in
        let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
        return bind(descriptor, pointer, size) == 0 ? getsockname(descriptor, pointer, &size) : -1
      }
      try #require(result == 0)
      return UInt16(bigEndian: address.sin_port)
    }

    @Test("The first connection starts it; it reports that it is ready, and the page has the socket's address")
    func activation() async throws {
      let port = try freePort()
      let manager = try #require(NotifySocket(sandbox.path("notify")))
      let running = try await activate(["127.0.0.1:\(port)"], variables: ["NOTIFY_SOCKET=\(manager.path)"])
      #expect(manager.message(within: 100) == nil)
      let answer = try await ask(port, "/", patience: .seconds(120))
      let errors = try running.errors()
      #expect(answer.status == 200 && answer.text.contains("<title>"), "\(errors)")
      let messages = try await manager.messages(until: "READY=1")
      #expect(messages.contains { $0.contains("STATUS=") }, "\(messages)")
      let line = try running.output().split(separator: "\n").first { $0.contains("\"serving\"") } ?? ""
      #expect(line.contains("127.0.0.1:\(port)"), "\(line)")
      let foreign = try await exchange(
        port, "GET / HTTP/1.1\r\nHost: 127.0.0.1:8737\r\nConnection: close\r\n\r\n", patience: .seconds(120))
      #expect(foreign.status.map { $0 >= 400 } == true)
      running.signal(SIGTERM)
      let ended = try await running.ended()
      #expect(ended.status == 0, "\(ended.errors)")
      _ = try await manager.messages(until: "STOPPING=1")
    }

    @Test("A socket that other devices reach, and more than one socket, are refused", arguments: [true, false])
    func refusals(isOpen: Bool) async throws {
      let port = try freePort()
      let other = try freePort()
      let addresses = isOpen ? ["0.0.0.0:\(port)"] : ["127.0.0.1:\(port)", "127.0.0.1:\(other)"]
      let running = try await activate(addresses)
      let answer = try await ask(port, "/", patience: .seconds(120))
      #expect(answer.status == nil)
      let ended = try await running.ended()
      let words =
        isOpen ? "Other devices can reach 0.0.0.0, so an access token is required." : "The socket unit passes 2 sockets"
      #expect(ended.status == 2 && ended.errors.contains(words), "\(ended.errors)")
    }
  }
#endif
