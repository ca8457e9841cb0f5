import CofferEncryption

/// A password as libpq takes it.
struct SecretText: Sendable, Equatable {
  private let bytes: SecretBytes

  /// Returns `nil` for bytes with a NUL, which would end the text.
  init?(_ bytes: SecretBytes) {
    guard bytes.withUnsafeBytes({ !$0.contains(0) }),
      let terminated = try? SecretBytes(
        count: bytes.count + 1,
        fill: { target in
          bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        })
    else { return nil }
    self.bytes = terminated
  }

  /// Copies a text that exists as a `String` anyway, such as one of a service file.
  init?(_ text: String) {
    var text = text
    self.init(text.withUTF8 { SecretBytes(copying: UnsafeRawBufferPointer($0)) })
  }

  /// Calls `body` with the text, which is valid only during the call.
  func withCString<R>(_ body: (UnsafePointer<CChar>?) -> R) -> R {
    bytes.withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
  }
}
