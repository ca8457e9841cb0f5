import Coffer
import CofferSQLite
public import Foundation

extension StoreService {
  /// Follows a store at another address from now on, and keeps its history, its news and its settings.
  ///
  /// The listing at the new address is read first: unless it contains a product of the store, the address is that of
  /// another shop. The old address is not requested. What changed in the meantime is reported by the next sync.
  ///
  /// Additional headers are dropped unless new ones are given: they grant access at the address that they were given
  /// for.
  /// - Parameters:
  ///   - id: the store.
  ///   - domain: the new address, in any form that ``ShopAddress/init(_:)`` accepts. A private address is requested
  ///     only if it is given as such.
  ///   - headers: additional headers for requests to the new address.
  /// - Returns: The new address.
  /// - Throws: ``ShopAddress/Invalid``, ``SyncFailure``, ``WatchifyError``, `StorageError`. The store is unchanged
  ///   then.
  @discardableResult
  public func moveStore(id: UUID, to domain: String, headers: [StoreHeader] = []) async throws -> String {
    let address = try ShopAddress(domain)
    try await refuseRest(address.domain)
    let store = try await database.read { transaction in
      guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncFailure.storeNotFound }
      try Self.checkFree(address, for: store, in: transaction)
      return store
    }
    guard store.domain != address.domain else { return address.domain }
    let reading: ShopReading
    do {
      reading = try await api.read(request(address.domain, store.country, headers))
    } catch {
      try await uninterrupted { try await self.remember(error) }
      throw error
    }
    let listed = reading.products.map(\.id)
    let encoded = String(decoding: try JSONEncoder().encode(headers), as: UTF8.self)
    try await database.write { transaction in
      guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncFailure.storeNotFound }
      // Another process may have added the address in the meantime.
      try Self.checkFree(address, for: store, in: transaction)
      let known = Set(
        try transaction.query("SELECT id FROM products WHERE store = ?1", [.integer(store.no)]) { $0.integer(0) })
      guard known.isEmpty || listed.contains(where: known.contains) else {
        throw WatchifyError.otherShop(address: address.domain)
      }
      try transaction.execute(
        """
        UPDATE stores SET domain = ?2, headers = ?3, last_error = NULL, is_closed = 0, generation = generation + 1
        WHERE no = ?1
        """, [.integer(store.no), .text(address.domain), .text(encoded)])
      try ValidatorRows.forget(store.no, in: transaction)
    }
    await BackgroundSyncState.shared.recordSuccess(forStore: id)
    return address.domain
  }

  /// Throws if another store is followed at an address.
  private static func checkFree(
    _ address: ShopAddress, for store: StoreRecord, in transaction: some Querying
  ) throws {
    let others = try StoreRecord.all(
      "WHERE (domain = ?1 OR shopify_domain = ?1) AND no <> ?2", [.text(address.domain), .integer(store.no)],
      in: transaction)
    if let other = others.first { throw WatchifyError.alreadyFollowed(name: other.name, id: other.id) }
  }
}
