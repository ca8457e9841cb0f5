import CofferCallbacks
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ExampleTests {
  /// The storage of this package, and one written with the printed declarations.
  static let storages: [() -> any KeyValueStorage] = [
    { EngineKeyValueStorage(engine: MemoryEngine()) }, { PrintedStorage() },
  ]

  // Requirements 3.1, 3.7, 3.11, 3.17
  @Test(arguments: [0, 1]) func theExamplesWork(index: Int) async throws {
    let storage = WatchedStorage(Self.storages[index]())
    #expect(await storage.answer(to: retrieveExample).value == nil)
    #expect(await storage.answer(to: storeExample).error == nil)
    #expect(await storage.answer(to: retrieveExample).value == Bytes("John Doe".utf8))
    #expect(await storage.answer(to: removeExample).error == nil)
    #expect(await storage.answer(to: retrieveExample).value == nil)
  }

  /// The results of a storage satisfy the postcondition, and therefore never the precondition printed above it.
  // Requirement 3.12
  @Test(arguments: [0, 1]) func thePrintedPreconditionWouldFail(index: Int) async {
    let storage = WatchedStorage(Self.storages[index]())
    let missing = await storage.answer(to: retrieveExample)
    #expect(missing.error != nil)
    #expect(!printedPrecondition(missing.value, missing.error))
    #expect(await storage.answer(to: storeExample).error == nil)
    let found = await storage.answer(to: retrieveExample)
    #expect(found.error == nil)
    #expect(!printedPrecondition(found.value, found.error))
  }

  @Test func aPrintedStorageServesTypedValues() async throws {
    let adapter = KeyValueStorageAdapter(PrintedStorage()) { $0 is PrintedStorage.NoSuchValue }
    let store = TypedStore(engine: AdapterEngine(adapter))
    #expect(try await store.load([Int].self, for: "numbers") == nil)
    try await store.save([1, 2, 3], for: "numbers")
    #expect(try await store.load([Int].self, for: "numbers") == [1, 2, 3])
    try await store.delete("numbers")
    try await store.delete("numbers")  // an error of the storage, but not of the adapter
    #expect(try await !store.exists("numbers"))
  }
}

/// Records the results that an example receives, since the examples do not return them.
final class WatchedStorage: KeyValueStorage {
  private let storage: any KeyValueStorage
  private var seen: ((Bytes?, Error?) -> Void)?

  init(_ storage: any KeyValueStorage) { self.storage = storage }

  /// Runs an example and returns the arguments of its completion, after the completion has returned.
  func answer(to example: (any KeyValueStorage) -> Void) async -> (value: Bytes?, error: Error?) {
    await withCheckedContinuation { continuation in
      seen = { continuation.resume(returning: ($0, $1)) }
      example(self)
    }
  }

  func store(value: Value, for key: String, finished: @escaping (_ error: Error?) -> Void) {
    storage.store(value: value, for: key, finished: telling(finished))
  }

  func retrieve(for key: String, finished: @escaping (_ value: Value?, _ error: Error?) -> Void) {
    let seen = seen
    storage.retrieve(for: key) {
      finished($0, $1)
      seen?($0, $1)
    }
  }

  func remove(for key: String, finished: @escaping (_ error: Error?) -> Void) {
    storage.remove(for: key, finished: telling(finished))
  }

  private func telling(_ finished: @escaping (Error?) -> Void) -> (Error?) -> Void {
    let seen = seen
    return {
      finished($0)
      seen?(nil, $0)
    }
  }
}
