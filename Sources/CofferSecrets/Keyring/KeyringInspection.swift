package import CofferCore
package import Foundation

/// Read-only checks of the desktop's keyring, without prompts.
package enum KeyringInspection {
  /// Returns the reason why the keyring cannot be used, or `nil` if it is open. Blocks for a few seconds at most.
  package static func obstacle(allowsPlainSession: Bool = false) -> StorageError? {
    #if SecretService && os(Linux)
      let client = SecretServiceClient(allowsPlainSession: allowsPlainSession)
      let state = client.state()
      return state == .open ? nil : client.error(of: state)
    #else
      return StorageError(
        .unsupported, "This program was built without support for the desktop's keyring.",
        advice: "Build it on Linux with the package trait 'SecretService', or use a sealed file.")
    #endif
  }

  /// Returns whether secrets cross the bus unencrypted, or `nil` if that cannot be determined now.
  package static func hasPlainSession() -> Bool? {
    #if SecretService && os(Linux)
      return (try? SecretServiceClient(allowsPlainSession: true).sessionAlgorithm()).map { $0 == "plain" }
    #else
      return nil
    #endif
  }

  /// Returns whether the bytes are a complete file of gnome-keyring, as far as can be checked without its password.
  package static func isWhole(_ file: Data) -> Bool {
    if file.starts(with: Data("[keyring]".utf8)) { return true }
    var reader = Reader(rest: file[...])
    return reader.skip(over: Data("GnomeKeyring\n\r\0\n".utf8)) && reader.restIsWhole()
  }

  /// A reader of gnome-keyring's binary format, up to the encrypted part, which must be complete.
  private struct Reader {
    var rest: Data

    mutating func skip(over bytes: Data) -> Bool {
      guard rest.starts(with: bytes) else { return false }
      rest = rest.dropFirst(bytes.count)
      return true
    }

    mutating func restIsWhole() -> Bool {
      // Versions; name; two times, flags, timeout, iterations, salt and reserved bytes.
      guard skip(4), skipText(), skip(8 + 8 + 4 + 4 + 4 + 8 + 16), let items = number() else { return false }
      for _ in 0..<items {
        guard skip(8), let attributes = number() else { return false }
        for _ in 0..<attributes {
          guard skipText(), let kind = number() else { return false }
          guard kind == 0 ? skipText() : skip(4) else { return false }
        }
      }
      guard let size = number() else { return false }
      return size % 16 == 0 && rest.count >= Int(size)
    }

    private mutating func skip(_ count: Int) -> Bool {
      guard rest.count >= count else { return false }
      rest = rest.dropFirst(count)
      return true
    }

    private mutating func number() -> UInt32? {
      guard rest.count >= 4 else { return nil }
      defer { rest = rest.dropFirst(4) }
      return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Skips a string: its length, all ones for none, and its bytes.
    private mutating func skipText() -> Bool {
      guard let size = number() else { return false }
      return size == .max || skip(Int(size))
    }
  }
}
