import CofferTesting
import Foundation

/// A network namespace in which this test bundle is run as a child process. Requires no privileges if the kernel allows
/// unprivileged namespaces.
enum NetworkNamespace {
  /// Whether this process runs inside the namespace.
  static let isInside = ProcessInfo.processInfo.environment[variable] != nil
  private static let variable = "WATCHIFY_NETWORK_NAMESPACE"

  /// The reason why namespaces are not available; `nil` if they are.
  static let unavailabilityReason: String? = {
    do {
      let (status, text) = try run(["/bin/sh", "-c", "\(mount) && ip link add cable0 type veth peer name cable1"], [])
      return status == 0 ? nil : "no network namespace here: \(text)"
    } catch {
      return "no network namespace here: \(error)"
    }
  }()

  /// `/sys` shows the network of the process that mounted it, and Foundation starts no process without a loopback.
  private static let mount = "mount -t sysfs none /sys && ip link set lo up"

  /// Runs a suite of this bundle in a new namespace; returns its output and status.
  static func test(_ suite: String) throws -> (status: Int32, text: String) {
    let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let script = "\(mount) && exec \"$0\" --testing-library swift-testing --filter \"$1\""
    return try run(["/bin/sh", "-c", script, bundle, suite], [(variable, "1")])
  }

  /// Runs a command of `ip`, in the namespace of this process.
  static func ip(_ arguments: String) throws {
    let words = arguments.split(separator: " ").map(String.init)
    let (status, text) = try spawn(["ip"] + words, [])
    guard status == 0 else { throw TestFailure("ip \(arguments): \(text)") }
  }

  private static func run(_ command: [String], _ variables: [(String, String)]) throws -> (Int32, String) {
    try spawn(["unshare", "--map-root-user", "--net", "--mount"] + command, variables)
  }

  private static func spawn(_ command: [String], _ variables: [(String, String)]) throws -> (Int32, String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["timeout", "--signal=KILL", "40"] + command
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    for (name, value) in variables { environment[name] = value }
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.runUnblocked()
    try? output.fileHandleForWriting.close()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
