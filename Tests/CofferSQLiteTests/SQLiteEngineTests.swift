import CofferCore
import CofferSQLite
import Foundation
import Testing

@Suite struct SQLiteEngineTests {
  @Test func valuesSurviveReopening() async throws {
    let directory = try TemporaryDirectory()
    let origin = Origin()
    let key = try Key("theme")
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let commit = try await engine.commit(WriteBatch([.put(key, Data("dark".utf8))]), from: origin)
    #expect(commit.revision == Revision(1))
    #expect(engine.latestRevision == Revision(1))
    try await engine.close()
    let again = try await SQLiteEngine.open(at: directory.path("store.db"))
    let entry = try await again.entry(key)
    #expect(entry?.value == Data("dark".utf8))
    #expect(entry?.revision == Revision(1))
    try await again.close()
  }

  @Test func manyWritersShareCommits() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<64 {
        group.addTask {
          let origin = Origin()
          for index in 0..<20 {
            let key = try Key("w\(writer)/\(index)")
            _ = try await engine.commit(
              WriteBatch([.put(key, Data("\(index)".utf8))], durability: index % 2 == 0 ? .full : .relaxed),
              from: origin)
          }
        }
      }
      try await group.waitForAll()
    }
    print("64x20", ContinuousClock.now - start)
    #expect(engine.latestRevision == Revision(1280))
    let count = try await engine.withSnapshot { snapshot in
      try await snapshot.page(prefix: Key("w"), after: nil, limit: 10_000).count
    }
    #expect(count == 1280)
    try await engine.close()
  }
}

/// A directory that goes away with its owner.
final class TemporaryDirectory: Sendable {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
