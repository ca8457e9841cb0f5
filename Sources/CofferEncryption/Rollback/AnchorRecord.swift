package import CofferCore
package import Foundation

/// What an anchor keeps about a store. `docs/formats/rollback.md` describes it byte by byte.
package struct AnchorRecord: Hashable, Sendable {
  private static let magic = Data("COFFANCR".utf8)
  private static let (bodyCount, macCount, checksumCount) = (64, 32, 32)
  /// The size of a record in bytes.
  package static let count = bodyCount + macCount + checksumCount

  /// The id of the store, 16 bytes.
  package let storeID: Data
  /// The number in the store's own record.
  package let sequence: UInt64
  /// The generation of the key ring.
  package let generation: UInt64
  /// The revision of the store, for messages.
  package let revision: StoreRevision
  /// When the record was written, for messages.
  package let date: Date

  package init(storeID: Data, sequence: UInt64, generation: UInt64, revision: StoreRevision, date: Date) {
    self.storeID = storeID
    self.sequence = sequence
    self.generation = generation
    self.revision = revision
    self.date = date.inMilliseconds
  }

  /// Decodes a record, whose authenticity is not verified yet: it may be another store's.
  /// - Throws: `damaged`, `newerFormat`.
  package init(_ bytes: Data) throws(StorageError) {
    let bytes = Data(bytes)
    guard bytes.count > Self.checksumCount, bytes.prefix(8) == Self.magic,
      sha256(bytes.dropLast(Self.checksumCount)) == bytes.suffix(Self.checksumCount), bytes[8] > 0
    else { throw Self.damaged }
    guard bytes[8] == 1 else {
      throw StorageError(
        .newerFormat, "A newer version wrote the anchor (format \(bytes[8])).",
        advice: "Update the program. Nothing was changed.")
    }
    guard bytes.count == Self.count else { throw Self.damaged }
    self.init(
      storeID: Data(bytes[16..<32]), sequence: bytes.number(at: 32), generation: bytes.number(at: 40),
      revision: StoreRevision(bytes.number(at: 48)), date: Date(unixMilliseconds: bytes.number(at: 56)))
    // A date that cannot be represented was never written.
    guard body == bytes.prefix(Self.bodyCount) else { throw Self.damaged }
  }

  /// Whether the bytes of a record were written by somebody with this key.
  package static func isAuthentic(_ bytes: Data, under key: DataKey) throws -> Bool {
    areEqual(try code(of: bytes.prefix(bodyCount), key), Data(bytes.dropFirst(bodyCount).prefix(macCount)))
  }

  /// Returns the bytes of the record.
  package func encoded(under key: DataKey) throws -> Data {
    let authenticated = body + (try Self.code(of: body, key))
    return authenticated + sha256(authenticated)
  }

  private static func code(of body: Data, _ key: DataKey) throws -> Data {
    try body.withUnsafeBytes { try key.keyedHash(of: $0) }
  }

  private var body: Data {
    var body = Self.magic + Data([1, 0, 0, 0, 0, 0, 0, 0]) + storeID
    body.append(number: sequence)
    body.append(number: generation)
    body.append(number: revision.rawValue)
    body.append(number: date.unixMilliseconds)
    return body
  }

  private static var damaged: StorageError {
    StorageError(.damaged, "The anchor of the store is damaged: its record is not one that was written.")
  }
}
