package import CofferCore
package import Foundation

/// The keys of the rollback protection of one store. They are derived from the index key of the ring, which no rotation
/// changes.
package struct RollbackKeys: Sendable {
  private static let format: UInt8 = 5

  let storeID: Data
  /// Seals the record in the store.
  private let record: DataKey
  /// Authenticates the record in the anchor.
  package let anchor: DataKey

  package init(_ ring: KeyRing) throws {
    storeID = ring.storeID
    record = try ring.indexKey.derivedKey(for: DataKey.Purpose("freshness record"))
    anchor = try ring.indexKey.derivedKey(for: DataKey.Purpose("freshness anchor"))
  }

  private var context: EnvelopeContext {
    EnvelopeContext(store: storeID, key: SystemRecord.Name.rollback.key, attributes: .none, format: Self.format)
  }

  /// Returns the record in the store, by which an older copy of it is recognized. `docs/formats/rollback.md` describes
  /// it byte by byte.
  /// - Parameter number: the number of times that it was written, which only grows.
  package func record(of number: UInt64) throws -> Data {
    var body = Data([1])
    body.append(number: number)
    return try Envelope.seal(body, under: record, context: context, algorithm: .aes256GCM, isPadded: false)
  }

  /// Returns the number in a stored record.
  /// - Throws: `damaged`, also for a record of another store; `newerFormat`.
  package func number(in content: Data) throws -> UInt64 {
    let damaged = StorageError(
      .damaged, "The record of the store's rollback protection is damaged, or it is another store's.")
    do {
      let body = try Envelope.open(content, context: context) { id in
        guard id == record.id else { throw damaged }
        return record
      }
      guard body.first == 1 else {
        throw StorageError(
          .newerFormat, "A newer version wrote the record of the store's rollback protection.",
          advice: "Update the program. Nothing was changed.")
      }
      guard body.count == 9 else { throw damaged }
      return body.number(at: 1)
    } catch let error as StorageError where error.code == .newerFormat {
      throw error
    } catch { throw damaged }
  }
}

extension StorageEngine {
  /// Whether the store has a record of its rollback protection, so that there is an anchor that follows it.
  package func hasRollbackRecord() async throws -> Bool {
    do { return try await record(.rollback) != nil } catch let error as StorageError where error.code == .damaged {
      return true
    }
  }
}
