import CofferSQLite
public import Foundation

/// The pauses that shops have requested, which persist across restarts and apply to all processes.
extension StoreService {
  /// Returns the pauses in effect: that of all shops first, then those of single shops.
  /// - Throws: `StorageError`.
  public func rests() async throws -> [RequestGate.Rest] {
    let (rests, now) = (try await knownRests(), now())
    return rests.filter { $0.holds(at: now) }
  }

  /// Returns the end of the pause of all shops; `nil` if none is in effect.
  /// - Throws: `StorageError`.
  public func restingUntil() async throws -> Date? { try await rests().first { $0.shop == nil }?.until }

  /// Ends pauses early: those that apply to one store, or all pauses if `storeId` is `nil`. Other running processes
  /// resume as well.
  /// - Returns: The pauses that were ended.
  /// - Throws: ``SyncFailure/storeNotFound``, `StorageError`.
  @discardableResult
  public func resume(storeId: UUID? = nil) async throws -> [RequestGate.Rest] {
    let now = now()
    let ended = try await database.write { transaction in
      var shop: ShopAddress?
      if let storeId {
        guard let store = try StoreRecord.find(storeId, in: transaction) else { throw SyncFailure.storeNotFound }
        shop = try? ShopAddress(store.domain)
      }
      let ended = try RestRows.all(in: transaction).filter {
        $0.until > now && (storeId == nil || $0.shop == nil || $0.shop == shop)
      }
      try RestRows.end(ended, at: now, in: transaction)
      return ended
    }
    _ = try await knownRests()
    return ended
  }

  /// Returns all pauses and restores them into the request gate, so that a further refusal doubles the pause, whichever
  /// process received the last one.
  func knownRests() async throws -> [RequestGate.Rest] {
    let rests = try await database.read { try RestRows.all(in: $0) }
    api.requestGate?.restore(rests)
    return rests
  }

  /// Stores the pause of a `.resting` error; ignores other errors.
  func remember(_ error: any Error) async throws {
    guard case .invalidResponse(.resting(let until, let domain))? = error as? SyncFailure else { return }
    let shop = domain.flatMap { try? ShopAddress($0) }
    let (now, counted) = (now(), api.requestGate?.refusals(of: shop))
    try await database.write { transaction in
      let known = try RestRows.all(in: transaction).first { $0.shop == shop }
      let refusals = counted ?? known.map { $0.refusals(afterRestUntil: until, at: now) } ?? 1
      try RestRows.keep(RequestGate.Rest(shop: shop, until: until, refusals: refusals, since: now), in: transaction)
    }
  }

  func refuseRest(_ domain: String) async throws {
    try Self.refuse(try await rests(), domain)
  }

  static func refuse(_ rests: [RequestGate.Rest], _ domain: String) throws {
    let shop = try? ShopAddress(domain)
    guard let rest = rests.first(where: { $0.shop == nil || $0.shop == shop }) else { return }
    throw SyncFailure.resting(until: rest.until, shop: rest.shop?.domain)
  }
}
