import Coffer
import CofferCore
import CofferTestSupport
import Foundation

/// A closed store with the values `k` and `other`, of which the bytes of `k` are damaged on the disk.
struct DamagedStore: Sendable {
  let directory: TemporaryDirectory
  let kind: TestedStore
  private let root: URL
  static let text = "the value that was written"

  /// Creates the store and damages it.
  /// - Parameters:
  ///   - root: the directory of the store; a temporary one by default.
  ///   - before: called with the open store before it is damaged.
  init(
    _ kind: TestedStore, key: String = "k", in directory: TemporaryDirectory, root: String? = nil,
    before: (any StorageEngine, TemporaryDirectory) async throws -> Void = { _, _ in }
  ) async throws {
    (self.kind, self.directory) = (kind, directory)
    self.root = root.map { URL(fileURLWithPath: $0) } ?? directory.url
    let engine = try await open()
    let store = TypedStore(engine: engine)
    try await store.save("older", for: key)
    // If a file with all values cannot be read, and its copy is from before the last commits, they are lost.
    let older = kind.copy(in: self.root)
    try await store.save(Self.text, for: key)
    try await store.save("intact", for: "other")
    try await before(engine, directory)
    try await engine.close()
    try await kind.damage(key, Self.text, copy: older, in: self.root)
  }

  func path(_ name: String) -> String { root.path + "/" + name }

  var location: StoreLocation { get async throws { try await kind.location(in: root) } }

  func open() async throws -> any StorageEngine { try await kind.open(in: root) }
}

/// The damaged stores of a test, whose directories stay until it ends.
final class DamagedStores: Sendable {
  private let directories = Locked<[TemporaryDirectory]>([])

  func make(
    _ kind: TestedStore, key: String = "k",
    before: (any StorageEngine, TemporaryDirectory) async throws -> Void = { _, _ in },
    in root: ((TemporaryDirectory) throws -> String)? = nil
  ) async throws -> DamagedStore {
    let directory = try TemporaryDirectory()
    directories.withLock { $0.append(directory) }
    return try await DamagedStore(kind, key: key, in: directory, root: try root?(directory), before: before)
  }
}
