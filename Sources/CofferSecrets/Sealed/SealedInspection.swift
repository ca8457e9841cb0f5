import CofferCore
package import CofferEncryption
import CofferFiles
import Foundation

/// Read-only checks of a sealed file, without opening it as a store.
package enum SealedInspection {
  /// Reads the header of a sealed file and, given a passphrase, decrypts its values.
  /// - Returns: The number of values, or `nil` without a passphrase or without a file.
  /// - Throws: `notAStore`, `newerFormat`, `damaged`, `wrongPassphrase`, and the errors of reading the file.
  package static func inspect(_ path: String, passphrase: PassphraseSource?) async throws -> Int? {
    try await runBlocking {
      let location = try SealedFile(URL(fileURLWithPath: path))
      guard let file = try location.read() else { return nil }
      _ = try SealedHeader(of: file)
      guard let passphrase else { return nil }
      return try location.open(file, passphrase, PassphraseLimits()).decode(file).items.count
    }
  }
}
