import Coffer
import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferTestSupport
import Foundation

/// A closed store with the values `k` and `other`, of which the bytes of `k` are damaged on the disk.
struct DamagedStore: Sendable {
  enum Kind: String, CaseIterable, Sendable { case database, files, preferences, sealed }

  let directory: TemporaryDirectory
  let kind: Kind
  private let root: String
  static let text = "the value that was written"

  /// Creates the store and damages it.
  /// - Parameters:
  ///   - root: the directory of the store; a temporary one by default.
  ///   - before: called with the open store before it is damaged.
  init(
    _ kind: Kind, key: String = "k", in directory: TemporaryDirectory, root: String? = nil,
    before: (any StorageEngine, TemporaryDirectory) async throws -> Void = { _, _ in }
  ) async throws {
    (self.kind, self.directory, self.root) = (kind, directory, root ?? directory.url.path)
    let engine = try await open()
    let store = TypedStore(engine: engine)
    try await store.save("older", for: key)
    let older = copy.flatMap { FileManager.default.contents(atPath: $0) }
    try await store.save(Self.text, for: key)
    try await store.save("intact", for: "other")
    try await before(engine, directory)
    try await engine.close()
    switch kind {
    case .database: try flip(path("store"))
    case .files: try flip(path("store/\(key)"))
    case .preferences, .sealed:
      // The file cannot be read, and its copy is from before the last commits: they are lost.
      guard let copy, let older else { throw TestFailure("no copy") }
      try older.write(to: URL(fileURLWithPath: copy))
      try Data("garbage".utf8).write(to: URL(fileURLWithPath: file))
    }
  }

  func path(_ name: String) -> String { root + "/" + name }

  var location: StoreLocation {
    switch kind {
    case .database: .sqlite(path: path("store"))
    case .files: .files(directory: path("store"))
    case .preferences: .preferences(suite: "com.example.damage")
    case .sealed: .sealed(path: path("store"))
    }
  }

  private var file: String {
    kind == .preferences ? path("config/com.example.damage.plist") : path("store")
  }

  private var copy: String? {
    switch kind {
    case .database, .files: nil
    case .preferences: path("config/.coffer-preferences/com.example.damage/copy")
    case .sealed: path("store.coffer/copy")
    }
  }

  func open() async throws -> any StorageEngine {
    var options = StoreOptions()
    options.passphrase = { _ in .provided { Data("correct horse".utf8) } }
    let system = SystemDirectories(bundleIdentifier: nil, processName: "damage") { name in
      name == "XDG_CONFIG_HOME" ? path("config") : nil
    }
    return try await SystemDirectories.$current.withValue(system) { try await location.open(options) }
  }
}

/// The damaged stores of a test, whose directories stay until it ends.
final class DamagedStores: Sendable {
  private let directories = Locked<[TemporaryDirectory]>([])

  func make(
    _ kind: DamagedStore.Kind, key: String = "k",
    before: (any StorageEngine, TemporaryDirectory) async throws -> Void = { _, _ in },
    in root: ((TemporaryDirectory) throws -> String)? = nil
  ) async throws -> DamagedStore {
    let directory = try TemporaryDirectory()
    directories.withLock { $0.append(directory) }
    return try await DamagedStore(kind, key: key, in: directory, root: try root?(directory), before: before)
  }
}

/// Changes one bit of the value and restores the date of the file, as a failing disk would.
func flip(_ path: String) throws {
  let text = Data(DamagedStore.text.utf8)
  var status = stat()
  guard let range = FileManager.default.contents(atPath: path)?.range(of: text), stat(path, &status) == 0 else {
    throw TestFailure("\(path) does not hold the value")
  }
  let file = open(path, O_WRONLY)
  defer { close(file) }
  var byte = text[3] ^ 0x20
  guard pwrite(file, &byte, 1, off_t(range.lowerBound + 3)) == 1,
    futimens(file, [status.st_atim, status.st_mtim]) == 0
  else { throw TestFailure("write") }
}
