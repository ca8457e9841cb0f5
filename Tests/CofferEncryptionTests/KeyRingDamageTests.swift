import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Damage to the ring of a store: of its records one bit at a time, and of the database's file.
@Suite(.blocking, .timeLimit(.minutes(30))) struct KeyRingDamageTests {
  private let root: RootKey
  /// The store takes nothing that does not begin like an envelope.
  private let kept = Data(SealedValue.magic + "kept".utf8)

  init() throws { root = try .forTests() }

  private func open(_ engine: any StorageEngine) async throws -> OpenKeyRing {
    try await KeyRingStore(engine).open(settings: EncryptionSettings(), ifMissing: .refuse) { [root] _ in root }
  }

  /// Every bit of either record, and every size of it: the other record is used and repairs it.
  @Test(arguments: [false, true]) func everyBitIsRepaired(_ isCopy: Bool) async throws {
    let engine = MemoryEngine()
    let (name, other) =
      isCopy
      ? (SystemRecord.Name.keyRingCopy, SystemRecord.Name.keyRing)
      : (SystemRecord.Name.keyRing, SystemRecord.Name.keyRingCopy)
    let first = try await KeyRingStore(engine).open(settings: EncryptionSettings()) { _ in root }
    let record = try #require(try await engine.record(name)?.content)
    try await engine.commit(WriteBatch([.put("value", kept)]), from: StoreOrigin())
    var changes = (0..<record.count * 8).map { bit in
      var changed = record
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      return changed
    }
    changes += (0..<record.count).map { Data(record.prefix($0)) }
    for changed in changes {
      try await engine.commit(WriteBatch([.putRecord(name, changed)]), from: StoreOrigin())
      let revision = engine.latestRevision
      let opened = try await open(engine)
      #expect(opened.ring == first.ring && engine.latestRevision == revision.next)
      #expect(try await engine.record(name)?.content == record)
    }
    #expect(try await engine.record(other)?.content == record)
    #expect(try await engine.entry("value")?.value == kept)
  }

  /// Every damaged byte of the page with both records, in a real database. A bit of a record is repaired from the
  /// other one. A bit of the page's structure can be damage of both; it is never a wrong key, another ring or none.
  @Test func aDamagedDatabaseIsNoticed() async throws {
    let folder = try TemporaryDirectory()
    let (store, spare) = (folder.path("store.db"), folder.path("spare/store.db"))
    try FileManager.default.createDirectory(atPath: folder.path("spare"), withIntermediateDirectories: false)
    let engine = try await SQLiteEngine.open(at: store)
    let first = try await KeyRingStore(engine).open(settings: EncryptionSettings()) { _ in root }
    let record = try #require(try await engine.record(.keyRing)?.content)
    try await engine.commit(WriteBatch([.put("value", kept)]), from: StoreOrigin())
    try await engine.close()
    let file = try Data(contentsOf: URL(fileURLWithPath: store))
    let copy = try #require(file.range(of: record))
    let other = try #require(file.range(of: record, in: copy.upperBound..<file.endIndex))
    let page = copy.lowerBound / 4_096 * 4_096
    var lost = 0
    for offset in page..<page + 4_096 where isProving || offset % 8 == 0 || offset < page + 24 {
      var damaged = file
      damaged[offset] ^= 1 << UInt8(offset / 8 % 8)
      try damaged.write(to: URL(fileURLWithPath: spare))
      for end in ["-wal", "-shm", "-wake"] { try? FileManager.default.removeItem(atPath: spare + end) }
      do {
        let engine = try await SQLiteEngine.open(at: spare)
        #expect(try await open(engine).ring == first.ring, "byte \(offset)")
        #expect(try await open(ReadOnlyEngine(engine)).ring == first.ring)
        #expect(try await engine.entry("value")?.value == kept)
        try await engine.close()
      } catch let error as StorageError {
        #expect(error.code == .damaged, "byte \(offset): \(error)")
        #expect(!copy.contains(offset) && !other.contains(offset), "byte \(offset)")
        lost += 1
      }
    }
    #expect(lost <= 24, "\(lost) bytes of the page make the ring unreadable")
  }
}
