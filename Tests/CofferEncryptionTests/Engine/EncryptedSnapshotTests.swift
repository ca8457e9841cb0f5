import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// A snapshot has the key ring of its own revision, whatever becomes of the ring while it is open.
@Suite("Snapshots of encrypted stores", .serialized) struct EncryptedSnapshotTests {
  private static let count = 12
  private static let settings = [EncryptionSettings(), .hidden]
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func fill(_ engine: any StorageEngine) async throws {
    for number in 0..<Self.count { try await engine.put(.known("k/\(number)"), "value \(number)") }
  }

  /// Reads everything in every way.
  private func check(_ snapshot: any StorageSnapshot) async throws {
    let keys = (0..<Self.count).map { KeyName.known("k/\($0)") }
    let values = (0..<Self.count).map { Data("value \($0)".utf8) }
    #expect(try await snapshot.entries(keys).map { $0?.value } == values)
    #expect(try await snapshot.page(prefix: "k/", after: nil, limit: 100).map(\.key) == keys.sorted())
    #expect(try await snapshot.allSummaries().map(\.key) == keys.sorted())
    #expect(try await snapshot.summary(of: keys[0])?.size == values[0].count)
  }

  @Test("Keys that are removed meanwhile are kept for it", arguments: TestedStore.with(.plain), settings)
  func rotation(_ kind: TestedStore, _ settings: EncryptionSettings) async throws {
    let engine = try await kind.open(in: directory.url).encrypted(settings)
    try await fill(engine)
    try await engine.withSnapshot { snapshot in
      for _ in 0..<2 { #expect(try await engine.rotate().result().isComplete) }
      try await engine.put("k/0", "another")
      try await check(snapshot)
    }
    #expect(try await engine.text("k/0") == "another")
    try await engine.close()
  }

  @Test("Its listing stays when the index of hidden names is brought up to date", arguments: [1, 40])
  func listing(_ changes: Int) async throws {
    let engine = try await MemoryEngine().encrypted(.hidden)
    try await fill(engine)
    try await engine.withSnapshot { snapshot in
      try await check(snapshot)
      for number in 0..<changes {
        try await engine.put("k/0", "rewritten \(number)")
        try await engine.put(.known("new/\(number)"), "1")
      }
      try await engine.commit(WriteBatch([.delete("k/1")]), from: StoreOrigin())
      try await engine.withSnapshot { newer in
        #expect(try await newer.allSummaries().count == Self.count - 1 + changes)
        let (single, listed) = (try await newer.summary(of: "k/0"), try await newer.allSummaries(prefix: "k/").first)
        #expect(single == listed)
        #expect(try #require(listed).revision > snapshot.revision)
      }
      try await check(snapshot)
      // An older snapshot derives its index backwards.
      let revisions = try await snapshot.allSummaries().map(\.revision)
      #expect(revisions.allSatisfy { $0 <= snapshot.revision })
    }
    try await engine.close()
  }

  /// An engine that runs a closure between the creation of a snapshot and its use.
  private final class LateEngine: EngineDecorator {
    let base: any StorageEngine
    private let hook = Locked<(@Sendable () async throws -> Void)?>(nil)

    init(_ base: any StorageEngine) { self.base = base }

    func afterNextSnapshot(_ body: @escaping @Sendable () async throws -> Void) { hook.withLock { $0 = body } }

    func withSnapshot<R: Sendable>(
      _ body: @Sendable (any StorageSnapshot) async throws -> R
    ) async throws -> R {
      try await base.withSnapshot { snapshot in
        try await hook.withLock { hook in
          defer { hook = nil }
          return hook
        }?()
        return try await body(snapshot)
      }
    }
  }

  @Test("Another process replaces the keys right after it is taken", arguments: settings, [true, false])
  func creation(_ settings: EncryptionSettings, _ isNoticed: Bool) async throws {
    let base = MemoryEngine()
    let late = LateEngine(base)
    let engine = try await late.encrypted(settings)
    let other = try await base.encrypted(settings)
    try await fill(engine)
    late.afterNextSnapshot {
      #expect(try await other.rotate().result().isComplete)
      if isNoticed { try await engine.put("noticed", "1") }
    }
    try await engine.withSnapshot { snapshot in
      let noticed = try await snapshot.entries(["noticed"])[0]
      // A snapshot that is older than the ring is replaced by a newer one.
      #expect(noticed == nil || isNoticed)
      if noticed == nil { try await check(snapshot) }
    }
    try await engine.close()
  }
}
