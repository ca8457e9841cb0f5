import CofferCore
import CofferEncryption
import CofferFiles
import Foundation

@testable import CofferSecrets

/// Functions that write and read sealed files without a store.
enum SealedProbe {
  static func file(_ text: String, values: Int) throws -> Data {
    let key = try SecretBytes.random(count: AEAD.keyCount)
    let secret = SecretBytes(copying: Data(text.utf8))
    let header = try SealedHeader(sealing: key, with: secret, cost: cheap)
    let format = try SealedFormat(header, key)
    var document = format.empty
    for value in 0..<values {
      document.items[try KeyName("key\(value)")] = .init(
        version: .init(owner: 1, number: UInt64(value)), tag: 1, data: SecretSlice(copying: Data("value\(value)".utf8)))
    }
    return try format.encode(document)
  }

  /// Returns the number of values in a sealed file.
  static func open(_ file: Data, _ text: String) throws -> Int {
    let header = try SealedHeader(of: file)
    let format = try SealedFormat(header, try header.opened(with: SecretBytes(copying: Data(text.utf8))))
    return try format.decode(file).items.count
  }
}
