import CofferCore
import CofferCrypto
import CofferDatabase
import CofferKeychain
import CofferLocks
import CofferSQLite
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// What a person can do who writes to the files of a store and does not know its passphrase.
@Suite(.serialized) struct SealedTamperTests {
  private let files = FileManager.default

  /// A store whose secret `token` was replaced, with the staged file that its first version had.
  private func rotated() async throws -> (place: SealedPlace, version: SlotID, staged: Data) {
    let place = try SealedPlace()
    let kept = Locked<(name: String, bytes: Data)?>(nil)
    let folder = place.control + "/staged/"
    let engine = try await place.open { configuration in
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
    return (place, try #require(SlotID(found.name)), found.bytes)
  }

  private func put(_ key: String, _ text: String, into engine: SlotEngine) async throws {
    try await engine.commit(WriteBatch([.put(try StoreKey(key), Data(text.utf8))]), from: StoreOrigin())
  }

  private func record(_ id: SlotID) -> Data {
    SlotRecord(id: id, checksum: 0, size: 0, stamp: SlotStamp(id.owner, id.number)).encoded
  }

  private func journal(of place: SealedPlace) async throws -> SQLiteEngine {
    try await SQLiteEngine.open(at: place.control + "/journal.db", configuration: .slotJournal(named: "journal"))
  }

  @Test("A replaced secret that is planted in the open store under another name is not read")
  func plantedUnderAnotherName() async throws {
    let (place, version, staged) = try await rotated()
    let engine = try await place.open()
    #expect(try await engine.entry(StoreKey("motd"))?.value == Data("hello".utf8))
    try staged.write(to: URL(fileURLWithPath: place.control + "/staged/\(version)"))
    let journal = try await journal(of: place)
    try await journal.commit(WriteBatch([.put(StoreKey("motd"), record(version))]), from: StoreOrigin())
    try await journal.close()
    try await expectError(.damaged, "motd") {
      let entry = try await engine.entry(StoreKey("motd"))
      Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
    }
    #expect(try await engine.entry(StoreKey("token"))?.value == Data("the new secret".utf8))
    try? await engine.close()
  }

  @Test("A replaced secret that waits for its place by a planted row does not get there")
  func plantedIntent() async throws {
    let (place, version, staged) = try await rotated()
    try staged.write(to: URL(fileURLWithPath: place.control + "/staged/\(version)"))
    let journal = try await journal(of: place)
    try await SQLiteDatabase(engine: journal).write { transaction in
      try transaction.execute(
        "INSERT INTO coffer_intents (revision, key, staged, previous) VALUES (99, ?1, ?2, NULL)",
        [.blob(Data("motd".utf8)), .blob(version.data)])
      try transaction.put(try StoreKey("motd"), record(version))
    }
    try await journal.close()
    let engine = try await place.open()
    try await expectError(.damaged, "motd") {
      let entry = try await engine.entry(StoreKey("motd"))
      Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
    }
    #expect(try await engine.entry(StoreKey("token"))?.value == Data("the new secret".utf8))
    try await put("motd", "written again", into: engine)
    #expect(try await engine.entry(StoreKey("motd"))?.value == Data("written again".utf8))
    try? await engine.close()
  }

  @Test("A kept version that is planted under another name is not read by a snapshot")
  func plantedForASnapshot() async throws {
    let (place, version, staged) = try await rotated()
    let engine = try await place.open()
    let journal = try await journal(of: place)
    try await journal.commit(WriteBatch([.put(StoreKey("motd"), record(version))]), from: StoreOrigin())
    try await journal.close()
    try staged.write(to: URL(fileURLWithPath: place.control + "/retained/\(version)"))
    try await engine.withSnapshot { snapshot in
      try await expectError(.damaged, "motd") {
        let entry = try await snapshot.entries([StoreKey("motd")])[0]
        Issue.record("\(entry.map { String(decoding: $0.value, as: UTF8.self) } ?? "nothing") was read")
      }
    }
    try? await engine.close()
  }
}

extension SlotID {
  fileprivate var data: Data { withUnsafeBytes(of: (owner.bigEndian, number.bigEndian)) { Data($0) } }
}
