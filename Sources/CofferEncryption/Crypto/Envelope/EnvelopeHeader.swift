package import CofferCore
package import Foundation

/// The plain header of an envelope. It can be read without a key, and whatever it says is authentic only once the
/// envelope is opened. `docs/formats/envelope.md` describes it byte by byte.
package struct EnvelopeHeader: Hashable, Sendable {
  static let magic = SealedValue.magic
  static let newest: UInt8 = 1
  static let count = 64
  static let saltCount = 24
  /// The size of the part that the key of an envelope is derived from: everything but the id of the data key.
  static let derivationCount = 32
  private static let paddedFlag: UInt8 = 1

  /// The format version: 1.
  package let version: UInt8
  /// The cipher.
  package let algorithm: AEAD.Algorithm
  /// Whether the value is padded, so that its size is known only roughly.
  package let isPadded: Bool
  /// The id of the data key.
  package let keyID: KeyID
  /// Reads the header of an envelope.
  /// - Throws: `damaged` if the bytes are no envelope or too short for one, `newerFormat` for an unknown version,
  ///   algorithm or flag.
  package init(of envelope: Data) throws(StorageError) {
    let result = envelope.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Result<Self, StorageError> in
      do throws(StorageError) { return .success(try Self(bytes)) } catch { return .failure(error) }
    }
    self = try result.get()
  }

  init(_ envelope: UnsafeRawBufferPointer) throws(StorageError) {
    guard envelope.starts(with: Self.magic) else {
      throw StorageError(
        .damaged, "The stored bytes are not an encrypted value.",
        advice: "Write the key again, or restore it from a backup. Other keys are not affected.")
    }
    guard envelope.count >= Envelope.overhead else {
      throw StorageError(
        .damaged, "The encrypted value is cut short.",
        advice: "Write the key again, or restore it from a backup. Other keys are not affected.")
    }
    let (version, number, flags) = (envelope[5], envelope[6], envelope[7])
    guard version == Self.newest, let algorithm = AEAD.Algorithm(rawValue: number), flags & ~Self.paddedFlag == 0 else {
      throw StorageError(
        .newerFormat,
        "A newer version encrypted the value (format \(version), algorithm \(number), flags \(flags)).",
        advice: "Update the program. Nothing was changed.")
    }
    self.version = version
    self.algorithm = algorithm
    isPadded = flags & Self.paddedFlag != 0
    keyID = KeyID(envelope.part(Self.derivationCount, KeyID.count))
  }

  /// Writes the header of a new envelope, with a random salt.
  static func write(
    _ algorithm: AEAD.Algorithm, isPadded: Bool, _ keyID: KeyID, in header: UnsafeMutableRawBufferPointer
  ) throws(StorageError) {
    header.copyBytes(from: magic)
    header[5] = newest
    header[6] = algorithm.rawValue
    header[7] = isPadded ? paddedFlag : 0
    try RandomPool.shared.fill(header.part(8, saltCount))
    keyID.write(to: header.part(derivationCount, KeyID.count))
  }
}
