import CofferBus
import CofferTestSupport
import Foundation

/// A service on a private bus that python-dbusmock plays.
final class MockService: Sendable {
  /// Debian's own Python has the module.
  private static let python = "/usr/bin/python3"
  /// Whether the bus and python-dbusmock are installed.
  static let isInstalled =
    PrivateBus.isInstalled && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbusmock")

  let bus: PrivateBus
  let connection: BusConnection
  private let name: String
  private let directory: TemporaryDirectory
  private let program: RunningProgram

  /// Starts a service and waits until it owns its name.
  /// - Parameter arguments: the arguments of dbusmock.
  init(_ name: String, on bus: PrivateBus, _ arguments: [String]) async throws {
    self.bus = bus
    self.name = name
    directory = try TemporaryDirectory()
    connection = try BusConnection(address: bus.address, timeout: .seconds(20))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.python)
    process.arguments = ["-m", "dbusmock", "--system"] + arguments
    var variables = ProcessInfo.processInfo.environment
    variables["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
    variables["DBUS_SESSION_BUS_ADDRESS"] = bus.address
    process.environment = variables
    program = try RunningProgram(process, in: directory.url, deadline: 120)
    try await eventually("the service runs") { try connection.owner(of: name) != nil }
  }

  deinit { program.signal(SIGKILL) }

  /// Kills the service and waits until it has lost its name.
  func kill() async throws {
    program.signal(SIGKILL)
    try await eventually("the name is free") { try connection.owner(of: name) == nil }
  }

  /// Calls a method of dbusmock's own interface.
  @discardableResult
  func control(
    _ method: String, at path: String, _ arguments: [BusValue] = [], reply: String = "()"
  ) throws -> BusValue {
    try connection.call(
      BusMethod("org.freedesktop.DBus.Mock", method, reply: reply), of: name, at: path, arguments)
  }

  /// The number of calls of a method so far.
  func calls(of method: String, at path: String) throws -> Int {
    try control("GetMethodCalls", at: path, [.string(method)], reply: "(a(tav))")[0]?.children.count ?? 0
  }
}
