import CofferTesting
import Foundation

@testable import WatchifyKit

/// A temporary tree of `/proc` and `/sys` with given interfaces and routes.
final class FakeSystem: Sendable {
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
    try setRoutes([])
    try setRoutes6([])
  }

  var reader: NetworkReader { NetworkReader(root: folder.url) }

  /// The state read from the tree.
  var state: NetworkState { reader.read() }

  func write(_ path: String, _ text: String) throws {
    let file = folder.url.appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file, options: .atomic)
  }

  func remove(_ path: String) throws { try FileManager.default.removeItem(at: folder.url.appendingPathComponent(path)) }

  /// - Parameter lines: interface, destination, flags, metric and mask of each route.
  func setRoutes(_ lines: [String]) throws {
    let title = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    let rows = lines.map { line in
      let parts = line.split(separator: " ")
      return "\(parts[0])\t\(parts[1])\t0200090A\t\(parts[2])\t0\t0\t\(parts[3])\t\(parts[4])\t0\t0\t0"
    }
    let text = ([title] + rows).map { $0.padding(toLength: 127, withPad: " ", startingAt: 0) + "\n" }.joined()
    try write("proc/net/route", text)
  }

  /// - Parameter lines: interface, destination, prefix, flags and metric of each route.
  func setRoutes6(_ lines: [String]) throws {
    let zeros = String(repeating: "0", count: 32)
    let rows = lines.map { line in
      let parts = line.split(separator: " ")
      return "\(parts[1]) \(parts[2]) \(zeros) 00 \(zeros) \(parts[4]) 00000001 00000000 \(parts[3])  \(parts[0])\n"
    }
    try write("proc/net/ipv6_route", rows.joined())
  }

  /// Adds an interface with a state and, optionally, a device type.
  func setInterface(_ name: String, _ state: String, type: String? = nil, carrier: String? = nil) throws {
    try write("sys/class/net/\(name)/operstate", state + "\n")
    try write(
      "sys/class/net/\(name)/uevent", (type.map { "DEVTYPE=\($0)\n" } ?? "") + "INTERFACE=\(name)\nIFINDEX=4\n")
    if let carrier { try write("sys/class/net/\(name)/carrier", carrier + "\n") }
  }

  /// Adds an interface that is up, with a default route over it.
  func connect(_ name: String, type: String? = nil) throws {
    try setInterface(name, "up", type: type)
    try setRoutes(["\(name) 00000000 0003 0 00000000"])
  }

  /// Removes all routes.
  func disconnect() throws {
    try setRoutes([])
    try setRoutes6([])
  }
}
