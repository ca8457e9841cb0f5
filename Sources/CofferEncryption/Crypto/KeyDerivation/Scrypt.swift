package import CofferCore
package import Foundation

/// The parameters of scrypt (RFC 7914), which determine the work and memory of trying one passphrase.
package struct ScryptCost: Hashable, Sendable {
  /// The binary logarithm of N, the cost of memory and work together.
  package var logN: Int
  /// The block size, in units of 128 bytes.
  package var r: Int
  /// The number of times that the work is repeated, with the same memory.
  package var p: Int

  package init(logN: Int, r: Int, p: Int) {
    self.logN = logN
    self.r = r
    self.p = p
  }

  /// The parameters that OWASP recommends: 128 MiB and a fraction of a second.
  package static let standard = ScryptCost(logN: 17, r: 8, p: 1)

  /// The work of one try, in units of mixing 128 bytes.
  private var work: Double { Double(r) * Double(p) * exp2(Double(logN)) }

  /// The memory of one try in bytes. Parameters from a file may have any value, so nothing here may overflow.
  private var memory: Double { 128 * Double(r) * max(exp2(Double(logN)), Double(p)) }

  /// The time of one try in seconds, estimated for a computer of 2020 and never measured.
  private var seconds: Double { work / Double(1 << 21) }

  /// Throws `unsupported` if the cost exceeds the limits, or is too low to protect a passphrase.
  package func validate(within limits: PassphraseLimits = PassphraseLimits()) throws(StorageError) {
    guard memory <= Double(limits.memory), seconds <= limits.seconds else {
      throw StorageError(
        .unsupported,
        "Trying a passphrase would take \(Self.text(memory / 1_048_576)) MiB of memory and about "
          + "\(Self.text(seconds)) s (scrypt: N = 2^\(logN), r = \(r), p = \(p)); "
          + "\(limits.memory >> 20) MiB and \(Self.text(limits.seconds)) s are allowed.",
        advice: "If you created the store with this cost, open it with larger PassphraseLimits; otherwise the file was "
          + "modified: restore a backup. Nothing was changed.")
    }
    // The last condition is scrypt's own: N is less than 2 to the power of 128 * r / 8.
    guard logN >= 10, r >= 1, p >= 1, logN < 16 * r else {
      throw StorageError(
        .unsupported, "The scrypt parameters do not protect a passphrase: N = 2^\(logN), r = \(r), p = \(p).",
        advice: "Check whether the file was modified; if so, restore a backup. Nothing was changed.")
    }
  }

  private static func text(_ number: Double) -> String {
    number < 10 ? String(format: "%.1f", number) : String(format: "%.0f", number)
  }

  /// The memory limit for OpenSSL in bytes. The parameters must have been validated.
  var memoryForLibrary: UInt64 {
    // OpenSSL also counts a few small tables.
    (UInt64(128 * r) << UInt64(logN)) + UInt64(128 * r * p) + (1 << 20)
  }
}

/// Derives a key from a passphrase with scrypt (RFC 7914), slowly enough to make guessing expensive.
///
/// Blocks the thread, for a third of a second at the standard cost.
package func scrypt(
  _ passphrase: SecretBytes, salt: Data, cost: ScryptCost, count: Int, limits: PassphraseLimits = PassphraseLimits()
) throws -> SecretBytes {
  try cost.validate(within: limits)
  return try uncheckedScrypt(passphrase, salt: salt, cost: cost, count: count)
}

/// Derives a key without validating the cost, for published test vectors, some of which are below the safe minimum.
package func uncheckedScrypt(
  _ passphrase: SecretBytes, salt: Data, cost: ScryptCost, count: Int
) throws -> SecretBytes {
  try SecretBytes(count: count) { derived in
    try passphrase.withUnsafeBytes { passphrase in
      try salt.withUnsafeBytes { try Cryptography.scrypt(passphrase, salt: $0, cost: cost, into: derived) }
    }
  }
}
