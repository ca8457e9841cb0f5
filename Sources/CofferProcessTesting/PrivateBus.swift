#if os(Linux)
  import Foundation

  /// A D-Bus message bus of a test's own, in a folder of its own: tests do not reach the user's desktop session. It
  /// is ended with this object, and with this process, however that ends.
  ///
  /// ```swift
  /// @Suite(.enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed"))
  /// struct NotificationTests {
  ///   let bus: PrivateBus
  ///   init() throws { bus = try PrivateBus() }
  /// }
  /// ```
  public final class PrivateBus: Sendable {
    /// Whether the system has `dbus-daemon`.
    public static let isInstalled = program != nil
    private static let program: String? = {
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      return path.split(separator: ":").map { "\($0)/dbus-daemon" }.first(
        where: FileManager.default.isExecutableFile(atPath:))
    }()

    private let folder: TemporaryDirectory
    /// The bus ends when this is closed.
    private let life: FileHandle
    /// Open as long as the bus lives.
    private let output: FileHandle

    /// The directory of its socket, as a value for `XDG_RUNTIME_DIR`.
    public let runtimeDirectory: String
    /// The bus, as in `DBUS_SESSION_BUS_ADDRESS`.
    public let address: String

    /// The variables of a session on this bus.
    public var environment: @Sendable (String) -> String? {
      { [address] in $0 == "DBUS_SESSION_BUS_ADDRESS" ? address : nil }
    }

    /// Starts the bus.
    /// - Parameters:
    ///   - server: the program that the bus starts as a notification server when one is asked for.
    ///   - subfolder: a folder within the bus's own where its socket is.
    /// - Throws: ``TestFailure`` when it does not start; `CocoaError` when its folder cannot be written.
    public init(server: String? = nil, in subfolder: String? = nil) throws {
      guard let program = Self.program else { throw TestFailure("dbus-daemon is not installed") }
      folder = try TemporaryDirectory()
      runtimeDirectory = subfolder.map(folder.path) ?? folder.url.path
      try FileManager.default.createDirectory(atPath: runtimeDirectory, withIntermediateDirectories: true)
      let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.")
      guard let path = (runtimeDirectory + "/bus").addingPercentEncoding(withAllowedCharacters: plain) else {
        throw TestFailure("the folder \(runtimeDirectory) has a name that no address can have")
      }
      address = "unix:path=" + path
      if let server {
        try "[D-BUS Service]\nName=org.freedesktop.Notifications\nExec=\(server)\n".write(
          toFile: folder.path("notifications.service"), atomically: true, encoding: .utf8)
      }
      let configuration = folder.path("bus.conf")
      let text = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          \(server == nil ? "" : "<servicedir>\(folder.url.path)</servicedir>")
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>
        """
      try text.write(toFile: configuration, atomically: true, encoding: .utf8)
      let process = Process()
      let input = Pipe()
      let output = Pipe()
      // A shell that ends the bus when our end of its input closes, as it also does when this process is killed.
      let script = "\"$@\" </dev/null & bus=$!; cat >/dev/null; kill -9 $bus; wait $bus"
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = [
        "-c", script, "sh", program, "--nofork", "--print-address=1", "--config-file", configuration,
      ]
      process.standardInput = input
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      // Threads of Dispatch hold signals back, children inherit that, and a bus has to hear of the end of its children.
      var none = sigset_t()
      var before = sigset_t()
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      try process.run()
      try? input.fileHandleForReading.close()
      try? output.fileHandleForWriting.close()
      life = input.fileHandleForWriting
      self.output = output.fileHandleForReading
      // It prints its address when it listens.
      guard try !more().isEmpty else { throw TestFailure("the bus does not start") }
    }

    deinit { try? life.close() }

    /// Ends the bus and waits for its end, 20 s at most.
    public func end() throws {
      try life.close()
      while try !more().isEmpty {}
    }

    /// What the bus prints next; nothing at its end.
    private func more() throws -> Data {
      var ready = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 20_000) > 0 else { throw TestFailure("the bus has said nothing for 20 s") }
      return output.availableData
    }
  }
#endif
