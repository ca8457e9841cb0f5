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

  /// How much memory anybody's numbers may take.
  package static let memoryLimit = 1 << 30

  /// Refuses what a hostile file could ask for to take the machine, and what protects nothing.
  package func validate() throws(StorageError) {
    guard (10...22).contains(logN), (1...32).contains(r), (1...16).contains(p),
      // scrypt itself demands it: N is less than 2 to the power of 128 * r / 8.
      logN < 16 * r, memory <= Self.memoryLimit
    else {
      throw StorageError(
        .unsupported, "The cost of trying a passphrase is beyond what is safe: N = 2^\(logN), r = \(r), p = \(p).",
        advice: "Was the file changed? Nothing was tried and nothing was changed.")
    }
  }

  /// In bytes; for numbers in the ranges above.
  fileprivate var memory: Int { 128 * r << logN }
}

/// scrypt (RFC 7914): a key from a passphrase, made slowly, so that nobody tries many of them.
///
/// It blocks the thread, for a third of a second at the standard cost.
package func scrypt(_ passphrase: SecretBytes, salt: Data, cost: ScryptCost, count: Int) throws -> SecretBytes {
  try cost.validate()
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
        // Besides its large table, OpenSSL counts a few small ones.
        EVP_PBE_scrypt(
          passphrase.baseAddress?.assumingMemoryBound(to: CChar.self), passphrase.count, salt.octets, salt.count,
          1 << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p), UInt64(cost.memory) + 1 << 20,
          bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
      }
    }
    guard done == 1 else { throw OpenSSL.failure("it could not make a key from the passphrase") }
  }
}
