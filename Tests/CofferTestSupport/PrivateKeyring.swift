#if os(Linux)
  import CofferTesting
  package import Foundation

  /// A gnome-keyring for a single test, on a private bus and in a temporary directory, so that tests do not reach the
  /// user's secrets. All of it ends when this object is deallocated; the processes also end with this process, even if
  /// it is killed.
  ///
  /// ```swift
  /// let keyring = try PrivateKeyring()
  /// let helper = try HelperProcess(["save"], executable: "MyTestHelper", environment: keyring.environment)
  /// ```
  package final class PrivateKeyring {
    /// Whether the system has `dbus-daemon`, `dbus-send` and `gnome-keyring-daemon`.
    package static let isInstalled = missing.isEmpty
    /// The reason for disabling tests that need a keyring.
    package static let unavailabilityReason = "not installed: \(missing.joined(separator: ", "))"
    private static let missing = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon"].filter { program($0) == nil }
    /// The path of the login collection, which the password unlocks.
    package static let collection = "/org/freedesktop/secrets/collection/login"

    /// The temporary directory of the bus and the keyring.
    package let root: URL
    private var bus: PrivateBus?
    private var daemon: Process?
    private let isActivatable: Bool

    /// Starts the bus and a keyring on it.
    /// - Parameters:
    ///   - password: the password of the login collection, or `nil` to start no keyring.
    ///   - activatable: whether the bus starts a keyring on demand, with nothing unlocked.
    /// - Throws: ``TestFailure`` if the bus or the keyring does not start.
    package init(password: String? = "correct horse", activatable: Bool = false) throws {
      guard Self.isInstalled else { throw TestFailure(Self.unavailabilityReason) }
      var template = Array((NSTemporaryDirectory() + "/coffer-keyring-XXXXXX").utf8CString)
      guard mkdtemp(&template) != nil else { throw TestFailure("no temporary directory: errno \(errno)") }
      root = URL(fileURLWithPath: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
      isActivatable = activatable
      for folder in ["home", "data", "config", "cache", "run"] {
        try FileManager.default.createDirectory(
          at: root.appendingPathComponent(folder), withIntermediateDirectories: false,
          attributes: [.posixPermissions: 0o700])
      }
      try startBus()
      if let password { try startDaemon(password: password) }
    }

    deinit {
      stopDaemon()
      stopBus()
      try? FileManager.default.removeItem(at: root)
    }

    /// The address of the bus, as a value for `DBUS_SESSION_BUS_ADDRESS`.
    package var address: String { "unix:path=\(path("bus"))" }
    /// The data directory, which contains the keyring's files, such as `keyrings/login.keyring`.
    package var dataDirectory: URL { root.appendingPathComponent("data") }

    /// The environment variables with which a child process uses this bus and keyring.
    package var environment: [(String, String)] {
      [
        ("DBUS_SESSION_BUS_ADDRESS", address), ("HOME", path("home")), ("XDG_DATA_HOME", path("data")),
        ("XDG_CONFIG_HOME", path("config")), ("XDG_CACHE_HOME", path("cache")), ("XDG_RUNTIME_DIR", path("run")),
      ]
    }

    private func path(_ name: String) -> String { root.appendingPathComponent(name).path }

    // MARK: The bus

    /// Starts the bus again after ``stopBus()``.
    package func startBus() throws {
      unlink(path("bus"))
      let command = "\(keyringProgram) --foreground --components=secrets"
      bus = try PrivateBus(
        at: root.path, starting: isActivatable ? (name: "org.freedesktop.secrets", command: command) : nil
      ) { $0.environment = variables }
    }

    /// Kills the bus; a keyring on it ends, too.
    package func stopBus() {
      try? bus?.end()
      bus = nil
    }

    // MARK: The keyring

    /// Starts a keyring. If there is no login collection yet, it is created with the password, or not at all if the
    /// password is empty. An existing one stays locked if the password is wrong.
    /// - Parameters:
    ///   - password: the password of the login collection.
    ///   - display: the X display on which the keyring may show prompts.
    /// - Throws: ``TestFailure`` if the keyring does not answer.
    package func startDaemon(password: String, display: String? = nil) throws {
      stopDaemon()
      let input = Process.pipe()
      daemon = try start(
        keyringProgram, ["--foreground", "--unlock", "--components=secrets"], input: input, display: display)
      try input.fileHandleForWriting.write(contentsOf: Data(password.utf8))
      try input.fileHandleForWriting.close()
      try blockUntil("the keyring starts") {
        self.ask("/org/freedesktop/secrets", "org.freedesktop.Secret.Service.ReadAlias", ["string:default"]) != nil
      }
    }

    /// Kills the keyring.
    package func stopDaemon() {
      guard let daemon else { return }
      if daemon.isRunning { kill(daemon.processIdentifier, SIGKILL) }
      daemon.waitUntilExit()
      self.daemon = nil
    }

    /// Suspends the keyring with `SIGSTOP`: it stays on the bus and does not answer.
    package func pause() { if let daemon { kill(daemon.processIdentifier, SIGSTOP) } }
    /// Resumes a suspended keyring with `SIGCONT`.
    package func resume() { if let daemon { kill(daemon.processIdentifier, SIGCONT) } }

    /// Locks the login collection.
    package func lock() throws {
      let reply = ask(
        "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", ["array:objpath:\(Self.collection)"])
      guard let reply, reply.contains(Self.collection) else { throw TestFailure("the keyring was not locked") }
    }

    /// Unlocks the login collection through the keyring's socket, as a log-in does. gnome-keyring sends no signal then.
    package func unlock(_ password: String) throws {
      let text = Data(password.utf8)
      let body = Self.word(1) + Self.word(text.count) + text  // 1: unlock
      let answer = try exchange(Data([0]), Self.word(body.count + 4) + body)
      guard answer == Self.word(8) + Self.word(0) else { throw TestFailure("the keyring was not unlocked") }
    }

    /// Returns a 32-bit number in network byte order.
    private static func word(_ number: Int) -> Data {
      withUnsafeBytes(of: UInt32(number).bigEndian) { Data($0) }
    }

    /// Sends packets to the keyring's own socket and returns the reply.
    private func exchange(_ packets: Data...) throws -> Data {
      let descriptor = Foundation.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      guard connects(descriptor, to: path("run/keyring/control")) else { throw TestFailure("no keyring listens") }
      for packet in packets {
        let sent = packet.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard sent == packet.count else { throw TestFailure("the keyring does not listen") }
      }
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 10_000) > 0 else { throw TestFailure("the keyring did not reply for 10 s") }
      var answer = [UInt8](repeating: 0, count: 64)
      let count = read(descriptor, &answer, answer.count)
      return Data(answer.prefix(max(0, count)))
    }

    // MARK: Processes

    private var keyringProgram: String { Self.program("gnome-keyring-daemon") ?? "" }

    private static func program(_ name: String) -> String? {
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      return path.split(separator: ":").map { "\($0)/\(name)" }.first(
        where: FileManager.default.isExecutableFile(atPath:))
    }

    private var variables: [String: String] {
      var variables = ProcessInfo.processInfo.environment
      for name in ["DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL", "SSH_AUTH_SOCK"] { variables[name] = nil }
      for (name, value) in environment { variables[name] = value }
      return variables
    }

    private func start(_ program: String, _ arguments: [String], input: Pipe, display: String? = nil) throws -> Process
    {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.environment = display.map { variables.merging(["DISPLAY": $0]) { $1 } } ?? variables
      process.standardInput = input
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.runUnblocked()
      try? input.fileHandleForReading.close()
      return process
    }

    /// Calls a method with `dbus-send` and returns its output, or `nil` if the call failed.
    private func ask(_ path: String, _ method: String, _ arguments: [String]) -> String? {
      let process = Process()
      let output = Process.pipe()
      process.executableURL = URL(fileURLWithPath: Self.program("dbus-send") ?? "")
      process.arguments =
        [
          "--bus=\(address)", "--print-reply=literal", "--reply-timeout=5000", "--dest=org.freedesktop.secrets", path,
          method,
        ] + arguments
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      guard (try? process.runUnblocked()) != nil else { return nil }
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return process.terminationStatus == 0 ? text : nil
    }
  }

  private func connects(_ descriptor: CInt, to path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
#endif
