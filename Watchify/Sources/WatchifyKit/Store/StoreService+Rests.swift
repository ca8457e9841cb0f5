import CofferDatabase
public import Foundation

/// Leaving shops in peace that have asked for it, also after a restart and in other processes.
extension StoreService {
  /// The rests that go on: that of all shops first, then those of single ones.
  /// - Throws: `StorageError`.
  public func rests() async throws -> [RequestGate.Rest] {
    let (rests, now) = (try await knownRests(), now())
    return rests.filter { $0.holds(at: now) }
  }

  /// Until when no shop at all is asked, if that is in the future.
  /// - Throws: `StorageError`.
  public func restingUntil() async throws -> Date? { try await rests().first { $0.shop == nil }?.until }

  /// Ends rests before their time: what keeps one store from being read, or everything that keeps any. Also processes
  /// that run go on then.
  /// - Returns: What has ended.
  /// - Throws: ``SyncError/storeNotFound``, `StorageError`.
  @discardableResult
  public func resume(storeId: UUID? = nil) async throws -> [RequestGate.Rest] {
    let now = now()
    let ended = try await database.write { transaction in
      var shop: ShopAddress?
      if let storeId {
        guard let store = try StoreRecord.find(storeId, in: transaction) else { throw SyncError.storeNotFound }
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

  /// All rests, which the gate learns of too: a refusal shortly after the last one doubles the rest, whichever process
  /// met it.
  func knownRests() async throws -> [RequestGate.Rest] {
    let rests = try await database.read { try RestRows.all(in: $0) }
    api.requestGate?.restore(rests)
    return rests
  }

  /// Keeps a rest that was asked for.
  func remember(_ error: any Error) async throws {
    guard case .resting(let until, let domain)? = error as? SyncError else { return }
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
    throw SyncError.resting(until: rest.until, shop: rest.shop?.domain)
  }
}
