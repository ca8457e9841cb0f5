import CofferCOpenSSL
package import CofferCore
package import Foundation

/// How much work and memory it takes to try one passphrase.
package struct ScryptCost: Hashable, Sendable {
  /// The binary logarithm of N, the cost of memory and work together.
  package var logN: Int
  /// The size of a block, in 128 bytes.
  package var r: Int
  /// How many times the work is done, with the same memory.
  package var p: Int

  package init(logN: Int, r: Int, p: Int) {
    self.logN = logN
    self.r = r
    self.p = p
  }

  /// 128 MiB and a part of a second: what OWASP recommends.
  package static let standard = ScryptCost(logN: 17, r: 8, p: 1)

  /// How much work one try is: a mixing of 1 KiB is 8.
  private var work: Double { Double(r) * Double(p) * exp2(Double(logN)) }

  /// In bytes. Numbers in a file can be anything, so nothing here may overflow.
  private var memory: Double { 128 * Double(r) * max(exp2(Double(logN)), Double(p)) }

  /// How long one try takes, in seconds: estimated, as a computer of 2020 has it. A try is never made to find out.
  private var seconds: Double { work / Double(1 << 21) }

  /// Refuses what costs more than is allowed, before any of it is paid, and what protects nothing.
  package func validate(within limits: PassphraseLimits = PassphraseLimits()) throws(StorageError) {
    guard memory <= Double(limits.memory), seconds <= limits.seconds else {
      throw StorageError(
        .unsupported,
        "To try a passphrase would take \(Self.text(memory / 1_048_576)) MiB of memory and about "
          + "\(Self.text(seconds)) s (scrypt: N = 2^\(logN), r = \(r), p = \(p)); "
          + "\(limits.memory >> 20) MiB and \(Self.text(limits.seconds)) s are allowed.",
        advice: "If you made the store with this cost, open it with larger PassphraseLimits; otherwise the file was "
          + "changed: use a backup. Nothing was tried and nothing was changed.")
    }
    // scrypt itself demands the last: N is less than 2 to the power of 128 * r / 8.
    guard logN >= 10, r >= 1, p >= 1, logN < 16 * r else {
      throw StorageError(
        .unsupported, "The cost of trying a passphrase protects nothing: N = 2^\(logN), r = \(r), p = \(p).",
        advice: "Was the file changed? Nothing was tried and nothing was changed.")
    }
  }

  private static func text(_ number: Double) -> String {
    number < 10 ? String(format: "%.1f", number) : String(format: "%.0f", number)
  }

  /// What OpenSSL is told that it may use; for numbers that were validated.
  fileprivate var memoryForLibrary: UInt64 {
    // Besides the large table, it counts a few small ones.
    (UInt64(128 * r) << UInt64(logN)) + UInt64(128 * r * p) + (1 << 20)
  }
}

/// scrypt (RFC 7914): a key from a passphrase, made slowly, so that nobody tries many of them.
///
/// It blocks the thread, for a third of a second at the standard cost.
package func scrypt(
  _ passphrase: SecretBytes, salt: Data, cost: ScryptCost, count: Int, limits: PassphraseLimits = PassphraseLimits()
) throws -> SecretBytes {
  try cost.validate(within: limits)
  return try uncheckedScrypt(passphrase, salt: salt, cost: cost, count: count)
}

/// For the published examples, some of which cost less than is safe.
package func uncheckedScrypt(
  _ passphrase: SecretBytes, salt: Data, cost: ScryptCost, count: Int
) throws -> SecretBytes {
  _ = OpenSSL.isReady
  return try SecretBytes(count: count) { bytes in
    let done = passphrase.withUnsafeBytes { passphrase in
      salt.withUnsafeBytes { salt in
        EVP_PBE_scrypt(
          passphrase.baseAddress?.assumingMemoryBound(to: CChar.self), passphrase.count, salt.octets, salt.count,
          1 << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p), cost.memoryForLibrary,
          bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
      }
    }
    guard done == 1 else { throw OpenSSL.failure("it could not make a key from the passphrase") }
  }
}
