import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// A temporary directory with a store, and methods to inspect it without Coffer.
final class StoreDirectory: Sendable {
  private let parent: TemporaryDirectory
  let url: URL
  var path: String { url.path }

  init() throws {
    parent = try TemporaryDirectory()
    url = parent.url.appendingPathComponent("store", isDirectory: true)
  }

  func open(_ configure: (inout SlotEngine.Configuration) -> Void = { _ in }) async throws -> SlotEngine {
    var configuration = SlotEngine.Configuration()
    configure(&configuration)
    return try await SlotEngine.files(in: url, configuration: configuration)
  }

  /// Creates a closed store with the values of the scenario.
  static func filled() async throws -> StoreDirectory {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    try await engine.commit(FileScenario.fill(), from: StoreOrigin())
    try await engine.close()
    return directory
  }

  /// Copies the store with its modification times, so that only the inodes differ.
  func copy() throws -> StoreDirectory {
    let directory = try StoreDirectory()
    let process = try Process.start("/bin/cp", ["-a", path, directory.path])
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("cp") }
    return directory
  }

  func file(_ key: String) throws -> String { path + "/" + FileName(try KeyName(key)).string }

  /// Replaces the file of a value by renaming a new one, as careful editors do.
  func replace(_ key: String, _ text: String) throws {
    try overwrite(outside("swap"), text)
    guard rename(outside("swap"), try file(key)) == 0 else { throw TestFailure("rename") }
  }

  /// A path beside the store: on the same file system but not part of the store.
  func outside(_ name: String) -> String { parent.path(name) }

  func control(_ name: String) -> String { path + "/.coffer/" + name }

  func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: control(folder)).sorted()
  }

  /// The contents of the files in the directory, by name.
  func contents() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where name != ".coffer" {
      contents[name] = try Data(contentsOf: url.appendingPathComponent(name))
    }
    return contents
  }

  func run(_ command: String, _ arguments: String..., fault: Bool = false) throws -> HelperProcess {
    let library = fault ? FaultLibrary.path ?? "" : nil
    let environment = library.map { [("LD_PRELOAD", $0), ("COFFER_FAULT_ROOT", path)] } ?? []
    return try HelperProcess([command, path] + arguments, environment: environment)
  }
}

/// The values of a store, by key.
func values(_ engine: SlotEngine) async throws -> [String: String] {
  try await engine.withSnapshot { snapshot in
    var values: [String: String] = [:]
    var last: KeyName?
    while true {
      let page = try await snapshot.page(prefix: nil, after: last, limit: 1_000)
      guard let end = page.last else { return values }
      for entry in page { values[entry.key.string] = String(decoding: entry.value, as: UTF8.self) }
      last = end.key
    }
  }
}

/// Returns the commits after a revision up to the newest, as a subscriber receives them.
func commits(_ engine: SlotEngine, after revision: StoreRevision) async throws -> [StoreCommit] {
  let latest = engine.latestRevision
  guard revision < latest else { return [] }
  let stream = engine.changes(since: revision)
  let reading = Task { () -> [StoreCommit] in
    var commits: [StoreCommit] = []
    for await change in stream {
      guard case .commit(let commit) = change else { throw TestFailure("received a reload") }
      commits.append(commit)
      if commit.revision >= latest { return commits }
    }
    throw TestFailure("the stream has ended after \(commits)")
  }
  return try await finish(reading, within: .seconds(60))
}

/// Overwrites a file in place, as `echo` does.
func overwrite(_ path: String, _ text: String) throws {
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
  guard file >= 0 else { throw TestFailure("open \(path): \(String(cString: strerror(errno)))") }
  defer { close(file) }
  let bytes = Array(text.utf8)
  guard write(file, bytes, bytes.count) == bytes.count else { throw TestFailure("write \(path)") }
}

func expectError(
  _ code: StorageError.Code, contains text: String = "", sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async {
  await expectStorageError(code, contains: text, at: "file:", sourceLocation: sourceLocation, body)
}
