package import CofferCore
import CofferEncryption
package import Foundation

/// The header of a sealed file: the data key, encrypted with a key that is derived from the passphrase.
/// `docs/formats/sealed.md` describes it byte by byte.
///
/// Its checksum distinguishes damage from a wrong passphrase: without one, a changed salt looks like a mistyped
/// passphrase.
package struct SealedHeader: Hashable, Sendable {
  static let magic = Data("COFFSEAL".utf8)
  static let newest: UInt8 = 2
  private static let scryptID: UInt8 = 1
  private static let saltSize = 16
  private static let idSize = 16
  private static let checkSize = KeyID.count
  private static let wrappedSize = AEAD.keyCount + AEAD.overhead
  private static let checksumSize = 32

  /// The format version of the file: 1 or 2.
  package let version: UInt8
  package let bytes: Data
  private let cost: ScryptCost

  /// Returns the size in bytes of a header of the given format version.
  package static func size(_ version: UInt8) -> Int { version == 1 ? 96 : plainSize(2) + wrappedSize + checksumSize }

  /// Returns the size in bytes of the part that is authenticated together with the data key.
  private static func plainSize(_ version: UInt8) -> Int { version == 1 ? 36 : 52 + checkSize }

  package var size: Int { bytes.count }
  private var salt: Data { Data(bytes.dropFirst(20).prefix(Self.saltSize)) }
  private var plain: Data { Data(bytes.prefix(Self.plainSize(version))) }
  private var wrapped: Data { Data(bytes.dropFirst(Self.plainSize(version)).prefix(Self.wrappedSize)) }

  /// The random id of the store, the same in all its files; `nil` in format 1.
  var storeID: Data? { version == 1 ? nil : Data(bytes.dropFirst(36).prefix(Self.idSize)) }

  /// The id of the key that seals the data key, which no other passphrase has; `nil` in format 1.
  private var check: Data? { version == 1 ? nil : Data(bytes.dropFirst(52).prefix(Self.checkSize)) }

  /// Reads the header of a file.
  /// - Throws: `damaged`, also if the checksum shows that only the first nine bytes changed; otherwise `notAStore` or
  ///   `newerFormat`.
  package init(of file: Data) throws(StorageError) {
    let version = try Self.version(of: file)
    guard file.count >= Self.size(version) else { throw Self.damaged }
    let bytes = Data(file.prefix(Self.size(version)))
    // Format 1 has no checksum: a changed parameter is reported as a wrong passphrase.
    if version > 1, bytes.suffix(Self.checksumSize) != Self.checksum(bytes.dropLast(Self.checksumSize)) {
      throw Self.damaged
    }
    guard bytes[9] == Self.scryptID else { throw Self.newer(bytes) }
    guard bytes[11] == 0 else { throw Self.damaged }
    cost = ScryptCost(logN: Int(bytes[10]), r: Int(bytes.integer(at: 12)), p: Int(bytes.integer(at: 16)))
    self.version = version
    self.bytes = bytes
  }

  /// Returns the format version of a file. Throws `damaged` if the checksum is correct once the first nine bytes are
  /// restored.
  private static func version(of file: Data) throws(StorageError) -> UInt8 {
    let beginning = Data(file.prefix(9))
    guard beginning != magic + [newest] else { return newest }
    let size = size(newest)
    if file.count >= size {
      let restored = magic + [newest] + file.dropFirst(9).prefix(size - 9 - checksumSize)
      guard checksum(restored) != file.dropFirst(size - checksumSize).prefix(checksumSize) else { throw damaged }
    }
    if !beginning.isEmpty, (magic + [newest]).starts(with: beginning) { throw damaged }  // cut short
    guard beginning.prefix(8) == magic else {
      throw StorageError(
        .notAStore, "The file is not a sealed store.", advice: "Check the path. Nothing was changed.")
    }
    guard let version = beginning.dropFirst(8).first, version > 0 else { throw damaged }
    guard version == 1 else { throw newer(file) }
    return 1
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
    try self.init(sealing: key, of: storeID, under: wrapping, salt: salt, cost: cost)
  }

  private init(
    sealing key: SecretBytes, of storeID: Data, under wrapping: SecretBytes, salt: Data, cost: ScryptCost
  ) throws {
    var plain = Self.magic + Data([Self.newest, Self.scryptID, UInt8(cost.logN), 0])
    plain.append(integer: UInt32(cost.r))
    plain.append(integer: UInt32(cost.p))
    plain += salt + storeID + (try DataKey(wrapping).id.bytes)
    let cipher = try AEAD(.aes256GCM, key: wrapping)
    let wrapped = try key.withUnsafeBytes { try cipher.seal($0, authenticating: plain) }
    self.cost = cost
    version = Self.newest
    bytes = plain + wrapped + Self.checksum(plain + wrapped)
  }

  /// Creates a header for a new store.
  init(sealing key: SecretBytes, with passphrase: SecretBytes, cost: ScryptCost) throws {
    try self.init(sealing: key, of: randomBytes(Self.idSize), with: passphrase, cost: cost)
  }

  /// Throws `unsupported` if trying a passphrase would exceed the limits.
  func validate(within limits: PassphraseLimits) throws(StorageError) { try cost.validate(within: limits) }

  /// The result of opening a header with its passphrase.
  struct Opened: Sendable {
    /// The data key, which encrypts the values.
    let key: SecretBytes
    /// The header for the next write of the file: this one, or its conversion to the current format.
    let newest: SealedHeader
  }

  /// Decrypts the data key. Takes the time and the memory that the cost demands.
  /// - Throws: `wrongPassphrase`; `damaged` if the header was forged; `unsupported` for a cost beyond the limits.
  func opened(with passphrase: SecretBytes, limits: PassphraseLimits = PassphraseLimits()) throws -> Opened {
    let wrapping = try scrypt(passphrase, salt: salt, cost: cost, count: AEAD.keyCount, limits: limits)
    // The cipher does not commit to its key: a forged data key could open with two passphrases.
    if let check, try DataKey(wrapping).id.bytes != check { throw Self.wrongPassphrase }
    do {
      let key = try AEAD(.aes256GCM, key: wrapping).openSecret(wrapped, authenticating: plain)
      guard storeID == nil else { return Opened(key: key, newest: self) }
      let id = try Self.storeID(from: key)
      return Opened(
        key: key, newest: try SealedHeader(sealing: key, of: id, under: wrapping, salt: salt, cost: cost))
    } catch is AuthenticationFailure {
      throw check == nil ? Self.wrongPassphrase : Self.damaged
    }
  }

  private static var wrongPassphrase: StorageError {
    StorageError(
      .wrongPassphrase, "The passphrase does not open the store.",
      advice: "Try again with the right one. Nothing was read or changed.")
  }

  /// Derives the id of a store of format 1 from its data key, so that every handle uses the same one.
  static func storeID(from key: SecretBytes) throws -> Data {
    try hkdfSHA256(key, salt: Data(), info: Data("coffer store id".utf8), count: idSize).withUnsafeBytes { Data($0) }
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
