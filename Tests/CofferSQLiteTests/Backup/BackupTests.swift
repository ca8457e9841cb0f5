import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Backups of stores in use contain one state, are verified, and are published completely or not at all.
@Suite(.blocking, .serialized) struct BackupTests {
  private let origin = StoreOrigin()

  private func filled(_ path: String, values: Int = 200, size: Int = 500) async throws -> SQLiteEngine {
    let engine = try await SQLiteEngine.open(at: path)
    for start in stride(from: 0, to: values, by: 50) {
      let operations = try (start..<min(start + 50, values)).map { number in
        WriteBatch.Operation.put(
          try KeyName("k\(number)"), Data(repeating: UInt8(truncatingIfNeeded: number), count: size))
      }
      try await engine.commit(WriteBatch(operations, durability: .relaxed), from: origin)
    }
    return engine
  }

  private func names(_ directory: TemporaryDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path("copies")).sorted()
  }

  private func copies(_ directory: TemporaryDirectory) throws {
    try FileManager.default.createDirectory(atPath: directory.path("copies"), withIntermediateDirectories: false)
  }

  @Test func aBackupIsAStoreOfItsOwn() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"))
    let heard = Locked<[BackupProgress]>([])
    let report = try await engine.backup(to: directory.path("copies/a.db")) { progress in
      heard.withLock { $0.append(progress) }
    }
    #expect(report.values == 200 && report.valueBytes == 100_000 && report.revision == engine.latestRevision)
    #expect(try names(directory) == ["a.db"], "a backup is one file")
    let size = try FileManager.default.attributesOfItem(atPath: report.path)[.size] as? NSNumber
    #expect(size?.intValue == report.fileBytes)
    let progress = heard.withLock { $0 }
    #expect(progress.contains { $0.phase == .copying } && progress.last?.phase == .verifying)
    #expect(progress.last.map { $0.bytes == $0.totalBytes } == true)
    // The backup does not contain later commits.
    try await engine.commit(WriteBatch([.delete(KeyName("k1"))]), from: origin)
    let copy = try await SQLiteEngine.open(at: report.path)
    #expect(try await copy.entry(KeyName("k1"))?.value == Data(repeating: 1, count: 500))
    try await copy.commit(WriteBatch([.put(KeyName("new"), Data())]), from: origin)
    #expect(try await engine.entry(KeyName("new")) == nil)
    for engine in [engine, copy] { try await engine.close() }
  }

  @Test func aBackupUnderThreeWritingProcessesIsOfOneState() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"), values: 4_000, size: 2_000)
    let writers = try (0..<3).map { try HelperProcess(["write", engine.path, "relaxed", "w\($0)"]) }
    for writer in writers { while try writer.line()?.hasPrefix("ack 20") == false {} }
    for round in 0..<3 {
      let report = try await engine.backup(to: directory.path("copies/\(round).db"))
      let copy = try await SQLiteEngine.open(at: report.path)
      #expect(copy.latestRevision >= report.revision)
      for name in ["w0", "w1", "w2"] {
        let (left, right) = try await copy.withSnapshot { snapshot in
          let left = try await snapshot.page(prefix: KeyName("\(name)/left/"), after: nil, limit: .max)
          return (left, try await snapshot.page(prefix: KeyName("\(name)/right/"), after: nil, limit: .max))
        }
        #expect(left.count > 20 && left.map(\.value) == right.map(\.value), "half a batch of \(name)")
        // The writer commits its numbers in order, so one state contains each number up to the last.
        #expect(Set(left.map(\.key.string)) == Set((0..<left.count).map { "\(name)/left/\($0)" }))
      }
      try await copy.close()
    }
    for writer in writers { writer.stop() }
    try await engine.close()
  }

  @Test func anExistingFileIsReplacedOnlyWhenAllowed() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"), values: 1)
    let target = directory.path("copies/a.db")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: target))
    let error = await #expect(throws: StorageError.self) { try await engine.backup(to: target) }
    #expect(error?.code == .preconditionFailed)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("mine".utf8))
    #expect(try await engine.backup(to: target, overwrite: true).values == 1)
    #expect(try names(directory) == ["a.db"])
    for wrong in [engine.path, directory.path("copies"), directory.path("none/a.db"), ""] {
      await #expect(throws: StorageError.self, "\(wrong)") { try await engine.backup(to: wrong, overwrite: true) }
    }
    // A store that is open is not overwritten.
    let other = try await filled(directory.path("copies/open.db"), values: 1)
    let refusal = await #expect(throws: StorageError.self) { try await engine.backup(to: other.path, overwrite: true) }
    #expect(refusal?.code == .preconditionFailed)
    for engine in [engine, other] { try await engine.close() }
  }

  @Test func aFullDiskLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    guard let disk = try SmallDisk(at: directory.path("copies"), size: "1m") else { return }
    let engine = try await filled(directory.path("store.db"), values: 1_000, size: 4_000)
    let error = await #expect(throws: StorageError.self) { try await engine.backup(to: disk.path + "/a.db") }
    #expect(error?.code == .diskFull && error?.location.contains("copies/a.db") == true, "\(error.debugDescription)")
    #expect(try names(directory) == [])
    #expect(try await engine.entry(KeyName("k1")) != nil)
    try disk.resize(to: "32m")
    #expect(try await engine.backup(to: disk.path + "/a.db").values == 1_000)
    try await engine.close()
  }

  @Test func aDamagedPageIsNamedAndLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let path = directory.path("store.db")
    try await filled(path, values: 1_000).close()
    try flip(path, at: 40 * 4_096 + 100)
    let engine = try await SQLiteEngine.open(at: path)
    let error = await #expect(throws: StorageError.self) { try await engine.backup(to: directory.path("copies/a.db")) }
    #expect(error?.code == .damaged && error?.message.contains("Page 41") == true, "\(error.debugDescription)")
    #expect(error?.location == engine.description)
    #expect(try names(directory) == [])
    try await engine.close()
  }

  @Test func aDamagedValueIsNamedAndLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"), values: 100)
    try sql("UPDATE coffer_values SET value = x'00' WHERE key = CAST('k7' AS BLOB)", on: engine.path)
    let error = await #expect(throws: StorageError.self) { try await engine.backup(to: directory.path("copies/a.db")) }
    #expect(error?.code == .damaged && error?.key?.string == "k7", "\(error.debugDescription)")
    try sql("DELETE FROM coffer_values WHERE key = CAST('k7' AS BLOB)", on: engine.path)
    let missing = await #expect(throws: StorageError.self) {
      try await engine.backup(to: directory.path("copies/a.db"))
    }
    #expect(missing?.code == .damaged && missing?.message.contains("values, 99") == true, "\(missing.debugDescription)")
    #expect(try names(directory) == [])
    try await engine.close()
  }

  @Test func aCancelledBackupLeavesNothing() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"), values: 2_000, size: 4_000)
    let begun = AsyncStream.makeStream(of: Void.self)
    let isCancelled = DispatchSemaphore(value: 0)
    let target = directory.path("copies/a.db")
    let task = Task {
      try await engine.backup(to: target) { _ in
        begun.continuation.yield()
        #expect(isCancelled.wait(timeout: .now() + 60) == .success)
        isCancelled.signal()  // for the steps that follow
      }
    }
    for await _ in begun.stream { break }
    task.cancel()
    isCancelled.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try names(directory) == [])
    try await engine.close()
  }

  /// Files that a killed process left beside the target do not prevent a backup.
  @Test func whatAKilledBackupHasLeftIsRemoved() async throws {
    let directory = try TemporaryDirectory()
    try copies(directory)
    let engine = try await filled(directory.path("store.db"), values: 10)
    for suffix in ["", "-journal", "-wal"] {
      try Data(repeating: 7, count: 5_000).write(
        to: URL(fileURLWithPath: directory.path("copies/.a.db.coffer-backup\(suffix)")))
    }
    #expect(try await engine.backup(to: directory.path("copies/a.db")).values == 10)
    #expect(try names(directory) == ["a.db"])
    try await engine.close()
  }
}

/// Flips one bit of a file.
func flip(_ path: String, at offset: UInt64) throws {
  let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
  defer { try? file.close() }
  try file.seek(toOffset: offset)
  let byte = try #require(try file.read(upToCount: 1)?.first)
  try file.seek(toOffset: offset)
  try file.write(contentsOf: Data([byte ^ 0x10]))
}

/// Runs statements through plain SQLite, like another program.
func sql(_ text: String, on path: String) throws {
  var handle: OpaquePointer?
  defer { sqlite3_close_v2(handle) }
  guard sqlite3_open(path, &handle) == SQLITE_OK, sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else {
    throw TestFailure(String(cString: sqlite3_errmsg(handle)))
  }
}
