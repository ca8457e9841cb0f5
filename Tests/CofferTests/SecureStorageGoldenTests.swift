import CofferCallbacks
import CofferTestTraits
import Foundation
import Testing

/// The stored form of names and values, which every version must open. `scripts/envelopes.py` has written it, without
/// any code of this package.
@Suite struct SecureStorageGoldenTests {
  private struct Sample: Codable {
    struct Item: Codable {
      let name: String
      /// The value, in Base64.
      let value: Data
      let isPadded: Bool
      /// The stored name and envelope.
      let stored: String
      let envelope: Data
    }
    let masterKey: String
    let context: String
    let items: [Item]
  }

  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Golden/secure-storage-1.json")

  private static let values: [(name: String, value: Data, isPadded: Bool)] = [
    ("2026-11-23", Data("Dear diary".utf8), false), ("", Data(), false), ("e\u{301}", Data("decomposed".utf8), false),
    ("\u{e9}", Data("composed".utf8), true), ("../a/b\n", Data((0..<200).map { UInt8($0) }), true),
  ]

  // Requirement 5.18
  @Test("Names and values of the first format open for ever") func opens() async throws {
    let sample = try JSONDecoder().decode(Sample.self, from: Data(contentsOf: Self.file))
    #expect(sample.items.map(\.name).map { Array($0.utf8) } == Self.values.map { Array($0.name.utf8) })
    let engine = MemoryEngine()
    for item in sample.items {
      try await engine.commit(WriteBatch([.put(KeyName(item.stored), item.envelope)]), from: StoreOrigin())
    }
    let storage = try SecureKeyValueStorage(
      engine: engine, masterKey: #require(MasterKey(base64Encoded: sample.masterKey)),
      context: #require(SecureKeyValueStorage.Context(sample.context)))
    for (item, expected) in zip(sample.items, Self.values) {
      #expect(try await storage.retrieve(for: item.name) == Bytes(expected.value), "\(item.name)")
      #expect(item.value == expected.value && item.isPadded == expected.isPadded)
    }
    // Replaced, not stored a second time under another name.
    try await storage.store([1], for: "2026-11-23")
    let count = try await engine.withSnapshot { try await $0.summaries(prefix: nil, after: nil, limit: 100).count }
    #expect(count == sample.items.count)
  }
}
