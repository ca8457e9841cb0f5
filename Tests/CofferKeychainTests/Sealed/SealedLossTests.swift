import CofferCore
import CofferCrypto
import CofferKeychain
import CofferLocks
import CofferSQLite
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Files of a store that are missing, older than the acknowledged state, or cannot be written.
@Suite(.blocking, .serialized) struct SealedLossTests {
  private let files = FileManager.default

  private func put(_ key: String, _ text: String, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try StoreKey(key), Data(text.utf8))]), from: StoreOrigin())
  }

  private func text(_ key: String, in engine: SlotEngine) async throws -> String? {
    try await engine.entry(StoreKey(key)).map { String(decoding: $0.value, as: UTF8.self) }
  }

  /// Changes the last byte, which is after the header.
  private func damage(_ path: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  @Test("A store whose sealed file is missing is damaged as long as any other file of it exists")
  func goneFile() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", "secret", into: engine)
    try await engine.close()
    try files.removeItem(at: fixture.url)
    for creates in [true, false] {
      try await expectError(.damaged, "cp ") { _ = try await fixture.open { $0.createsIfMissing = creates } }
    }
    try files.removeItem(atPath: fixture.control + "/journal.db")
    for creates in [true, false] {
      try await expectError(.damaged, "cp ") { _ = try await fixture.open { $0.createsIfMissing = creates } }
    }
  }

  @Test("A commit whose copy cannot be written throws")
  func copyThatCannotBeWritten() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", "1", into: engine)
    let copy = fixture.control + "/copy"
    try files.removeItem(atPath: copy)
    try files.createDirectory(atPath: copy + "/in the way", withIntermediateDirectories: true)
    do {
      try await put("token", "2", into: engine)
      Issue.record("no error was thrown")
    } catch let error as StorageError {
      #expect(error.description.contains("copy"), "\(error)")
      #expect(try await text("token", in: engine) == (error.code == .unfinished ? "2" : "1"), "\(error)")
    }
    try files.removeItem(atPath: copy)
    try await put("other", "3", into: engine)
    #expect(try await text("other", in: engine) == "3")
    #expect(files.fileExists(atPath: copy))
    try await engine.close()
  }

  /// Returns a store with a damaged file and an older copy: `changed` is outdated in it, and `added` is missing.
  private func withOlderCopy() async throws -> SealedFixture {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("kept", "1", into: engine)
    try await put("changed", "old", into: engine)
    try await put("removed", "x", into: engine)
    let older = try Data(contentsOf: URL(fileURLWithPath: fixture.control + "/copy"))
    try await put("changed", "new", into: engine)
    try await put("added", "new", into: engine)
    try await engine.commit(WriteBatch([.delete(StoreKey("removed"))]), from: StoreOrigin())
    try await engine.close()
    try older.write(to: URL(fileURLWithPath: fixture.control + "/copy"))
    try damage(fixture.path)
    return fixture
  }

  @Test("An older copy does not silently revert newer values")
  func olderCopy() async throws {
    let fixture = try await withOlderCopy()
    let told = Locked<[String]>([])
    for round in 0..<3 {
      let engine = try await fixture.open { $0.onDamage = { report in told.withLock { $0.append("\(report)") } } }
      #expect(try await text("kept", in: engine) == "1")
      for key in ["changed", "added"] {
        try await expectError(.damaged, key) { _ = try await engine.entry(StoreKey(key)) }
        try await engine.withSnapshot { snapshot in
          try await expectError(.damaged, key) { _ = try await snapshot.entries([StoreKey(key)]) }
        }
      }
      #expect(try await text("removed", in: engine) == nil)
      // The file is written again from the copy, and the loss remains recorded.
      if round == 1 { try await put("kept", "1", into: engine) }
      try await engine.close()
    }
    #expect(told.withLock { $0.contains { $0.contains("changed") } && $0.contains { $0.contains("added") } })
    let engine = try await fixture.open()
    try await put("changed", "again", into: engine)
    #expect(try await text("changed", in: engine) == "again")
    try await engine.commit(WriteBatch([.delete(StoreKey("added"))]), from: StoreOrigin())
    #expect(try await text("added", in: engine) == nil)
    try await engine.close()
  }

  @Test("A commit to a file that was damaged while the store is open keeps the losses recorded")
  func olderCopyUnderAnOpenStore() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("changed", "old", into: engine)
    let older = try Data(contentsOf: URL(fileURLWithPath: fixture.control + "/copy"))
    try await put("changed", "new", into: engine)
    try older.write(to: URL(fileURLWithPath: fixture.control + "/copy"))
    try damage(fixture.path)
    try await put("other", "x", into: engine)
    try await expectError(.damaged, "changed") { _ = try await engine.entry(StoreKey("changed")) }
    #expect(try await text("other", in: engine) == "x")
    try await engine.close()
  }

  @Test("A full disk is reported before the commit, and leaves nothing incomplete")
  func fullDisk() async throws {
    let directory = try TemporaryDirectory()
    guard getuid() == 0, let disk = try SmallDisk(at: directory.path("disk"), size: "3m") else {
      try Test.cancel("mounting a small file system needs root")
    }
    let file = URL(fileURLWithPath: disk.path + "/secrets.sealed")
    let engine = try await SlotEngine.sealed(at: file, passphrase: passphrase("x"), cost: cheap)
    var (acknowledged, failures) = (0, 0)
    for size in [40_000, 9_000, 2_000, 500] {
      failures = 0
      while failures < 3 {
        do {
          let value = Data(repeating: UInt8(truncatingIfNeeded: acknowledged), count: size)
          try await engine.commit(WriteBatch([.put(StoreKey("v\(acknowledged)"), value)]), from: StoreOrigin())
          acknowledged += 1
        } catch let error as StorageError {
          #expect(error.code == .diskFull, "\(error)")
          failures += 1
        }
      }
    }
    #expect(acknowledged > 5)
    for index in 0..<acknowledged { #expect(try await engine.entry(StoreKey("v\(index)")) != nil) }
    #expect(try await engine.entry(StoreKey("v\(acknowledged)")) == nil)
    try await engine.close()
  }
}
