package import CofferCore
import CofferEncryption
package import Foundation

/// The header of a sealed file: the data key, encrypted with a key that is derived from the passphrase.
/// `docs/formats/sealed.md` describes it byte by byte.
///
/// Its checksum distinguishes damage from a wrong passphrase: without one, a changed salt looks like a mistyped
/// passphrase.
package struct SealedHeader: Hashable, Sendable {
  /// The magic and the format.
  private static let beginning = Data("COFFSEAL".utf8) + [2]
  private static let scryptID: UInt8 = 1
  private static let saltSize = 16
  private static let idSize = 16
  private static let checkSize = KeyID.count
  private static let wrappedSize = AEAD.keyCount + AEAD.overhead
  private static let checksumSize = 32
  /// The size in bytes of the part that is authenticated together with the data key.
  private static let plainSize = 52 + checkSize
  /// The size in bytes of a header.
  package static let size = plainSize + wrappedSize + checksumSize

  package let bytes: Data
  private let cost: ScryptCost

  private var salt: Data { Data(bytes.dropFirst(20).prefix(Self.saltSize)) }
  private var plain: Data { Data(bytes.prefix(Self.plainSize)) }
  private var wrapped: Data { Data(bytes.dropFirst(Self.plainSize).prefix(Self.wrappedSize)) }

  /// The random id of the store, the same in all its files.
  var storeID: Data { Data(bytes.dropFirst(36).prefix(Self.idSize)) }

  /// The id of the key that seals the data key, which no other passphrase has.
  private var check: Data { Data(bytes.dropFirst(52).prefix(Self.checkSize)) }

  /// Reads the header of a file.
  /// - Throws: `damaged`, also if the checksum shows that only the first nine bytes changed; otherwise `notAStore` or
  ///   `newerFormat`.
  package init(of file: Data) throws(StorageError) {
    try Self.checkBeginning(of: file)
    let bytes = Data(file.prefix(Self.size))
    guard file.count >= Self.size, bytes.suffix(Self.checksumSize) == Self.checksum(bytes.dropLast(Self.checksumSize))
    else { throw Self.damaged }
    guard bytes[9] == Self.scryptID else { throw Self.newer(bytes) }
    guard bytes[11] == 0 else { throw Self.damaged }
    cost = ScryptCost(logN: Int(bytes[10]), r: Int(bytes.integer(at: 12)), p: Int(bytes.integer(at: 16)))
    self.bytes = bytes
  }

  /// Throws `damaged` also if the checksum is correct once the first nine bytes are restored.
  private static func checkBeginning(of file: Data) throws(StorageError) {
    let found = Data(file.prefix(9))
    guard found != beginning else { return }
    if file.count >= size {
      let restored = beginning + file.dropFirst(9).prefix(size - 9 - checksumSize)
      guard checksum(restored) != file.dropFirst(size - checksumSize).prefix(checksumSize) else { throw damaged }
    }
    if !found.isEmpty, beginning.starts(with: found) { throw damaged }  // cut short
    guard found.prefix(8) == beginning.prefix(8) else {
      throw StorageError(
        .notAStore, "The file is not a sealed store.", advice: "Check the path. Nothing was changed.")
    }
    throw found[8] == 0 ? damaged : newer(file)
  }

  private static func newer(_ file: Data) -> StorageError {
    let numbers = file.dropFirst(8).prefix(2).map { "\($0)" }
    return StorageError(
      .newerFormat,
      "The file was sealed by a newer version (format \(numbers.joined(separator: ", key derivation "))).",
      advice: "Update the program. Nothing was changed.")
  }

  private static func checksum(_ bytes: Data) -> Data { sha256(Data(bytes)) }

  /// Creates a header that encrypts a data key with a passphrase.
  init(sealing key: SecretBytes, of storeID: Data, with passphrase: SecretBytes, cost: ScryptCost) throws {
    let salt = try randomBytes(Self.saltSize)
    let wrapping = try scrypt(passphrase, salt: salt, cost: cost, count: AEAD.keyCount)
    var plain = Self.beginning + Data([Self.scryptID, UInt8(cost.logN), 0])
    plain.append(integer: UInt32(cost.r))
    plain.append(integer: UInt32(cost.p))
    plain += salt + storeID + (try DataKey(wrapping).id.bytes)
    let cipher = try AEAD(.aes256GCM, key: wrapping)
    let wrapped = try key.withUnsafeBytes { try cipher.seal($0, authenticating: plain) }
    self.cost = cost
    bytes = plain + wrapped + Self.checksum(plain + wrapped)
  }

  /// Creates a header for a new store.
  init(sealing key: SecretBytes, with passphrase: SecretBytes, cost: ScryptCost) throws {
    try self.init(sealing: key, of: randomBytes(Self.idSize), with: passphrase, cost: cost)
  }

  /// Throws `unsupported` if trying a passphrase would exceed the limits.
  func validate(within limits: PassphraseLimits) throws(StorageError) { try cost.validate(within: limits) }

  /// Decrypts the data key, which encrypts the values. Takes the time and the memory that the cost demands.
  /// - Throws: `wrongPassphrase`; `damaged` if the header was forged; `unsupported` for a cost beyond the limits.
  func opened(with passphrase: SecretBytes, limits: PassphraseLimits = PassphraseLimits()) throws -> SecretBytes {
    let wrapping = try scrypt(passphrase, salt: salt, cost: cost, count: AEAD.keyCount, limits: limits)
    // The cipher does not commit to its key: a forged data key could open with two passphrases.
    guard try DataKey(wrapping).id.bytes == check else {
      throw StorageError(
        .wrongPassphrase, "The passphrase does not open the store.",
        advice: "Try again with the right one. Nothing was read or changed.")
    }
    do {
      return try AEAD(.aes256GCM, key: wrapping).openSecret(wrapped, authenticating: plain)
    } catch is AuthenticationFailure {
      throw Self.damaged
    }
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The sealed store is damaged: its header is corrupt.")
  }
}

extension Data {
  /// Returns the big-endian 32-bit integer at an offset.
  func integer(at offset: Int) -> UInt32 {
    dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func append(integer value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}
