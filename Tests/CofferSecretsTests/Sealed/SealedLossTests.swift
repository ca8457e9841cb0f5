import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Files of a store that are missing, older than the acknowledged state, or cannot be written.
@Suite(.blocking, .serialized) struct SealedLossTests {
  private let files = FileManager.default

  private func put(_ key: String, _ text: String, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try KeyName(key), Data(text.utf8))]), from: StoreOrigin())
  }

  private func text(_ key: String, in engine: SlotEngine) async throws -> String? {
    try await engine.entry(KeyName(key)).map { String(decoding: $0.value, as: UTF8.self) }
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

  @Test("A copy that cannot be written fails no commit, and the next one writes it")
  func copyThatCannotBeWritten() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", "1", into: engine)
    let copy = fixture.control + "/copy"
    try files.removeItem(atPath: copy)
    try files.createDirectory(atPath: copy + "/in the way", withIntermediateDirectories: true)
    try await put("token", "2", into: engine)
    #expect(try await engine.problems().contains { $0.contains("The copy") })
    try files.removeItem(atPath: copy)
    try await put("other", "3", into: engine)
    #expect(try await text("other", in: engine) == "3")
    #expect(files.contentsEqual(atPath: copy, andPath: fixture.path))
    try await engine.close()
  }

  @Test("An older copy that a kill has left is removed when the store is opened")
  func leftCopy() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", "1", into: engine)
    let (copy, older) = (fixture.control + "/copy", fixture.control + "/copy.new")
    let before = try Data(contentsOf: URL(fileURLWithPath: copy))
    try await put("token", "2", into: engine)
    #expect(!files.fileExists(atPath: older))
    try await engine.close()
    try before.write(to: URL(fileURLWithPath: older))
    try await fixture.open().close()
    #expect(!files.fileExists(atPath: older) && files.contentsEqual(atPath: copy, andPath: fixture.path))
  }

  @Test("A copy that a power loss has torn is written again when the store is opened")
  func tornCopy() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await put("token", "1", into: engine)
    try await engine.close()
    let copy = fixture.control + "/copy"
    for size in [0, 100] {
      #expect(truncate(copy, off_t(size)) == 0)
      try await fixture.open().close()
      #expect(files.contentsEqual(atPath: copy, andPath: fixture.path))
    }
    // Not from a damaged file, whose bytes it is to replace.
    try damage(fixture.path)
    try await fixture.open().close()
    #expect(!files.contentsEqual(atPath: copy, andPath: fixture.path))
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
    try await engine.commit(WriteBatch([.delete(KeyName("removed"))]), from: StoreOrigin())
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
        try await expectError(.damaged, key) { _ = try await engine.entry(KeyName(key)) }
        try await engine.withSnapshot { snapshot in
          try await expectError(.damaged, key) { _ = try await snapshot.entries([KeyName(key)]) }
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
    try await engine.commit(WriteBatch([.delete(KeyName("added"))]), from: StoreOrigin())
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
    try await expectError(.damaged, "changed") { _ = try await engine.entry(KeyName("changed")) }
    #expect(try await text("other", in: engine) == "x")
    try await engine.close()
  }
}
