package import CofferCore
package import Foundation

/// What an anchor keeps about a store. `docs/formats/freshness.md` describes it byte by byte.
package struct AnchorRecord: Hashable, Sendable {
  private static let magic = Data("COFFANCR".utf8)
  private static let (bodyCount, macCount, checksumCount) = (64, 32, 32)
  /// The size of a record in bytes.
  package static let count = bodyCount + macCount + checksumCount

  /// The id of the store, 16 bytes.
  package let storeID: Data
  /// The number in the store's own record.
  package private(set) var sequence: UInt64
  /// The generation of the key ring.
  package private(set) var generation: UInt64
  /// The revision of the store, for messages.
  package private(set) var revision: StoreRevision
  /// When the record was written, for messages.
  package let date: Date
  /// Whether the store was about to be decrypted for good, so that another one may follow it.
  package var isReleased: Bool
  /// The authentication code; empty for a record that is not encoded yet.
  private var code = Data()

  package init(
    storeID: Data, sequence: UInt64, generation: UInt64, revision: StoreRevision, date: Date, isReleased: Bool = false
  ) {
    self.storeID = storeID
    self.sequence = sequence
    self.generation = generation
    self.revision = revision
    self.date = date.inMilliseconds
    self.isReleased = isReleased
  }

  /// Takes the newer numbers of another record of the same store, which stays released.
  mutating func advance(to other: AnchorRecord) {
    sequence = max(sequence, other.sequence)
    generation = max(generation, other.generation)
    revision = max(revision, other.revision)
    isReleased = isReleased || other.isReleased
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
    guard bytes.count == Self.count, bytes[9] <= 1, bytes[10..<16].allSatisfy({ $0 == 0 }) else { throw Self.damaged }
    self.init(
      storeID: Data(bytes[16..<32]), sequence: bytes.number(at: 32), generation: bytes.number(at: 40),
      revision: StoreRevision(bytes.number(at: 48)), date: Date(unixMilliseconds: bytes.number(at: 56)),
      isReleased: bytes[9] == 1)
    // A date that cannot be represented was never written.
    guard body == bytes.prefix(Self.bodyCount) else { throw Self.damaged }
    code = Data(bytes[Self.bodyCount..<Self.bodyCount + Self.macCount])
  }

  /// Whether the record was written by somebody with this key.
  package func isAuthentic(under key: DataKey) throws -> Bool { areEqual(try Self.code(of: body, key), code) }

  /// Returns the bytes of the record.
  package func encoded(under key: DataKey) throws -> Data {
    let authenticated = body + (try Self.code(of: body, key))
    return authenticated + sha256(authenticated)
  }

  private static func code(of body: Data, _ key: DataKey) throws -> Data {
    try body.withUnsafeBytes { try key.keyedHash(of: $0) }
  }

  private var body: Data {
    var body = Self.magic + Data([1, isReleased ? 1 : 0, 0, 0, 0, 0, 0, 0]) + storeID
    body.append(number: sequence)
    body.append(number: generation)
    body.append(number: revision.rawValue)
    body.append(number: date.unixMilliseconds)
    return body
  }

  package static func == (left: AnchorRecord, right: AnchorRecord) -> Bool { left.body == right.body }
  package func hash(into hasher: inout Hasher) { hasher.combine(body) }

  private static var damaged: StorageError {
    StorageError(.damaged, "The anchor of the store is damaged: its record is not one that was written.")
  }
}
