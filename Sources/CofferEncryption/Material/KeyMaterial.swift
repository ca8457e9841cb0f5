import CofferCore
import Foundation

/// The rules that random key material has to follow, wherever it comes from.
package enum KeyMaterial {
  static let minimumCount = 32
  static let maximumCount = PassphraseSource.limit
  /// Fewer distinct bytes than this are not random. 32 random bytes have fewer with a probability of 2^-130, and 64
  /// random hexadecimal digits with one of 2^-60.
  private static let distinctBytes = 8

  /// Whether bytes are evidently not random, since only a few of them differ.
  package static func repeatsFewBytes(_ bytes: some Sequence<UInt8>) -> Bool { Set(bytes).count < distinctBytes }

  /// Returns the material without the newline at the end of a text.
  /// - Parameter source: the name of the source for messages.
  /// - Throws: `invalidKeyMaterial` if it is too short or evidently not random.
  static func checked(_ material: SecretBytes, from source: String) throws -> SecretBytes {
    let (count, isWeak) = material.withUnsafeBytes { bytes in
      let part = bytes.prefix(textCount(bytes) ?? bytes.count)
      return (part.count, repeatsFewBytes(part))
    }
    guard count >= minimumCount else {
      throw StorageError(
        .invalidKeyMaterial, "The key material from \(source) has \(count) bytes; at least \(minimumCount) are needed.",
        advice: "Create a random key (openssl rand -hex 32), or use a passphrase source for a passphrase. Nothing was "
          + "changed.")
    }
    guard !isWeak else {
      throw StorageError(
        .invalidKeyMaterial, "The key material from \(source) repeats a few bytes, so it is not random.",
        advice: "Create a random key (openssl rand -hex 32). Nothing was changed.")
    }
    guard count < material.count else { return material }
    return material.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
  }

  /// Returns the size of a text of printable ASCII without its newline; `nil` for other bytes. Random binary material
  /// that happens to end with a newline is not text, so that none of its bytes is lost.
  private static func textCount(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var text = bytes[...]
    guard text.last == UInt8(ascii: "\n") else { return nil }
    text = text.dropLast()
    if text.last == UInt8(ascii: "\r") { text = text.dropLast() }
    return text.allSatisfy { (0x20...0x7E).contains($0) } ? text.count : nil
  }
}
