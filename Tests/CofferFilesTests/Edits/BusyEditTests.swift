import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Edits by other programs during concurrent commits.
@Suite(.blocking, .serialized) struct BusyEditTests {
  private let origin = StoreOrigin()

  @Test func anEditorBesideAWriterIsHeardEveryTime() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let (own, other) = (OwnLog(engine), try OtherLog(directory))
    let helper = try directory.run("files-write", "full", "busy", "300")
    for index in 1...100 {
      // Wait for each edit, since two edits between two scans are one change. Replace the file atomically, since a
      // half-written one could be read as a separate change.
      try directory.replace("hand", String(repeating: "x", count: index))
      try await own.wait(for: "hand", times: index)
      #expect(try await engine.entry(KeyName("hand"))?.value.count == index)
    }
    #expect(try helper.lines().last == "ack 299")
    try await engine.commit(WriteBatch([.put(KeyName("end"), Data())]), from: origin)
    for log in [own, other] as [any ChangeLog] {
      try await log.wait(for: "end")
      let heard = try log.commits()
      #expect(heard.map(\.revision) == Array(1...401))
      let foreign = heard.filter(\.isForeign)
      #expect(foreign.count == 100 && foreign.allSatisfy { $0.keys == ["hand"] }, "\(foreign)")
    }
    other.end()
    try await engine.close()
  }

  /// Two handles of one process receive the same file event.
  @Test func twoHandlesHearAnEditOnce() async throws {
    let directory = try await StoreDirectory.filled()
    let engines = [try await directory.open(), try await directory.open(), try await directory.open()]
    let logs = engines.map { OwnLog($0) }
    for index in 1...20 {
      try directory.replace("theme", String(repeating: "y", count: index))
      for log in logs { try await log.wait(for: "theme", times: index) }
    }
    try await engines[0].commit(WriteBatch([.put(KeyName("end"), Data())]), from: origin)
    for log in logs {
      try await log.wait(for: "end")
      #expect(try log.commits().map(\.revision) == Array(2...22))
    }
    // Closing one handle does not affect the others.
    try await engines[0].close()
    try overwrite(directory.file("theme"), "after the close")
    try await logs[1].wait(for: "theme", times: 21)
    for engine in engines { try await engine.close() }
  }

  /// Another program edits a value during a commit: one of the two remains, and every handle agrees on which.
  @Test func anEditorOfTheSameKeyAsTheWriter() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let key = KeyName("both")
    let editing = Task.detached {
      var random = SystemRandomNumberGenerator()
      for index in 1...200 {
        try directory.replace("both", "hand \(index)")
        try await suspend(upTo: .microseconds(800), using: &random)
      }
    }
    for index in 1...200 {
      try await engine.commit(WriteBatch([.put(key, Data("saved \(index)".utf8))]), from: origin)
      let read = try await engine.entry(key)
      #expect(read != nil)
    }
    try await finish(editing, within: .seconds(60))
    let entry = try #require(try await engine.entry(key))
    #expect(try directory.contents() == ["both": entry.value])
    #expect(try await values(engine) == ["both": String(decoding: entry.value, as: UTF8.self)])
    let journal = try await commits(engine, after: .zero)
    #expect(journal.count { $0.origin == origin } == 200)
    #expect(try directory.names(in: "staged") == [] && directory.names(in: "quarantine") == [])
    try await engine.close()
    let again = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(try await again.entry(key) == entry)
    try await again.close()
  }

  /// An edit in place, of the same size, right after a commit differs only in its modification time, which has a
  /// granularity of milliseconds on older systems. It is read as an edit or reported as damage, never overlooked.
  @Test func anEditRightAfterASaveIsNeverOverlooked() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    let key = KeyName("key")
    for index in 0..<100 {
      try await engine.commit(WriteBatch([.put(key, Data("mine \(index)".utf8))]), from: origin)
      try overwrite(directory.file("key"), "hand \(index)")
      do {
        #expect(try await engine.entry(key)?.value == Data("hand \(index)".utf8))
      } catch let error as StorageError where error.code == .damaged {
        continue
      }
    }
    try await engine.close()
  }
}
