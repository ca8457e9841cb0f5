import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import Foundation
import Testing

/// Attacks by writing to the files of a store without its passphrase.
@Suite(.serialized) struct SealedTamperTests {
  private let files = FileManager.default

  /// Returns a store whose secret `token` was replaced, and the staged file of its first version.
  private func rotated() async throws -> (fixture: SealedFixture, version: SlotID, staged: Data) {
    let fixture = try SealedFixture()
    let kept = Locked<(name: String, bytes: Data)?>(nil)
    let folder = fixture.control + "/staged/"
    let engine = try await fixture.open { configuration in
      configuration.atStep = { step in
        guard step == .committed, let name = try? FileManager.default.contentsOfDirectory(atPath: folder).first else {
          return
        }
        kept.withLock { kept in
          if kept == nil { kept = FileManager.default.contents(atPath: folder + name).map { (name, $0) } }
        }
      }
    }
    try await put("token", "the old secret", into: engine)
    try await put("token", "the new secret", into: engine)
    try await put("motd", "hello", into: engine)
    try await engine.close()
    let found = try #require(kept.withLock { $0 })
    return (fixture, try #require(SlotID(found.name)), found.bytes)
  }

  private func put(_ key: String, _ text: String, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try KeyName(key), Data(text.utf8))]), from: StoreOrigin())
  }

  private func record(_ id: SlotID) -> Data {
    SlotRecord(id: id, checksum: 0, size: 0, stamp: SlotStamp(id.owner, id.number)).encoded
  }

  private func journal(of fixture: SealedFixture) async throws -> SQLiteEngine {
    try await SQLiteEngine.open(at: fixture.control + "/journal.db", configuration: .slotJournal(named: "journal"))
  }

  @Test("A replaced secret that is planted under another key in the open store is not read")
  func plantedUnderAnotherName() async throws {
    let (fixture, version, staged) = try await rotated()
    let engine = try await fixture.open()
    #expect(try await engine.entry(KeyName("motd"))?.value == Data("hello".utf8))
    try staged.write(to: URL(fileURLWithPath: fixture.control + "/staged/\(version)"))
    let journal = try await journal(of: fixture)
    try await journal.commit(WriteBatch([.put(KeyName("motd"), record(version))]), from: StoreOrigin())
    try await journal.close()
    try await expectError(.damaged, "motd") {
      let entry = try await engine.entry(KeyName("motd"))
      Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
    }
    #expect(try await engine.entry(KeyName("token"))?.value == Data("the new secret".utf8))
    try? await engine.close()
  }

  @Test("A replaced secret that is staged by a planted row is not published")
  func plantedIntent() async throws {
    let (fixture, version, staged) = try await rotated()
    try staged.write(to: URL(fileURLWithPath: fixture.control + "/staged/\(version)"))
    let journal = try await journal(of: fixture)
    try await SQLiteDatabase(engine: journal).write { transaction in
      try transaction.execute(
        "INSERT INTO coffer_intents (revision, key, staged, previous) VALUES (99, ?1, ?2, NULL)",
        [.blob(Data("motd".utf8)), .blob(version.data)])
      try transaction.put(KeyName("motd"), record(version))
    }
    try await journal.close()
    let engine = try await fixture.open()
    try await expectError(.damaged, "motd") {
      let entry = try await engine.entry(KeyName("motd"))
      Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
    }
    #expect(try await engine.entry(KeyName("token"))?.value == Data("the new secret".utf8))
    try await put("motd", "written again", into: engine)
    #expect(try await engine.entry(KeyName("motd"))?.value == Data("written again".utf8))
    try? await engine.close()
  }

  @Test("A retained version that is planted under another key is not read by a snapshot")
  func plantedForASnapshot() async throws {
    let (fixture, version, staged) = try await rotated()
    let engine = try await fixture.open()
    let journal = try await journal(of: fixture)
    try await journal.commit(WriteBatch([.put(KeyName("motd"), record(version))]), from: StoreOrigin())
    try await journal.close()
    try staged.write(to: URL(fileURLWithPath: fixture.control + "/retained/\(version)"))
    try await engine.withSnapshot { snapshot in
      try await expectError(.damaged, "motd") {
        let entry = try await snapshot.entries([KeyName("motd")])[0]
        Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
      }
    }
    try? await engine.close()
  }
}

extension SlotID {
  fileprivate var data: Data { withUnsafeBytes(of: (owner.bigEndian, number.bigEndian)) { Data($0) } }
}
