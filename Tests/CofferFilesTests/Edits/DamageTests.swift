import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Bytes that change without a write to the file, as a failing disk would change them.
@Suite(.serialized) struct DamageTests {
  private let size = 4_096

  // Requirement 0.32
  @Test func damageIsNamedKeptAndReportedOnce() async throws {
    let directory = try StoreDirectory()
    let reports = Locked<[DamageReport]>([])
    let configure: (inout SlotEngine.Configuration) -> Void = {
      $0.onDamage = { report in reports.withLock { $0.append(report) } }
    }
    let engine = try await directory.open(configure)
    var batch = WriteBatch()
    for index in 0..<10 { batch.put(try KeyName("key\(index)"), Data(repeating: UInt8(index), count: size)) }
    try await engine.commit(batch, from: StoreOrigin())
    let log = OwnLog(engine)
    try damage(directory.file("key7"))

    for _ in 0..<2 { await expectError(.damaged, contains: "key7") { _ = try await engine.entry(KeyName("key7")) } }
    #expect(try await engine.entry(KeyName("key8"))?.value == Data(repeating: 8, count: size))
    // A listing returns the entries before the damage, throws an error that names the key, and can continue after it.
    let first = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
    #expect(first.last?.key.string == "key6")
    await expectError(.damaged, contains: "key7") {
      _ = try await engine.withSnapshot { try await $0.page(prefix: nil, after: KeyName("key6"), limit: 100) }
    }
    let rest = try await engine.withSnapshot { try await $0.page(prefix: nil, after: KeyName("key7"), limit: 100) }
    #expect(rest.map(\.key.string) == ["key8", "key9"])
    #expect(reports.withLock { $0.map(\.key?.string) } == ["key7"])
    #expect(reports.withLock { $0.map(\.size) } == [size])

    var damaged = Data(repeating: 7, count: size)
    damaged[100] ^= 0x20
    let kept = try directory.names(in: "quarantine")
    #expect(kept.count == 1)
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.control("quarantine/\(kept.first ?? "")"))) == damaged)
    // It is not taken for an edit, either now or by the next open.
    try await engine.close()
    let again = try await directory.open(configure)
    await expectError(.damaged, contains: "key7") { _ = try await again.entry(KeyName("key7")) }
    try await again.commit(WriteBatch([.put(KeyName("key7"), Data("new".utf8))]), from: StoreOrigin())
    #expect(try await again.entry(KeyName("key7"))?.value == Data("new".utf8))
    #expect(again.latestRevision == StoreRevision(2))
    #expect(try directory.names(in: "quarantine") == kept)
    #expect(try log.commits().isEmpty)
    try await again.close()
  }

  /// A file touched without a change is protected by its new modification time.
  @Test func damageAfterATouchIsDamageToo() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let value = Data(repeating: 1, count: size)
    try await engine.commit(WriteBatch([.put(KeyName("key"), value)]), from: StoreOrigin())
    try await engine.close()
    #expect(utimensat(AT_FDCWD, try directory.file("key"), nil, 0) == 0)
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(try await again.entry(KeyName("key"))?.value == value)
    try damage(directory.file("key"))
    await expectError(.damaged) { _ = try await again.entry(KeyName("key")) }
    // A full scan does not take it for an edit either.
    try await again.commit(WriteBatch([.clear(prefix: KeyName("nothing"))]), from: StoreOrigin())
    await expectError(.damaged) { _ = try await again.entry(KeyName("key")) }
    #expect(again.latestRevision == StoreRevision(2))
    try await again.close()
  }

  /// A file truncated by damage keeps its modification time, so it is not an edit.
  @Test(arguments: [0, 1, 4_095]) func aFileThatHasLostItsEndIsDamaged(_ rest: Int) async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    try await engine.commit(WriteBatch([.put(KeyName("key"), Data(repeating: 1, count: size))]), from: StoreOrigin())
    let path = try directory.file("key")
    var status = stat()
    guard stat(path, &status) == 0, truncate(path, off_t(rest)) == 0,
      utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0
    else { throw TestFailure("truncate") }
    await expectError(.damaged, contains: "key") { _ = try await engine.entry(KeyName("key")) }
    try await engine.close()
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    await expectError(.damaged, contains: "key") { _ = try await again.entry(KeyName("key")) }
    #expect(again.latestRevision == StoreRevision(1))
    try await again.close()
  }

  /// Restoring an intact copy of the file repairs the value.
  @Test func aGoodCopyPutBackHeals() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let value = String(repeating: "x", count: size)
    try await engine.commit(WriteBatch([.put(KeyName("key"), Data(value.utf8))]), from: StoreOrigin())
    try damage(directory.file("key"))
    await expectError(.damaged) { _ = try await engine.entry(KeyName("key")) }
    try overwrite(directory.file("key"), value)
    let entry = try await engine.entry(KeyName("key"))
    #expect(entry?.value == Data(value.utf8) && entry?.revision == StoreRevision(1))
    try await engine.close()
  }

  /// Changes a byte and restores the modification time.
  private func damage(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw TestFailure("stat") }
    let file = open(path, O_RDWR)
    guard file >= 0 else { throw TestFailure("open") }
    defer { close(file) }
    var byte: UInt8 = 0
    guard pread(file, &byte, 1, 100) == 1 else { throw TestFailure("read") }
    byte ^= 0x20
    guard pwrite(file, &byte, 1, 100) == 1, futimens(file, [status.st_atim, status.st_mtim]) == 0 else {
      throw TestFailure("write")
    }
  }
}
