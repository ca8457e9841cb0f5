package import CofferCore
package import Foundation

/// The record of an encrypted store by which an older copy of the store is recognized: a number that only grows, sealed
/// under the key ring. `docs/formats/freshness.md` describes it byte by byte.
package struct FreshnessRecord: Hashable, Sendable {
  private static let format: UInt8 = 5
  private static let count = 17

  /// The number of times that the record was written.
  package var sequence: UInt64
  /// When it was written, for messages.
  package var date: Date

  package init(sequence: UInt64, date: Date) {
    self.sequence = sequence
    self.date = date.inMilliseconds
  }

  /// Returns whether a store has a record, so that there is an anchor that follows it.
  package static func isPresent(in engine: any StorageEngine) async throws -> Bool {
    do { return try await engine.record(.freshness) != nil } catch let error as StorageError
      where error.code == .damaged
    {
      return true
    }
  }

  /// Returns the record as it is stored.
  package func sealed(under keys: FreshnessKeys) throws -> Data {
    var body = Data([1])
    body.append(number: sequence)
    body.append(number: date.unixMilliseconds)
    return try Envelope.seal(
      body, under: keys.record, context: Self.context(keys.storeID), algorithm: .aes256GCM, isPadded: false)
  }

  /// Opens a stored record.
  /// - Throws: `damaged`, `newerFormat`.
  package static func open(_ content: Data, under keys: FreshnessKeys) throws -> FreshnessRecord {
    guard let body = try keys.open(content, context(keys.storeID)) else { throw damaged }
    guard body.first == 1 else {
      throw StorageError(
        .newerFormat, "A newer version wrote the record of the store's freshness.",
        advice: "Update the program. Nothing was changed.")
    }
    guard body.count == count else { throw damaged }
    return FreshnessRecord(sequence: body.number(at: 1), date: Date(unixMilliseconds: body.number(at: 9)))
  }

  private static func context(_ storeID: Data) -> EnvelopeContext {
    EnvelopeContext(store: storeID, key: SystemRecord.Name.freshness.key, attributes: .none, format: format)
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The record of the store's freshness is damaged, or it is another store's.")
  }
}

/// The keys of the freshness of one store. They are derived from the index key of the ring, which no rotation changes.
package struct FreshnessKeys: Sendable {
  let storeID: Data
  /// Seals the records in the store.
  let record: DataKey
  /// Authenticates the record in the anchor.
  package let anchor: DataKey

  package init(_ ring: KeyRing) throws {
    storeID = ring.storeID
    record = try ring.indexKey.derivedKey(for: DataKey.Purpose("freshness record"))
    anchor = try ring.indexKey.derivedKey(for: DataKey.Purpose("freshness anchor"))
  }

  /// Opens a record in the store; `nil` if it is damaged or another store's.
  /// - Throws: `newerFormat`.
  func open(_ content: Data, _ context: EnvelopeContext) throws -> Data? {
    do {
      return try Envelope.open(content, context: context) { id in
        guard id == record.id else { throw AuthenticationFailure() }
        return record
      }
    } catch is AuthenticationFailure { return nil } catch let error as StorageError where error.code == .damaged {
      return nil
    }
  }
}
