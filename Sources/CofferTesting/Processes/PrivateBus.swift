#if os(Linux)
  package import Foundation

  /// A D-Bus message bus for a single test, in a temporary directory, so that tests do not reach the user's desktop
  /// session. It ends when this object is deallocated or this process ends, even if it is killed.
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

    /// The temporary directory, unless the owner of the bus has one.
    private let folder: TemporaryDirectory?
    /// The standard input of the bus, which ends the bus when it is closed.
    private let life: FileHandle
    /// The standard output of the bus, which is open until the bus ends.
    private let output: FileHandle

    /// The directory of its socket, as a value for `XDG_RUNTIME_DIR`.
    public let runtimeDirectory: String
    /// The address of the bus, as a value for `DBUS_SESSION_BUS_ADDRESS`.
    public let address: String

    /// The environment variables of a session on this bus.
    public var environment: @Sendable (String) -> String? {
      { [address] in $0 == "DBUS_SESSION_BUS_ADDRESS" ? address : nil }
    }

    /// Starts the bus.
    /// - Parameters:
    ///   - server: the path of a program that the bus starts on demand as a notification server.
    ///   - subfolder: a subdirectory of the temporary directory for the socket.
    ///   - allowsAllUsers: whether processes of other users may connect, as to the bus of the system.
    /// - Throws: ``TestFailure`` if the bus does not start; `CocoaError` if its directory cannot be written.
    public convenience init(server: String? = nil, in subfolder: String? = nil, allowsAllUsers: Bool = false) throws {
      let folder = try TemporaryDirectory()
      let directory = subfolder.map(folder.path) ?? folder.url.path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let service = server.map { (name: "org.freedesktop.Notifications", command: $0) }
      try self.init(at: directory, in: folder, starting: service, allowsAllUsers: allowsAllUsers)
    }

    /// Starts a bus with its socket in a directory, where no other bus is running.
    /// - Parameters:
    ///   - folder: the directory to keep until the bus has ended.
    ///   - service: a name on the bus, and the command that the bus starts on demand to own it.
    ///   - prepare: changes the process of the bus, such as its environment, before it starts.
    package init(
      at runtimeDirectory: String, in folder: TemporaryDirectory? = nil,
      starting service: (name: String, command: String)?, allowsAllUsers: Bool = false,
      _ prepare: (Process) -> Void = { _ in }
    ) throws {
      guard let program = Self.program else { throw TestFailure("dbus-daemon is not installed") }
      (self.folder, self.runtimeDirectory) = (folder, runtimeDirectory)
      let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.")
      guard let path = (runtimeDirectory + "/bus").addingPercentEncoding(withAllowedCharacters: plain) else {
        throw TestFailure("the directory \(runtimeDirectory) has a name that an address cannot contain")
      }
      address = "unix:path=" + path
      if let service {
        try "[D-BUS Service]\nName=\(service.name)\nExec=\(service.command)\n".write(
          toFile: runtimeDirectory + "/private.service", atomically: true, encoding: .utf8)
      }
      let configuration = runtimeDirectory + "/bus.conf"
      let text = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          \(service == nil ? "" : "<servicedir>\(runtimeDirectory)</servicedir>")
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
            \(allowsAllUsers ? "<allow user=\"*\"/>" : "")
          </policy>
          <limit name="max_replies_per_connection">50000</limit> <!-- as in a session -->
        </busconfig>
        """
      try text.write(toFile: configuration, atomically: true, encoding: .utf8)
      let process = Process()
      let input = Process.pipe()
      let output = Process.pipe()
      // A shell ends the bus when its input closes, which also happens when this process is killed.
      let script = "\"$@\" </dev/null & bus=$!; cat >/dev/null; kill -9 $bus; wait $bus"
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = [
        "-c", script, "sh", program, "--nofork", "--print-address=1", "--config-file", configuration,
      ]
      process.standardInput = input
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      prepare(process)
      try process.runUnblocked()
      try? input.fileHandleForReading.close()
      try? output.fileHandleForWriting.close()
      life = input.fileHandleForWriting
      self.output = output.fileHandleForReading
      // The bus prints its address once it accepts connections.
      guard try !more().isEmpty else { throw TestFailure("the bus does not start") }
    }

    deinit { try? life.close() }

    /// Ends the bus and waits until it has ended, for at most 20 s.
    public func end() throws {
      try life.close()
      while try !more().isEmpty {}
    }

    /// Returns the next output of the bus, which is empty at its end.
    private func more() throws -> Data {
      var ready = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 20_000) > 0 else { throw TestFailure("the bus printed nothing for 20 s") }
      return output.availableData
    }
  }
#endif
