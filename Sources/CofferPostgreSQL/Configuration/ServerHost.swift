import CofferCPostgreSQL
import CofferCore

/// One host of a location.
struct ServerHost: Hashable, Sendable {
  /// A name, a numeric address, or the directory of a Unix socket.
  let name: String
  let port: Int
  /// A numeric address that makes the lookup of the name unnecessary.
  var address: String?

  init(_ name: String, port: Int = defaultPort, address: String? = nil) {
    (self.name, self.port, self.address) = (name, port, address)
  }

  static let defaultPort = 5432
  /// Where Debian's servers have their sockets.
  static let defaultDirectory = "/var/run/postgresql"

  /// Whether the host is the directory of a Unix socket, or a name in the abstract namespace.
  var isSocket: Bool { name.hasPrefix("/") || name.hasPrefix("@") }

  /// Whether nothing leaves this machine on the way to a numeric address of the host.
  func isLocal(at address: String?) -> Bool { isSocket || coffer_pq_is_loopback(address ?? name) != 0 }

  /// The host in a location.
  var text: String {
    let host = isSocket ? LocationText.encoded(name) : name.contains(":") ? "[\(name)]" : name
    return port == Self.defaultPort ? host : "\(host):\(port)"
  }

  /// The host in messages.
  var description: String { isSocket ? "\(name) (port \(port))" : text }

  /// Returns the hosts of a list as libpq writes it, with commas.
  /// - Throws: `StorageError` with code `invalidLocation`.
  static func list(_ options: LocationOptions) throws -> [ServerHost] {
    func items(_ keyword: String) -> [String] {
      (options[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (addresses, ports) = (items("hostaddr"), items("port"))
    var names = items("host")
    if names == [""] { names = addresses.contains { !$0.isEmpty } ? addresses : [defaultDirectory] }
    guard ports.count == 1 || ports.count == names.count, addresses == [""] || addresses.count == names.count else {
      throw StorageError.invalidLocation(
        "The location has another number of ports or addresses than of hosts.",
        "Write postgresql://HOST:PORT,HOST:PORT/DATABASE?store=NAME.")
    }
    return try names.indices.map { index in
      let port = ports.count > 1 ? ports[index] : ports[0]
      guard let number = port.isEmpty ? defaultPort : Int(port), 1...65_535 ~= number else {
        throw StorageError.invalidLocation("The location has an invalid port.", "Use a number from 1 to 65535.")
      }
      let address = addresses.count > index ? addresses[index] : ""
      if !address.isEmpty, coffer_pq_is_address(address) == 0 {
        throw StorageError.invalidLocation(
          "The location has a 'hostaddr' that is no numeric address.", "Write names as hosts.")
      }
      let name = names[index].isEmpty ? (address.isEmpty ? defaultDirectory : address) : names[index]
      return ServerHost(name, port: number, address: address.isEmpty ? nil : address)
    }
  }
}
