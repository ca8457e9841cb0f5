import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// A deleted journal that had what values must not be read without.
@Suite(.serialized) struct LostAttributesTests {
  @Test func aStoreThatLostExpiriesIsRefusedUntilTheLossIsAccepted() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let expired = ValueAttributes(expires: .now - 60)
    try await engine.commit(WriteBatch([.put("token", Data("old".utf8), expired)]), from: StoreOrigin())
    #expect(try await engine.entry("token") == nil)
    try await engine.close()
    for suffix in ["", "-wal", "-shm", "-wake"] {
      try? FileManager.default.removeItem(atPath: directory.control("journal.db" + suffix))
    }
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { try await directory.open() }
      #expect(error?.code == .damaged && error?.message.contains("expiry dates") == true)
    }
    #expect(!FileManager.default.fileExists(atPath: directory.control("journal.db")))
    try FileManager.default.removeItem(atPath: directory.control("attributes"))
    let accepted = try await directory.open()
    #expect(try await accepted.entry("token")?.value == Data("old".utf8))
    try await accepted.close()
  }

  /// Whatever is there says that there were such values: only a missing file says that there were none.
  @Test func aMarkThatIsNoFileIsRefused() async throws {
    let directory = try await StoreDirectory.filled()
    let mark = directory.control("attributes")
    let expiring = WriteBatch([.put("token", Data(), ValueAttributes(expires: .now + 3_600))])
    let engine = try await directory.open()
    for make in [{ mkfifo(mark, 0o600) }, { symlink("missing", mark) }, { mkdir(mark, 0o700) }] {
      try #require(make() == 0)
      await #expect(throws: StorageError.self) { try await engine.commit(expiring, from: StoreOrigin()) }
      try FileManager.default.removeItem(atPath: mark)
    }
    try await engine.close()
    for suffix in ["", "-wal", "-shm", "-wake"] {
      try? FileManager.default.removeItem(atPath: directory.control("journal.db" + suffix))
    }
    try #require(symlink("missing", mark) == 0)
    let error = await #expect(throws: StorageError.self) { try await directory.open() }
    #expect(error?.code == .damaged)
  }

  @Test func aStoreWithoutSuchValuesIsRebuilt() async throws {
    let directory = try await StoreDirectory.filled()
    #expect(!FileManager.default.fileExists(atPath: directory.control("attributes")))
  }
}
