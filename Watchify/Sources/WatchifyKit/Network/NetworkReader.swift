#if !canImport(Network)
  import Foundation

  /// Reads from `/proc` and `/sys` whether there is a default route over an interface that is up.
  struct NetworkReader: Sendable {
    /// The directory that contains `proc` and `sys`; `/` except in tests.
    let root: URL

    func read() -> NetworkState {
      let usable = (ipv4Routes + ipv6Routes).filter { $0.interface != "lo" && isUp($0.interface) }
      // With equal metrics the IPv4 route is used; routes of both protocols usually share an interface.
      guard let best = usable.min(by: { $0.metric < $1.metric }) else {
        return NetworkState(isConnected: false, connectionType: .unknown)
      }
      return NetworkState(isConnected: true, connectionType: type(of: best.interface))
    }

    // MARK: Routes

    /// A default route that is in use.
    private struct Route {
      let interface: String
      /// The priority of the route; the lowest value is preferred.
      let metric: UInt32
    }

    private static let isUsed: UInt32 = 0x1  // RTF_UP
    private static let isRefusal: UInt32 = 0x200  // RTF_REJECT

    /// The default routes of `/proc/net/route`. Columns: interface, destination, gateway, flags, reference count, use,
    /// metric, mask and others.
    private var ipv4Routes: [Route] {
      fields(of: "proc/net/route").compactMap { fields in
        guard fields.count > 7, isZero(fields[1]), isZero(fields[7]), let flags = UInt32(fields[3], radix: 16),
          let metric = UInt32(fields[6])
        else { return nil }
        return route(fields[0], flags: flags, metric: metric)
      }
    }

    /// The default routes of `/proc/net/ipv6_route`. Columns: destination, its prefix length, source, its prefix
    /// length, next hop, metric, reference count, use, flags, interface.
    private var ipv6Routes: [Route] {
      fields(of: "proc/net/ipv6_route").compactMap { fields in
        guard fields.count > 9, isZero(fields[0]), isZero(fields[1]), let flags = UInt32(fields[8], radix: 16),
          let metric = UInt32(fields[5], radix: 16)
        else { return nil }
        return route(fields[9], flags: flags, metric: metric)
      }
    }

    private func route(_ interface: Substring, flags: UInt32, metric: UInt32) -> Route? {
      guard flags & Self.isUsed != 0, flags & Self.isRefusal == 0 else { return nil }
      return Route(interface: String(interface), metric: metric)
    }

    /// Whether a hexadecimal number of any length is zero.
    private func isZero(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy { $0 == UInt8(ascii: "0") } }

    private func fields(of path: String) -> [[Substring]] {
      (text(path) ?? "").split(separator: "\n").map { $0.split { $0 == "\t" || $0 == " " } }
    }

    // MARK: Interfaces

    /// Whether an interface is up. An interface that `/sys` does not list is taken to be up.
    private func isUp(_ interface: String) -> Bool {
      switch attribute("operstate", of: interface) {
      case nil, "up": true
      // Some drivers, such as those of tunnels, always report "unknown": up unless there is no carrier.
      case "unknown": attribute("carrier", of: interface) != "0"
      default: false
      }
    }

    private func type(of interface: String) -> NetworkMonitor.ConnectionType {
      guard exists("", of: interface) else { return .unknown }
      let kind = (attribute("uevent", of: interface) ?? "").split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }
      switch kind?.dropFirst("DEVTYPE=".count) {
      case "wwan": return .cellular
      case "wlan": return .wifi
      default: return exists("wireless", of: interface) || exists("phy80211", of: interface) ? .wifi : .wired
      }
    }

    private func attribute(_ name: String, of interface: String) -> String? {
      text("sys/class/net/\(interface)/\(name)")?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func exists(_ name: String, of interface: String) -> Bool {
      FileManager.default.fileExists(atPath: root.appendingPathComponent("sys/class/net/\(interface)/\(name)").path)
    }

    /// Returns the contents of a file. Files in `/proc` report no size, so the file is read to its end.
    private func text(_ path: String) -> String? {
      guard let file = FileHandle(forReadingAtPath: root.appendingPathComponent(path).path) else { return nil }
      defer { try? file.close() }
      guard let data = try? file.readToEnd() else { return nil }
      return String(decoding: data, as: UTF8.self)
    }
  }
#endif
