import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Changes to the files by programs that do not use Coffer.
@Suite(.blocking, .serialized) struct OutsideEditTests {
  enum Edit: String, CaseIterable, Sendable {
    case rewrittenInPlace, replacedByRename, deleted, created, hashedNameRewritten

    var key: String {
      switch self {
      case .created: "brandNew"
      case .hashedNameRewritten: FileScenario.longKey
      case .rewrittenInPlace, .replacedByRename, .deleted: "theme"
      }
    }

    /// The value after the edit; `nil` if it was removed.
    var value: String? { self == .deleted ? nil : "edited by hand: \(rawValue)" }

    func make(in directory: StoreDirectory) throws {
      let path = try directory.file(key)
      switch self {
      case .rewrittenInPlace, .created, .hashedNameRewritten: try overwrite(path, value ?? "")
      case .replacedByRename: try directory.replace(key, value ?? "")
      case .deleted: guard unlink(path) == 0 else { throw TestFailure("unlink") }
      }
    }
  }

  // Requirement 0.27
  @Test(arguments: Edit.allCases)
  func anEditIsHeardOnceByEverybody(_ edit: Edit) async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let (own, other) = (OwnLog(engine), try OtherLog(directory))
    try edit.make(in: directory)
    for log in [own, other] as [any ChangeLog] { try await log.wait(for: edit.key) }
    // A duplicate would be delivered before this later commit.
    try await engine.commit(WriteBatch([.put(KeyName("end"), Data())]), from: StoreOrigin())
    for log in [own, other] as [any ChangeLog] {
      try await log.wait(for: "end")
      #expect(
        try log.commits() == [
          HeardCommit(revision: 2, isForeign: true, keys: [edit.key]),
          HeardCommit(revision: 3, isForeign: false, keys: ["end"]),
        ])
    }
    #expect(try await engine.entry(KeyName(edit.key))?.value == edit.value.map { Data($0.utf8) })
    other.end()
    try await engine.close()
  }

  @Test(arguments: Edit.allCases)
  func aReadFindsAnEditAtOnceAndARequireFails(_ edit: Edit) async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let key = try KeyName(edit.key)
    let seen = try await engine.entry(key)
    try edit.make(in: directory)
    if edit != .deleted {
      await expectError(.preconditionFailed) {
        try await engine.commit(WriteBatch([.require(key, seen?.revision), .delete(key)]), from: StoreOrigin())
      }
    }
    let entry = try await engine.entry(key)
    #expect(entry?.value == edit.value.map { Data($0.utf8) })
    #expect(entry?.revision != seen?.revision)
    #expect(engine.latestRevision == StoreRevision(2))
    await expectError(.preconditionFailed) {
      try await engine.commit(WriteBatch([.require(key, seen?.revision), .delete(key)]), from: StoreOrigin())
    }
    try await engine.commit(
      WriteBatch([.require(key, entry?.revision), .put(key, Data("mine".utf8))]), from: StoreOrigin())
    #expect(try await engine.entry(key)?.value == Data("mine".utf8))
    try await engine.close()
  }

  @Test func editsWhileNobodyHasItOpenAreTakenInByTheNextOpen() async throws {
    let directory = try await StoreDirectory.filled()
    for edit in [Edit.replacedByRename, .created, .hashedNameRewritten] { try edit.make(in: directory) }
    unlink(try directory.file("gone"))
    let reports = Locked<[RecoveryReport]>([])
    let engine = try await directory.open {
      $0.onRecovery = { report in reports.withLock { $0.append(report) } }
    }
    let report = try #require(reports.withLock { $0.first })
    #expect(reports.withLock { $0.count } == 1)
    #expect(report.edited == 4 && report.completed == 0 && !report.wasRebuilt)
    for edit in [Edit.replacedByRename, .created, .hashedNameRewritten] {
      #expect(try await engine.entry(KeyName(edit.key))?.value == edit.value.map { Data($0.utf8) })
    }
    #expect(try await engine.entry(KeyName("gone")) == nil)
    let journal = try await commits(engine, after: StoreRevision(1))
    #expect(journal.allSatisfy { $0.origin == nil && $0.transaction == nil })
    let changed = Set(journal.flatMap(\.changed.keys).map(\.string))
    #expect(changed == ["theme", "brandNew", "gone", FileScenario.longKey])
    try await engine.close()
    // The second open has nothing to report.
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(again.latestRevision == engine.latestRevision)
    try await again.close()
  }

  /// A new modification time, or another file with the same bytes, is not a change.
  @Test func theSameBytesAreNoChange() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let log = OwnLog(engine)
    let path = try directory.file("theme")
    func run(_ program: String, _ arguments: String...) throws {
      let process = try Process.start(program, arguments)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
    func expectNothing(_ marker: String) async throws {
      #expect(try await engine.entry(KeyName("theme"))?.revision == StoreRevision(1))
      try await engine.commit(WriteBatch([.put(KeyName(marker), Data())]), from: StoreOrigin())
      try await log.wait(for: marker)
      #expect(try log.commits().allSatisfy { !$0.isForeign }, "after \(marker)")
      #expect(try await engine.entry(KeyName("theme"))?.value == Data("old theme".utf8))
    }
    try run("/bin/cp", "-p", path, directory.outside("backup"))
    try run("/usr/bin/touch", path)
    try await expectNothing("touch")
    // Without truncation: a reader between the two steps of cp would see an empty file, which is a change.
    try run("/bin/dd", "if=" + directory.outside("backup"), "of=" + path, "conv=notrunc", "status=none")
    try await expectNothing("copy")
    try run("/bin/mv", directory.outside("backup"), path)
    try await expectNothing("move")
    try await engine.close()
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(try await again.entry(KeyName("theme"))?.revision == StoreRevision(1))
    try await again.close()
  }

  /// The engine's own files in the watched directory are not reported as edits.
  @Test func ownWritesAreNeverTakenForEdits() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let (own, other) = (OwnLog(engine), try OtherLog(directory))
    let helper = try directory.run("files-write", "full", "other", "250")
    let origin = StoreOrigin()
    for index in 0..<250 {
      let batch = WriteBatch([.put(try KeyName("own/\(index % 10)"), Data("\(index)".utf8))])
      try await engine.commit(batch, from: origin)
    }
    #expect(try helper.lines().last == "ack 249")
    try await engine.commit(WriteBatch([.put(KeyName("end"), Data())]), from: origin)
    for log in [own, other] as [any ChangeLog] {
      try await log.wait(for: "end")
      let heard = try log.commits()
      #expect(heard.map(\.revision) == Array(1...501))
      #expect(heard.filter(\.isForeign).isEmpty)
    }
    other.end()
    try await engine.close()
  }
}
