import CofferSQLite
public import Foundation

/// The channels that were added by name, and the state of all channels.
extension StoreService {
  /// Returns the added channels, ordered by name.
  /// - Throws: `StorageError`.
  public func channels() async throws -> [ChannelDTO] {
    try await database.read { try ChannelRows.all(in: $0) }
  }

  /// Returns the state of a channel.
  /// - Throws: `StorageError`.
  public func channelState(_ name: String) async throws -> ChannelState {
    let now = now()
    return try await database.read { try ChannelRows.state(of: name, at: now, in: $0) }
  }

  /// Adds a channel, which delivers news from now on. Store its secret first, see ``ChannelSecrets``.
  /// - Returns: `false` if a channel with the name exists; nothing is changed then.
  /// - Throws: `StorageError`.
  public func addChannel(_ channel: ChannelDTO) async throws -> Bool {
    try await database.write { try ChannelRows.insert(channel, in: $0) }
  }

  /// Removes a channel with its undelivered news.
  /// - Returns: The identifier, under which its secret is still stored; `nil` if there is no such channel.
  /// - Throws: `StorageError`.
  public func removeChannel(_ name: String) async throws -> UUID? {
    try await database.write { try ChannelRows.delete(name, in: $0) }
  }

  /// Records that a test message was delivered, which ends the pause after failures: the next sync delivers all that
  /// waits because of them.
  /// - Throws: `StorageError`.
  public func recordSuccess(of channel: String) async throws {
    let now = now()
    try await database.write { transaction in
      try ChannelRows.succeed(channel, at: now, in: transaction)
      try ChannelRows.postponeMissed(channel, until: .distantPast, in: transaction)
      try OutboxRows.release(channel, in: transaction)
    }
  }

  /// Returns the addresses of the product pages of changes, by the identifiers of the changes. Changes without a
  /// product have none.
  /// - Throws: `StorageError`.
  public func productLinks(of changes: [ChangeEventDTO]) async throws -> [UUID: String] {
    struct Subject: Hashable {
      var store: UUID
      var product: Int64
    }
    return try await database.read { transaction in
      var known: [Subject: String] = [:]
      var links: [UUID: String] = [:]
      for change in changes {
        guard let store = change.storeId, let product = change.productShopifyId else { continue }
        let subject = Subject(store: store, product: product)
        let link: String?
        if let old = known[subject] {
          link = old
        } else {
          link = try transaction.query(
            """
            SELECT s.domain, p.handle FROM stores AS s JOIN products AS p ON p.store = s.no
            WHERE s.id = ?1 AND p.id = ?2
            """, [.text(store.uuidString), .integer(product)]
          ) { Self.productLink(domain: $0.text(0), handle: $0.text(1)) }.first
          known[subject] = link
        }
        links[change.id] = link
      }
      return links
    }
  }

  /// Returns the address of a product page.
  static func productLink(domain: String, handle: String) -> String {
    let scheme = (try? ShopAddress(domain))?.isLoopback ?? false ? "http" : "https"
    return "\(scheme)://\(domain)/products/\(handle.asPathComponent)"
  }
}
