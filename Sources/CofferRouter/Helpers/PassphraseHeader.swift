import CofferCore
import CofferEncryption
import Foundation

/// What precedes the envelope of a value under a passphrase: how the key is derived.
/// `docs/formats/envelope.md` describes it byte by byte.
struct PassphraseHeader: Hashable, Sendable {
  static let count = 44
  private static let magic = Data([0xFF]) + Data("CPBK".utf8)
  /// Format 1, PBKDF2-HMAC-SHA-256, and a byte for later use.
  private static let kind = Data([1, 1, 0])
  private static let saltCount = 32

  let rounds: PBKDF2Rounds
  let salt: Data

  private init(_ rounds: PBKDF2Rounds, _ salt: Data) { (self.rounds, self.salt) = (rounds, salt) }

  /// Creates a header for a new value, with a new salt.
  /// - Throws: `unavailable` if the system has no random bytes.
  static func random() throws -> PassphraseHeader { PassphraseHeader(.standard, try randomBytes(saltCount)) }

  /// Reads the header of a value.
  /// - Throws: `damaged`; `newerFormat`.
  init(of value: Data) throws(StorageError) {
    let value = Data(value.prefix(Self.count))
    guard value.count == Self.count, value.prefix(5) == Self.magic, value[5] > 0 else {
      throw StorageError(
        .damaged, "The value does not begin like one that was encrypted under a passphrase.",
        advice: "Restore it from a backup.")
    }
    guard value[5..<8] == Self.kind else {
      throw StorageError(
        .newerFormat, "A newer version of the library encrypted the value.",
        advice: "Update the program. Nothing was changed.")
    }
    rounds = PBKDF2Rounds(value[8..<12].reduce(0) { $0 << 8 | Int($1) })
    salt = Data(value[12...])
  }

  /// The bytes of the header.
  var bytes: Data {
    let number = UInt32(clamping: rounds.count)
    return Self.magic + Self.kind + Data((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }) + salt
  }
}
