#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// A keyring inside this process that supports no encryption, with its own connection to a private bus. It has one
  /// open collection, and records the secrets of items without storing the items.
  final class PlainKeyring: Sendable {
    private let service: BusService
    private let seen: Locked<(algorithms: [String], items: [Data])>

    init(_ address: String) throws {
      let seen = Locked<(algorithms: [String], items: [Data])>(([], []))
      self.seen = seen
      service = try BusService("org.freedesktop.secrets", address: address, timeout: .seconds(10)) { call in
        if let reply = Self.reply(to: call, seen) {
          try? call.reply(reply)
        } else {
          try? call.fail("org.freedesktop.DBus.Error.NotSupported", "not supported")
        }
      }
    }

    /// Closes the connection to the bus.
    func stop() { service.close() }

    /// The encryption algorithms that clients requested.
    var algorithms: [String] { seen.withLock { $0.algorithms } }
    /// The secrets of created items, as they crossed the bus.
    var items: [Data] { seen.withLock { $0.items } }

    private static func reply(
      to call: BusCall, _ seen: Locked<(algorithms: [String], items: [Data])>
    ) -> [BusValue]? {
      let collection = "/org/freedesktop/secrets/collection/login"
      switch call.member {
      case "OpenSession":
        let algorithm = call.arguments.first?.text ?? ""
        seen.withLock { $0.algorithms.append(algorithm) }
        guard algorithm == "plain" else { return nil }
        return [.variant(.string("")), .objectPath("/org/freedesktop/secrets/session/s1")]
      case "ReadAlias": return [.objectPath(collection)]
      case "Get": return [.variant(.bool(false))]
      case "SearchItems" where call.interface == "org.freedesktop.Secret.Service":
        return [.objectPaths([]), .objectPaths([])]
      case "SearchItems": return [.objectPaths([])]
      case "CreateItem":
        if let secret = BusValue.structure(call.arguments)[1]?[2]?.bytes { seen.withLock { $0.items.append(secret) } }
        return [.objectPath(collection + "/1"), .objectPath("/")]
      default: return nil
      }
    }
  }
#endif
