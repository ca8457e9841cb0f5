package import CofferCore
package import Foundation

/// The plain beginning of a sealed key ring, which can be read without its root key.
/// `docs/formats/keyring.md` describes it byte by byte.
package struct KeyRingHeader: Hashable, Sendable {
  static let magic = Data("COFFRING".utf8)
  static let version: UInt8 = 1
  static let count = 112
  static let checksumCount = 32
  static let storeIDCount = 16
  /// The maximum size of a record in bytes; a ring with all the keys that it can hold is smaller.
  package static let limit = 1 << 18

  /// How the root key is derived.
  package let derivation: RootKeyDerivation
  /// The identity of the root key.
  let rootCheck: Data
  /// Which values of the store are encrypted.
  package let coverage: KeyRing.Coverage
  /// The random identity of the store, 16 bytes.
  package let storeID: Data
  /// The number of changes of the ring so far, from 1. Of two intact copies, the one with the larger number is newer.
  package let generation: UInt64
  /// The size of the sealed body in bytes.
  let bodyCount: Int

  init(_ root: RootKey, coverage: KeyRing.Coverage, storeID: Data, generation: UInt64, bodyCount: Int) {
    derivation = root.derivation
    rootCheck = root.check
    self.coverage = coverage
    self.storeID = storeID
    self.generation = generation
    self.bodyCount = bodyCount
  }

  /// Reads the header of a record and verifies the checksum of the whole record.
  /// - Throws: `damaged`; `newerFormat` for an intact record of a later version.
  package init(of record: Data) throws(StorageError) {
    let record = Data(record)
    guard record.count >= Self.count + Self.checksumCount, record.count <= Self.limit,
      record.prefix(8) == Self.magic, Self.checksum(record.dropLast(Self.checksumCount)) == record.suffix(32)
    else { throw Self.damaged }
    guard record[8] > 0 else { throw Self.damaged }
    guard record[8] == Self.version else { throw Self.newer("format \(record[8])") }
    derivation = try Self.derivation(of: record)
    guard let coverage = KeyRing.Coverage(rawValue: record[11]) else { throw Self.newer("coverage \(record[11])") }
    self.coverage = coverage
    rootCheck = Data(record[52..<84])
    storeID = Data(record[84..<100])
    generation = record.number(at: 100)
    bodyCount = Int(record.number(at: 108) as UInt32)
    guard record.count == Self.count + bodyCount + Self.checksumCount, generation > 0 else { throw Self.damaged }
  }

  private static func derivation(of record: Data) throws(StorageError) -> RootKeyDerivation {
    let cost = ScryptCost(
      logN: Int(record[10]), r: Int(record.number(at: 12) as UInt32), p: Int(record.number(at: 16) as UInt32))
    let salt = Data(record[20..<52])
    switch record[9] {
    case 1:
      guard cost == ScryptCost(logN: 0, r: 0, p: 0) else { throw damaged }
      return RootKeyDerivation(.keyMaterial, salt: salt)
    case 2: return RootKeyDerivation(.passphrase(cost), salt: salt)
    default: throw newer("key derivation \(record[9])")
    }
  }

  /// The bytes of the header.
  var bytes: Data {
    var bytes = Self.magic
    bytes.append(number: Self.version)
    let (method, cost) =
      switch derivation.method {
      case .keyMaterial: (UInt8(1), ScryptCost(logN: 0, r: 0, p: 0))
      case .passphrase(let cost): (UInt8(2), cost)
      }
    bytes += Data([method, UInt8(truncatingIfNeeded: cost.logN), coverage.rawValue])
    bytes.append(number: UInt32(truncatingIfNeeded: cost.r))
    bytes.append(number: UInt32(truncatingIfNeeded: cost.p))
    bytes += derivation.salt + rootCheck + storeID
    bytes.append(number: generation)
    bytes.append(number: UInt32(truncatingIfNeeded: bodyCount))
    return bytes
  }

  static func checksum(_ bytes: Data) -> Data { sha256(Data(bytes)) }

  static var damaged: StorageError {
    StorageError(
      .damaged, "The key ring of the store is damaged.",
      advice: "Without it no value can be decrypted: restore the store from a backup. Nothing was changed.")
  }

  private static func newer(_ what: String) -> StorageError {
    StorageError(
      .newerFormat, "The key ring of the store was written by a newer version (\(what)).",
      advice: "Update the program. Nothing was changed.")
  }
}

extension Data {
  /// Returns the number that is stored at an offset, most significant byte first.
  func number<N: FixedWidthInteger>(at offset: Int) -> N {
    dropFirst(offset).prefix(N.bitWidth / 8).reduce(0) { $0 << 8 | N($1) }
  }

  /// Appends a number, most significant byte first.
  mutating func append<N: FixedWidthInteger>(number: N) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
