package import CofferCore
import CofferCrypto
package import Foundation

/// The beginning of a sealed file: how the passphrase opens the key that everything else is sealed with.
/// `docs/formats/sealed.md` describes it byte by byte.
package struct SealedHeader: Hashable, Sendable {
  package static let size = 96
  static let magic = Data("COFFSEAL".utf8)
  private static let version: UInt8 = 1
  private static let scryptID: UInt8 = 1
  private static let saltSize = 16
  /// The part that the sealing of the key vouches for.
  private static let plainSize = 36

  package let bytes: Data
  private let cost: ScryptCost
  private var salt: Data { bytes.dropFirst(20).prefix(Self.saltSize) }
  private var plain: Data { bytes.prefix(Self.plainSize) }

  /// Reads the header of a file.
  /// - Throws: `notAStore`, `newerFormat`, `damaged`.
  package init(of file: Data) throws(StorageError) {
    guard file.prefix(8) == Self.magic else {
      throw StorageError(
        .notAStore, "The file is not a sealed store.", advice: "Check the path. Nothing was changed.")
    }
    guard file.count >= Self.size else { throw Self.damaged }
    let bytes = Data(file.prefix(Self.size))
    guard bytes[8] == Self.version, bytes[9] == Self.scryptID else {
      throw StorageError(
        .newerFormat, "The file was sealed by a newer version (format \(bytes[8]), key derivation \(bytes[9])).",
        advice: "Update the program. Nothing was changed.")
    }
    guard bytes[11] == 0 else { throw Self.damaged }
    cost = ScryptCost(logN: Int(bytes[10]), r: Int(bytes.integer(at: 12)), p: Int(bytes.integer(at: 16)))
    self.bytes = bytes
  }

  /// A header that opens a key by a passphrase.
  init(sealing key: SecretBytes, with passphrase: SecretBytes, cost: ScryptCost) throws {
    var plain = Self.magic + Data([Self.version, Self.scryptID, UInt8(cost.logN), 0])
    plain.append(integer: UInt32(cost.r))
    plain.append(integer: UInt32(cost.p))
    let salt = try randomBytes(Self.saltSize)
    plain += salt
    let cipher = try AESGCM(key: scrypt(passphrase, salt: salt, cost: cost, count: AESGCM.keyCount))
    let wrapped = try key.withUnsafeBytes { try cipher.seal(Data($0), authenticating: plain) }
    self.cost = cost
    bytes = plain + wrapped
  }

  /// The key that everything else is sealed with. Takes as long and as much memory as the cost says.
  /// - Throws: `wrongPassphrase`; `unsupported` for a cost beyond all reason.
  func key(with passphrase: SecretBytes) throws -> SecretBytes {
    let cipher = try AESGCM(key: scrypt(passphrase, salt: salt, cost: cost, count: AESGCM.keyCount))
    do {
      return SecretBytes(copying: try cipher.open(Data(bytes.dropFirst(Self.plainSize)), authenticating: plain))
    } catch is AuthenticationFailure {
      throw StorageError(
        .wrongPassphrase, "The passphrase does not open the store.",
        advice: "Try again with the right one. Nothing was read or changed.")
    }
  }

  static var damaged: StorageError {
    StorageError(.damaged, "The sealed store is damaged: its bytes are not those that were written.")
  }
}

extension Data {
  /// Four bytes, most significant first.
  func integer(at offset: Int) -> UInt32 {
    dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func append(integer value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}
