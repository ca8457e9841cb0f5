import CofferCore
import CofferEncryption
import Foundation
import Testing

/// Records of the rollback protection that this version or an earlier one has written, which every later one must read.
/// They belong to the golden key ring of key material.
@Suite struct RollbackGoldenTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Golden")
  private static let date = Date(timeIntervalSince1970: 1_800_000_000)

  private static func read(_ name: String) throws -> Data {
    try Data(contentsOf: folder.appendingPathComponent("format-1-\(name)"))
  }

  private static func keys() throws -> (ring: KeyRing, keys: RollbackKeys) {
    let record = try read("material.keyring")
    let material = SecretBytes(copying: Data("golden key material, 32 bytes or more".utf8))
    let ring = try KeyRing.open(record, root: RootKey(from: material, KeyRingHeader(of: record).derivation))
    return (ring, try RollbackKeys(ring))
  }

  @Test func anchor() throws {
    let (ring, keys) = try Self.keys()
    let bytes = try Self.read("anchor")
    let record = try AnchorRecord(bytes)
    #expect(
      record
        == AnchorRecord(
          storeID: ring.storeID, sequence: 7, generation: 3, revision: StoreRevision(42), date: Self.date))
    #expect(try AnchorRecord.isAuthentic(bytes, under: keys.anchor))
    #expect(try record.encoded(under: keys.anchor) == bytes)
    #expect(try !AnchorRecord.isAuthentic(bytes, under: ring.indexKey))
  }

  @Test func storeRecord() throws {
    #expect(try Self.keys().keys.number(in: Self.read("rollback")) == 7)
  }

  /// Writes the files of a new format: run it once by hand, when the format changes.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["COFFER_MAKE_GOLDEN"] != nil)) func make() throws {
    let (ring, keys) = try Self.keys()
    let anchor = AnchorRecord(
      storeID: ring.storeID, sequence: 7, generation: 3, revision: StoreRevision(42), date: Self.date)
    try anchor.encoded(under: keys.anchor).write(to: Self.folder.appendingPathComponent("format-1-anchor"))
    try keys.record(of: 7).write(to: Self.folder.appendingPathComponent("format-1-rollback"))
  }
}
