import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Handles that were opened before their store was encrypted as a whole.
@Suite(.timeLimit(.minutes(5))) struct PlainHandleTests {
  private func put(_ key: KeyName, _ text: String, in engine: any StorageEngine) async throws {
    try await engine.commit(WriteBatch([.put(key, Data(text.utf8))]), from: StoreOrigin())
  }

  @Test("A handle in plain stores nothing once an encryption has begun", arguments: TestedStore.with(.plain))
  func refusal(_ kind: TestedStore) async throws {
    let directory = try TemporaryDirectory()
    let plain = try await kind.open(in: directory.url)
    try await put("a", "1", in: plain)
    // An encryption that was begun and not finished.
    _ = try await KeyRingStore(plain).open(settings: EncryptionSettings(), ifMissing: .createForPlainValues) { _ in
      try .forTests()
    }
    for isFinished in [false, true] {
      if isFinished { #expect(try await plain.encrypting().isComplete) }
      let error = try await storageError { try await put("secret", "text in plain", in: plain) }
      #expect(error.code == .keyUnavailable && error.key == "secret", "\(error)")
      #expect(error.message.contains("opened without its key"))
    }
    #expect(try await plain.entry("secret") == nil)
    let encrypted = try await plain.encrypted()
    let both = WriteBatch([.delete("a"), .put("b", Data("2".utf8))])
    #expect(try await storageError { try await plain.commit(both, from: StoreOrigin()) }.code == .keyUnavailable)
    #expect(try await encrypted.text("a") == "1")
    try await encrypted.put("b", "2")
    #expect(try await encrypted.text("b") == "2")
    try await plain.commit(WriteBatch([.delete("b")]), from: StoreOrigin())
    #expect(try await encrypted.text("b") == nil)
    for file in try FileManager.default.subpathsOfDirectory(atPath: directory.url.path) {
      let bytes = (try? Data(contentsOf: directory.url.appendingPathComponent(file))) ?? Data()
      #expect(bytes.range(of: Data("text in plain".utf8)) == nil, "\(file)")
    }
    _ = try await encrypted.rotate().result()
    #expect(try await storageError { try await put("c", "3", in: plain) }.code == .keyUnavailable)
    #expect(try await plain.decrypting().isComplete)
    try await put("c", "3", in: plain)
    #expect(try await plain.entry("c")?.value == Data("3".utf8))
  }

  @Test("So does one beside declared keys, unless all values are encrypted", arguments: TestedStore.with(.plain))
  func declared(_ kind: TestedStore) async throws {
    let directory = try TemporaryDirectory()
    let plain = try await kind.open(in: directory.url)
    let some = try await plain.encrypted(only: { $0 == "token" }, ifMissing: .create)
    try await some.put("token", "1")
    try await put("theme", "dark", in: plain)
    #expect(try await some.text("theme") == "dark")
  }

  @Test("A transaction of SQL in plain is refused, too")
  func transaction() async throws {
    let directory = try TemporaryDirectory()
    let plain = try await SQLiteEngine.open(at: directory.path("store.db"))
    let encrypted = try await plain.encrypted(ifMissing: .create)
    try await encrypted.put("a", "1")
    let error = try await storageError {
      try await plain.transact(TransactionHeader(origin: StoreOrigin(), durability: .full)) {
        try $0.put("b", Data("2".utf8))
      }
    }
    #expect(error.code == .keyUnavailable && error.key == "b")
    #expect(try await plain.entry("b") == nil)
  }

  @Test("A lost key ring does not hold back who gives the values up")
  func lostRing() async throws {
    let plain = MemoryEngine()
    try await plain.encrypted(ifMissing: .create).put("a", "1")
    try await plain.commit(
      WriteBatch([.deleteRecord(.keyRing), .clear(prefix: nil)]), from: StoreOrigin())
    try await put("b", "2", in: plain)
    #expect(try await plain.entry("b") != nil)
  }
}
