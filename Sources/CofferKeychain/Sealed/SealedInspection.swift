import CofferCore
package import CofferCrypto
import CofferFileSystem
import Foundation

/// A look at a sealed file that opens no store and changes nothing.
package enum SealedInspection {
  /// Reads the header, and with a passphrase everything.
  /// - Returns: how many values there are; `nil` without a passphrase.
  /// - Throws: `notAStore`, `newerFormat`, `damaged`, `wrongPassphrase`, and what reading throws.
  package static func inspect(_ path: String, passphrase: PassphraseSource?) async throws -> Int? {
    try await beside {
      guard try PathParts.exists(path) else { return nil }
      let parts = PathParts(path)
      let directory = try Directory(parts.parent, backend: "sealed:\(path)")
      guard let content = try directory.read(parts.last, followsLink: true, limit: 1 << 30) else { return nil }
      let header = try SealedHeader(of: content.data)
      guard let passphrase else { return nil }
      let format = try SealedFormat(header, key: header.key(with: passphrase.read()))
      return try format.decode(content.data).items.count
    }
  }
}
