package import CofferCore
package import Foundation

/// The number of rounds of PBKDF2-HMAC-SHA-256 (RFC 8018), which determines the work of trying one passphrase. Prefer
/// scrypt, which also takes memory: guessing many passphrases at once costs less with PBKDF2.
package struct PBKDF2Rounds: Hashable, Sendable {
  package var count: Int

  package init(_ count: Int) { self.count = count }

  /// The number that OWASP recommends for HMAC-SHA-256: 600,000.
  package static let standard = PBKDF2Rounds(600_000)

  /// The minimum, from NIST SP 800-132, section 5.2.
  private static let minimum = 1_000

  /// Throws `unsupported` if the work for a key of `keyCount` bytes exceeds the limits, or is too low to protect a
  /// passphrase.
  package func validate(
    within limits: PassphraseLimits = PassphraseLimits(), keyCount: Int = 32
  ) throws(StorageError) {
    guard count >= Self.minimum else {
      throw StorageError(
        .unsupported, "\(count) rounds of PBKDF2 do not protect a passphrase; the minimum is \(Self.minimum).",
        advice: "Check whether the file was modified; if so, restore a backup. Nothing was changed.")
    }
    // Each 32 bytes of the key take all rounds. Three million rounds a second are an estimate for a computer of 2020.
    let blocks = max(1, (Double(keyCount) / 32).rounded(.up))
    let seconds = Double(count) * blocks / 3_000_000
    guard seconds <= limits.seconds, count <= Int(Int32.max) else {
      throw StorageError(
        .unsupported,
        "Trying a passphrase would take about \(seconds.formatted(.number.precision(.significantDigits(2)))) s "
          + "(PBKDF2: \(count) rounds); \(limits.seconds) s are allowed.",
        advice: "If you created the store with this cost, open it with larger PassphraseLimits; otherwise the file was "
          + "modified: restore a backup. Nothing was changed.")
    }
  }
}

/// Derives a key from a passphrase with PBKDF2-HMAC-SHA-256 (RFC 8018).
///
/// Blocks the thread, for a fifth of a second at the standard rounds.
/// - Parameters:
///   - salt: at least 16 random bytes (NIST SP 800-132, section 5.1), at most 1 KiB.
///   - count: the size of the key in bytes, 1 to 1,024.
/// - Throws: `unsupported` for parameters beyond these bounds or the limits, before anything is derived.
package func pbkdf2SHA256(
  _ passphrase: SecretBytes, salt: Data, rounds: PBKDF2Rounds = .standard, count: Int,
  limits: PassphraseLimits = PassphraseLimits()
) throws -> SecretBytes {
  try rounds.validate(within: limits, keyCount: count)
  guard 16...1_024 ~= salt.count, 1...1_024 ~= count, passphrase.count <= PassphraseSource.limit else {
    throw StorageError(
      .unsupported,
      "PBKDF2 cannot derive \(count) bytes from a passphrase of \(passphrase.count) bytes with a salt of "
        + "\(salt.count) bytes.",
      advice: "Use a salt of at least 16 bytes. Nothing was changed.")
  }
  return try uncheckedPBKDF2(passphrase, salt: salt, rounds: rounds, count: count)
}

/// Derives a key without validating the parameters, for published test vectors, most of which are below the safe
/// minimum.
package func uncheckedPBKDF2(
  _ passphrase: SecretBytes, salt: Data, rounds: PBKDF2Rounds, count: Int
) throws -> SecretBytes {
  try SecretBytes(count: count) { derived in
    try passphrase.withUnsafeBytes { passphrase in
      try salt.withUnsafeBytes {
        try Cryptography.pbkdf2(passphrase, salt: $0, rounds: Int32(rounds.count), into: derived)
      }
    }
  }
}
