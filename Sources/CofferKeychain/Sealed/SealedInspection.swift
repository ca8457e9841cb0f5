import CofferCore
package import CofferCrypto
import CofferSlots
import Foundation

/// A look at a sealed file that opens no store and changes nothing.
package enum SealedInspection {
  /// Reads the header, and with a passphrase everything.
  /// - Returns: how many values there are; `nil` without a passphrase.
  /// - Throws: `notAStore`, `newerFormat`, `damaged`, `wrongPassphrase`, and what reading throws.
  package static func inspect(_ path: String, passphrase: PassphraseSource?) async throws -> Int? {
    try await beside {
      let place = try SealedFile(URL(fileURLWithPath: path))
      guard let file = try place.read() else { return nil }
      _ = try SealedHeader(of: file)
      guard let passphrase else { return nil }
      return try place.open(file, passphrase, PassphraseLimits()).decode(file).items.count
    }
  }
}
