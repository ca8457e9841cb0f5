public import Foundation

/// Damaged bytes that a store has kept aside, in its quarantine.
public struct QuarantinedValue: Hashable, Sendable {
  /// The reason why bytes are in the quarantine.
  public enum Reason: String, Hashable, Sendable {
    /// The bytes of a value were not those that were written.
    case damagedValue
    /// A file with many values was damaged; the bytes are those of the whole file.
    case damagedFile
    /// A staged value was damaged before it was published, or it is unknown whether it was ever committed, since the
    /// journal was lost.
    case unpublishedValue
  }

  /// The name of the bytes within the quarantine of their store.
  public let id: String
  /// The key of the value; `nil` if it is not known, or for a whole file.
  public let key: KeyName?
  /// The date when the bytes were put aside.
  public let date: Date
  /// The number of bytes as they are stored, which in a sealed store includes its encryption; `nil` if it is not
  /// disclosed without reading them, as in a keyring.
  public let size: Int?
  /// The reason why the bytes are there.
  public let reason: Reason

  /// Creates the description that an engine returns from a listing.
  public init(id: String, key: KeyName?, date: Date, size: Int?, reason: Reason) {
    self.id = id
    self.key = key
    self.date = date
    self.size = size
    self.reason = reason
  }
}

/// An engine that keeps damaged bytes for inspection. It never changes them, and removes them only on request.
///
/// ```swift
/// for value in try await engine.quarantine?.quarantinedValues() ?? [] {
///   print(value.id, value.key?.string ?? "-", value.size ?? 0, value.reason)
/// }
/// ```
///
/// The bytes are those that were found: they are damaged, whatever they look like. Those of a sealed store are
/// decrypted with its passphrase if that is possible, and otherwise are the encrypted ones.
public protocol QuarantiningEngine: StorageEngine {
  /// Returns a description of everything in the quarantine, the oldest first.
  /// - Throws: ``StorageError`` if the quarantine cannot be read.
  func quarantinedValues() async throws -> [QuarantinedValue]

  /// Returns quarantined bytes.
  /// - Parameter id: the ``QuarantinedValue/id`` of the bytes.
  /// - Throws: ``StorageError``: `notFound` if there are no such bytes.
  func quarantinedBytes(_ id: String) async throws -> Data

  /// Removes bytes from the quarantine for good. Missing ones are ignored.
  /// - Throws: ``StorageError`` if they cannot be removed.
  func removeQuarantined(_ ids: [String]) async throws

  /// Returns a report of the damaged value of a key, whose bytes are in the quarantine when this returns.
  ///
  /// Until another value is committed for the key, a commit that requires the ``DamageReport/revision`` of the report
  /// replaces exactly this damaged value.
  /// - Returns: `nil` if there is no value, if it is intact, or if its revision is damaged as well.
  /// - Throws: ``StorageError``: `damaged` if more than the value is damaged; the reason why its bytes cannot be kept
  ///   or why it must not be replaced, such as `diskFull` or `permissionDenied`.
  func damage(of key: KeyName) async throws -> DamageReport?
}

/// An engine whose quarantine also accepts what the store itself finds intact, such as an envelope that does not open.
package protocol EntryQuarantiningEngine: QuarantiningEngine {
  /// Puts the stored bytes of an entry into the quarantine, unless they are there.
  /// - Returns: the id of the bytes in the quarantine.
  /// - Throws: ``StorageError`` if they cannot be kept; `preconditionFailed` if the value was replaced meanwhile.
  func quarantine(_ entry: StoreEntry) async throws -> String
}

extension QuarantiningEngine {
  /// Stores quarantined bytes as the value of a key, in one commit, without attributes: the value does not expire. They
  /// stay in the quarantine.
  /// - Parameters:
  ///   - id: the ``QuarantinedValue/id`` of the bytes.
  ///   - key: the key that receives them, replacing any existing value.
  ///   - origin: the origin of the commit.
  /// - Throws: ``StorageError``: `notFound` if there are no such bytes; `unsupported` for those of a whole file; the
  ///   errors of a commit.
  @discardableResult
  public func restoreQuarantined(
    _ id: String, as key: KeyName, from origin: StoreOrigin = StoreOrigin()
  ) async throws -> StoreCommit {
    guard let value = try await quarantinedValues().first(where: { $0.id == id }) else {
      throw StorageError.notQuarantined(id, location: description)
    }
    guard value.reason != .damagedFile else {
      throw StorageError.unsupported(
        "restoring a whole file as a value", advice: "Save its bytes to a file. Nothing was written.",
        location: description)
    }
    return try await commit(WriteBatch([.put(key, try await quarantinedBytes(id))]), from: origin)
  }
}

extension StorageEngine {
  /// This engine or the first engine behind it that has a quarantine; `nil` if there is none or it is not open yet.
  public var quarantine: (any QuarantiningEngine)? { firstBehind { $0 as? any QuarantiningEngine } }
}

extension StorageError {
  /// Returns the error for bytes that are not in the quarantine.
  package static func notQuarantined(_ id: String, location: String) -> StorageError {
    StorageError(
      .notFound, "The quarantine holds nothing with the id '\(id.escapingControlCharacters)'.",
      advice: "List it to see what it holds.", location: location)
  }
}
