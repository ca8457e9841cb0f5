public import Foundation

/// Authentication codes of messages: HMAC-SHA-256 (RFC 2104, FIPS 198-1), computed by the system's cryptographic
/// library.
///
/// ```swift
/// let code = try MessageAuthentication.code(of: body, key: key)
/// request.setHeader("Signature", code.map { String(format: "%02x", $0) }.joined())
/// ```
public enum MessageAuthentication {
  /// Returns the authentication code of a message: 32 bytes.
  /// - Parameters:
  ///   - message: the message, of any size.
  ///   - key: the key that sender and receiver share. 32 random bytes are best; an empty one authenticates nothing.
  /// - Throws: `StorageError` if the cryptographic library is unavailable.
  public static func code(of message: Data, key: Data) throws -> Data {
    try hmacSHA256(SecretBytes(copying: key), message)
  }

  /// Returns whether a code belongs to a message, in time that does not depend on where the codes differ.
  /// - Throws: The errors of ``code(of:key:)``.
  public static func isValid(_ code: Data, of message: Data, key: Data) throws -> Bool {
    let expected = try self.code(of: message, key: key)
    return code.count == expected.count && areEqual(code, expected)
  }
}
