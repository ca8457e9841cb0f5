import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// An encrypted store and a plain one receive the same random batches.
@Suite("An encrypted store does what a plain one does", .serialized) struct EncryptedModelTests {
  @Test(arguments: [EncryptionSettings(), .hidden, .secret], [UInt64(1), 2, 3])
  func randomBatches(_ settings: EncryptionSettings, _ seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let (plain, base, origin) = (MemoryEngine(), MemoryEngine(), StoreOrigin())
    let engine = try await base.encrypted(settings)
    let heard = Collector(engine.changes(since: nil))
    var names: [[StoreCommit]] = [[], []]
    for _ in 0..<60 {
      let revisions = [
        try await plain.revisions(), try await engine.revisions(),
      ]
      let (first, second) = Self.batches(&random, revisions)
      let outcomes = [
        await Outcome { try await plain.commit(first, from: origin) },
        await Outcome { try await engine.commit(second, from: origin) },
      ]
      #expect(outcomes[0].code == outcomes[1].code)
      #expect(outcomes[0].key == outcomes[1].key)
      for index in 0..<2 { if let commit = outcomes[index].commit { names[index].append(commit) } }
      try await expectSame(plain, engine)
    }
    #expect(zip(names[0], names[1]).allSatisfy { $0.changed.normal == $1.changed.normal || $1.changed.isEmpty })
    let last = names[1].last { !$0.changed.isEmpty }
    let commits = try await heard.commits(upTo: last?.revision ?? .zero)
    let changing = names[1].filter { !$0.changed.isEmpty }
    let delivered = commits.filter { commit in changing.contains { $0.revision == commit.revision } }
    #expect(delivered.map(\.revision) == changing.map(\.revision))
    // A cleared prefix is delivered as the keys that it had.
    for (commit, delivered) in zip(changing.map(\.changed), delivered.map(\.changed)) {
      #expect(commit.isEverything == delivered.isEverything && Set(commit.keys).isSubset(of: delivered.keys))
    }
    try await engine.close()
  }

  private func expectSame(_ plain: MemoryEngine, _ engine: EncryptedEngine) async throws {
    for prefix in [nil, "a", "a/", "b", "\u{10FFFF}"] as [KeyName?] {
      let (listed, summaries) = try await engine.withSnapshot { snapshot in
        (try await snapshot.pages(prefix: prefix, size: 3), try await snapshot.allSummaries(prefix: prefix))
      }
      let expected = try await plain.withSnapshot { try await $0.pages(prefix: prefix, size: 3) }
      #expect(listed.map(\.key) == expected.map(\.key))
      #expect(listed.map(\.value) == expected.map(\.value))
      #expect(listed.map(\.attributes) == expected.map(\.attributes))
      #expect(summaries.map(\.key) == listed.map(\.key))
      #expect(summaries.map(\.revision) == listed.map(\.revision))
      #expect(summaries.map(\.attributes) == listed.map(\.attributes))
    }
  }

  private static let names = ["a", "a/1", "a/2", "a/\u{E9}", "b", "b/1", "A", "\u{10FFFF}x", "sealed"]

  /// Returns a random batch for each of two stores, whose preconditions are at their own revisions.
  private static func batches(
    _ random: inout SeededGenerator, _ revisions: [[KeyName: StoreRevision]]
  ) -> (WriteBatch, WriteBatch) {
    var batches = [WriteBatch(durability: .relaxed), WriteBatch(durability: .relaxed)]
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let name = KeyName.known(names.randomElement(using: &random) ?? "a")
      let value = Data((0..<Int.random(in: 0...40, using: &random)).map { UInt8($0) })
      var attributes = ValueAttributes()
      if Bool.random(using: &random) { attributes[ValueAttribute<UInt64>(applicationCode: 130)] = 7 }
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<11: for index in 0..<2 { batches[index].put(name, value, attributes) }
      case 11..<15: for index in 0..<2 { batches[index].delete(name) }
      case 15..<17: for index in 0..<2 { batches[index].clear(prefix: KeyName.known(String(name.string.prefix(2)))) }
      case 17: for index in 0..<2 where Int.random(in: 0..<4, using: &random) < 4 { batches[index].clear() }
      default:
        let isWrong = Int.random(in: 0..<4, using: &random) == 0
        for index in 0..<2 {
          batches[index].require(name, at: isWrong ? StoreRevision(77_777) : revisions[index][name])
        }
      }
    }
    return (batches[0], batches[1])
  }
}

/// What a commit returned.
private struct Outcome {
  var commit: StoreCommit?
  var code: StorageError.Code?
  var key: KeyName?

  init(_ body: () async throws -> StoreCommit) async {
    do { commit = try await body() } catch let error as StorageError {
      code = error.code
      key = error.key
    } catch { code = .inputOutput }
  }
}

extension StoreSelection {
  /// The selection without repeated keys.
  fileprivate var normal: Set<KeyName>? { isEverything ? nil : Set(keys).union(prefixes) }
}

extension StorageSnapshot {
  fileprivate func pages(prefix: KeyName?, size: Int) async throws -> [StoreEntry] {
    var all: [StoreEntry] = []
    while true {
      let page = try await page(prefix: prefix, after: all.last?.key, limit: size)
      if page.isEmpty { return all }
      all += page
    }
  }
}
