package import CofferCore
package import Foundation

/// The plain header of an envelope. It can be read without a key, and whatever it says is authentic only once the
/// envelope is opened. `docs/formats/envelope.md` describes it byte by byte.
package struct EnvelopeHeader: Hashable, Sendable {
  static let magic: [UInt8] = [0xFF] + "CENV".utf8
  static let newest: UInt8 = 1
  static let count = 64
  static let saltCount = 24
  private static let paddedFlag: UInt8 = 1

  /// The format version: 1.
  package let version: UInt8
  /// The cipher.
  package let algorithm: AEAD.Algorithm
  /// Whether the value is padded, so that its size is known only roughly.
  package let isPadded: Bool
  /// The id of the data key.
  package let keyID: KeyID
  /// The random bytes that the key of this envelope is derived with, 24 of them.
  package let salt: Data

  /// Reads the header of an envelope.
  /// - Throws: `damaged` if the bytes are no envelope or too short for one, `newerFormat` for an unknown version,
  ///   algorithm or flag.
  package init(of envelope: Data) throws(StorageError) {
    guard Self.isPresent(in: envelope) else {
      throw StorageError(
        .damaged, "The stored bytes are not an encrypted value.",
        advice: "Write the key again, or restore it from a backup. Other keys are not affected.")
    }
    let fields = [UInt8](envelope.dropFirst(Self.magic.count).prefix(3))
    let bytes = envelope.dropFirst(8)
    guard envelope.count >= Envelope.overhead, let keyID = KeyID(Data(bytes.prefix(KeyID.count))) else {
      throw StorageError(
        .damaged, "The encrypted value is cut short.",
        advice: "Write the key again, or restore it from a backup. Other keys are not affected.")
    }
    guard fields[0] == Self.newest, let algorithm = AEAD.Algorithm(rawValue: fields[1]),
      fields[2] & ~Self.paddedFlag == 0
    else {
      throw StorageError(
        .newerFormat,
        "A newer version encrypted the value (format \(fields[0]), algorithm \(fields[1]), flags \(fields[2])).",
        advice: "Update the program. Nothing was changed.")
    }
    version = fields[0]
    self.algorithm = algorithm
    isPadded = fields[2] & Self.paddedFlag != 0
    self.keyID = keyID
    salt = Data(bytes.dropFirst(KeyID.count).prefix(Self.saltCount))
  }

  /// Returns whether bytes begin like an envelope. The first one is 0xFF, which no text in UTF-8, no JSON and no
  /// property list contains.
  package static func isPresent(in bytes: Data) -> Bool { bytes.starts(with: magic) }

  /// Writes the header of a new envelope, with a random salt.
  static func write(
    _ algorithm: AEAD.Algorithm, isPadded: Bool, _ keyID: KeyID, in header: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    header.copyBytes(from: magic)
    header[5] = newest
    header[6] = algorithm.rawValue
    header[7] = isPadded ? paddedFlag : 0
    header.part(8, KeyID.count).copyBytes(from: keyID.bytes)
    try Cryptography.fillWithRandomBytes(header.part(40, saltCount), isSecret: false)
  }
}
