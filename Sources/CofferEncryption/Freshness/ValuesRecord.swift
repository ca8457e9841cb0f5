package import CofferCore
import CofferCrypto
package import Foundation

/// The record of an encrypted store that covers its values: a digest of their versions, sealed under the key ring.
/// `docs/formats/freshness.md` describes it byte by byte.
package struct ValuesRecord: Hashable, Sendable {
  package static let name = SystemRecordName("encryption.values" as StoreKey)
  private static let format: UInt8 = 6
  private static let count = 10 + ValueDigest.size

  /// The number of the record of the freshness to which this one belongs: both get a new one in the same commit, and
  /// every other commit keeps it. 0 for a record that was written in the stead of a lost one.
  package var sequence: UInt64
  /// The digest; `nil` until the values were counted.
  package var digest: ValueDigest?

  package init(sequence: UInt64, digest: ValueDigest?) { (self.sequence, self.digest) = (sequence, digest) }

  /// Returns the record with another digest.
  func with(_ digest: ValueDigest) -> ValuesRecord { ValuesRecord(sequence: sequence, digest: digest) }

  /// Returns the record as it is stored.
  package func sealed(under keys: FreshnessKeys) throws -> Data {
    var body = Data([1, digest == nil ? 0 : 1])
    body.append(number: sequence)
    body += (digest ?? ValueDigest()).bytes
    return try Envelope.seal(
      body, under: keys.record, context: Self.context(keys.storeID), algorithm: .aes256GCM, isPadded: false)
  }

  /// Opens a stored record.
  /// - Throws: `damaged`, `newerFormat`.
  package static func open(_ content: Data, under keys: FreshnessKeys) throws -> ValuesRecord {
    guard let body = try keys.open(content, context(keys.storeID)) else { throw damaged }
    guard body.first == 1, body.count >= 2, body[body.startIndex + 1] <= 1 else {
      throw StorageError(
        .newerFormat, "A newer version wrote the record of the store's values.",
        advice: "Update the program. Nothing was changed.")
    }
    guard body.count == count else { throw damaged }
    return ValuesRecord(
      sequence: body.number(at: 2),
      digest: body[body.startIndex + 1] == 1 ? ValueDigest(Data(body.dropFirst(10))) : nil)
  }

  private static func context(_ storeID: Data) -> EnvelopeContext {
    EnvelopeContext(store: storeID, key: name.key, attributes: .none, format: format)
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The record of the store's values is damaged, or it is another store's.")
  }
}
