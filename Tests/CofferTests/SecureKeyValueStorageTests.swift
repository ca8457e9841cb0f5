import CofferCallbacks
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Document 3's secure storage: opaque names and encrypted values over any engine.
@Suite(.timeLimit(.minutes(5))) struct SecureKeyValueStorageTests {
  typealias Failure = SecureKeyValueStorage.Error

  private func context(_ text: String = "testings") throws -> SecureKeyValueStorage.Context {
    try #require(SecureKeyValueStorage.Context(text))
  }

  private func storage(
    _ engine: any StorageEngine, first: UInt8 = 1, _ text: String = "testings", pads: Bool = false
  ) throws -> SecureKeyValueStorage {
    let key = try #require(MasterKey(Data(first..<first + 32)))
    return try SecureKeyValueStorage(engine: engine, masterKey: key, context: context(text), padsValues: pads)
  }

  @Test("A key has 32 bytes, a context 8, and neither shows itself")
  func keys() throws {
    for count in [0, 31, 33, 64] { #expect(MasterKey(Data((0..<count).map { UInt8($0) })) == nil) }
    // As the root key of an encrypted store, it is not made of a few bytes that are repeated.
    let weak = [Data(count: 32), Data(repeating: 7, count: 32), Data((0..<32).map { $0 % 7 })]
    for bytes in weak {
      #expect(MasterKey(bytes) == nil && MasterKey(base64Encoded: bytes.base64EncodedString()) == nil)
    }
    #expect(MasterKey(Data((0..<32).map { $0 % 8 })) != nil)
    for text in ["", "seven77", "nine99999", "ééééé"] { #expect(SecureKeyValueStorage.Context(text) == nil) }
    #expect(SecureKeyValueStorage.Context("éééé") != nil)
    let key = try MasterKey()
    let text = key.base64EncodedString()
    #expect(MasterKey(base64Encoded: text)?.base64EncodedString() == text)
    #expect(try MasterKey().base64EncodedString() != text)
    #expect(!"\(key) \(String(reflecting: key))".contains(text) && Mirror(reflecting: key).children.isEmpty)
    #expect(MasterKey(base64Encoded: "no") == nil)
  }

  // Requirement 5.18
  @Test("Missing, stored, replaced, removed, missing again, as in the original's test")
  func sequence() async throws {
    let directory = try TemporaryDirectory()
    let database = try await SQLiteEngine.open(at: directory.path("store.db"))
    for engine in [database as any StorageEngine, MemoryEngine(), AdapterEngine(MemoryAdapter())] {
      for key in ["name", "", String(repeating: "long", count: 2_000), "e\u{301}", "\u{e9}"] {
        let storage = try storage(engine)
        await #expect(throws: Failure.valueDoesNotExist) { _ = try await storage.retrieve(for: key) }
        await #expect(throws: Failure.valueDoesNotExist) { try await storage.remove(for: key) }
        for value in [Bytes("first".utf8), [], Bytes(repeating: 7, count: 100_000)] {
          try await storage.store(value, for: key)
          #expect(try await storage.retrieve(for: key) == value)
        }
        try await storage.remove(for: key)
        await #expect(throws: Failure.valueDoesNotExist) { _ = try await storage.retrieve(for: key) }
      }
    }
    try await database.close()
  }

  // Requirement 5.18
  @Test("The store sees neither a name nor a value, and another key or context sees nothing")
  func opaque() async throws {
    let engine = MemoryEngine()
    let mine = try storage(engine)
    for index in 0..<50 { try await mine.store(Bytes("value of \(index)".utf8), for: "name of \(index)") }
    let entries = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
    #expect(entries.count == 50)
    for entry in entries {
      #expect(entry.key.size == 64 && entry.key.string.allSatisfy(\.isHexDigit))
      #expect(entry.value.range(of: Data("value".utf8)) == nil && entry.value.range(of: Data("name".utf8)) == nil)
    }
    for other in [try storage(engine, first: 2), try storage(engine, "testing2")] {
      await #expect(throws: Failure.valueDoesNotExist) { _ = try await other.retrieve(for: "name of 1") }
      try await other.store([1], for: "name of 1")
    }
    #expect(try await mine.retrieve(for: "name of 1") == Bytes("value of 1".utf8))
    let labelled = try SecureKeyValueStorage(
      engine: engine, masterKey: #require(MasterKey(Data(1..<33))), context: context(), label: "journal")
    await #expect(throws: Failure.valueDoesNotExist) { _ = try await labelled.retrieve(for: "name of 1") }
    try await labelled.store([2], for: "name of 1")
    #expect(try await labelled.retrieve(for: "name of 1") == [2])
    #expect(try await mine.retrieve(for: "name of 1") == Bytes("value of 1".utf8))
    let padded = try storage(engine, "paddings", pads: true)
    try await padded.store([1], for: "a")
    try await padded.store(Bytes(repeating: 1, count: 60), for: "b")
    #expect(try await padded.retrieve(for: "a") == [1])
    let added = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
    #expect(added.filter { $0.value.count == 144 }.count == 2, "two sizes in one bucket")
  }

  // Requirement 5.18
  @Test("Every changed byte, a cut value and one of another key are errors")
  func changed() async throws {
    let engine = MemoryEngine()
    let storage = try storage(engine)
    try await storage.store(Bytes("value".utf8), for: "a")
    let a = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 9) }[0]
    try await storage.store(Bytes("other".utf8), for: "b")
    func retrieve(_ stored: Data) async throws {
      try await engine.commit(WriteBatch([.put(a.key, stored)]), from: StoreOrigin())
      _ = try await storage.retrieve(for: "a")
    }
    for index in a.value.indices {
      var changed = a.value
      changed[index] ^= 1
      let error = await #expect(throws: (any Error).self, "byte \(index)") { try await retrieve(changed) }
      #expect(error as? Failure == .failedToDecrypt || (error as? StorageError)?.code == .newerFormat)
    }
    await #expect(throws: Failure.noContent) { try await retrieve(Data()) }
    for count in [1, 79] {
      await #expect(throws: Failure.responseTooSmall) { try await retrieve(a.value.prefix(count)) }
    }
    await #expect(throws: Failure.failedToDecrypt) { try await retrieve(a.value.dropLast()) }
    let all = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 9) }
    let b = all.first { $0.key != a.key }
    await #expect(throws: Failure.failedToDecrypt) { try await retrieve(#require(b).value) }
    try await retrieve(a.value)
  }

  @Test("Typed values work over it, and an error of the engine is one of the engine")
  func typed() async throws {
    let engine = MemoryEngine()
    let key = try #require(MasterKey(Data(1..<33)))
    let store = TypedStore(
      engine: AdapterEngine(
        KeyValueStorageAdapter(try SecureKeyValueStorage(engine: engine, masterKey: key, context: context()))))
    #expect(try await store.load(Int.self, for: "n") == nil)
    try await store.save(7, for: "n")
    #expect(try await store.load(Int.self, for: "n") == 7)
    try await store.delete("n")
    try await store.delete("n")
    try await engine.close()
    let closed = try storage(engine)
    await expectStorageError(.closed) { _ = try await closed.retrieve(for: "n") }
  }
}
