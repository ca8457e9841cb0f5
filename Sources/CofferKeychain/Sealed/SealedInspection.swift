import CofferCore
import CofferFileSystem
import Foundation

/// A look at a sealed file by somebody who has no passphrase.
package enum SealedInspection {
  /// - Throws: `notAStore`, `newerFormat`, `damaged`, and what reading throws.
  package static func inspect(_ path: String) throws {
    let parts = PathParts(path)
    let directory = try Directory(parts.parent, backend: "sealed:\(path)")
    guard let content = try directory.read(parts.last, followsLink: true, limit: 1 << 30) else { return }
    _ = try SealedHeader(of: content.data)
  }
}
