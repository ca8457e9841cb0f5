import Coffer
import CofferCore
import CofferFileSystem
import CofferTerminal
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@testable import CofferCommand

/// A decorator that forwards everything.
private final class Passing: EngineDecorator {
  let base: any StorageEngine
  init(_ base: any StorageEngine) { self.base = base }
}

@Suite("Commands over decorated engines", .serialized)
struct DecoratedTests {
  private let folder: TemporaryDirectory
  private var passphrase: String { folder.path("passphrase") }
  private var value: String { folder.path("value") }

  init() throws {
    folder = try TemporaryDirectory()
    try Data("correct horse battery".utf8).write(to: URL(fileURLWithPath: passphrase))
    chmod(passphrase, 0o600)
    try Data("dark\n".utf8).write(to: URL(fileURLWithPath: value))
  }

  /// Runs a command in this process, with two decorators around each engine that it opens.
  private func coffer(_ words: [String], at location: String? = nil) async throws -> CofferTerminal.ExitStatus {
    let stores = location.map { ["--store", $0] } ?? []
    let sealing = (words + [location ?? ""]).contains { $0.hasPrefix("sealed:") }
    let arguments = words + stores + (sealing ? ["--passphrase-file", passphrase] : [])
    let home = folder.url.path
    let directories = SystemDirectories(variable: { $0 == "HOME" ? home : nil })
    return try await SystemDirectories.$current.withValue(directories) {
      try await OpenedEngine.$decoration.withValue(.init { Passing(FaultInjectingEngine($0)) }) {
        try await CofferCommand.run(Invocation(parsing: arguments))
      }
    }
  }

  private func has(_ key: String, at location: String) async throws -> Bool {
    do {
      return try await coffer(["get", key], at: location) == .ok
    } catch let error as CommandError where error.status == .notFound {
      return false
    }
  }

  /// Writes the manifest of an application that declares `theme` in the store, and returns its path.
  private func declaration(of location: String) throws -> String {
    let text = ["type": "Data", "catalog": "", "domain": "a store", "serializer": "data", "owner": "Tests"]
    let more = ["name": "theme", "store": location, "security": "none", "description": "", "sync": "never"]
    var entry: [String: Any] = text.merging(more) { $1 }
    entry["availability"] = "everywhere"
    for flag in ["hasDefault", "hasMigration", "isSensitive"] { entry[flag] = false }
    let keys: [String: Any] = ["format": 1, "application": "shop", "catalogs": [String](), "entries": [entry]]
    let path = folder.path("keys.json")
    try JSONSerialization.data(withJSONObject: keys).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test(
    "set, get, ls, info, verify, watch, audit, backup, restore, cp and rm work over two decorators",
    arguments: ["", "file:", "sealed:", "prefs:"])
  func commands(_ scheme: String) async throws {
    let location = scheme + (scheme == "prefs:" ? "com.example.shop" : folder.path("store"))
    let backup = folder.path("backup")
    #expect(try await coffer(["set", "theme", "--file", value], at: location) == .ok)
    #expect(try await has("theme", at: location))
    #expect(try await !has("none", at: location))
    let watch = ["watch", "--since", "0", "--count", "1"]
    for words in [["ls", "--long"], ["info"], ["verify"], watch, ["backup", backup], ["rm", "theme"]] {
      #expect(try await coffer(words, at: location) == .ok, "\(words)")
    }
    // The audit takes no passphrase, so it cannot read a sealed file.
    let isSealed = scheme == "sealed:"
    #expect(try await coffer(["audit", try declaration(of: location)]) == (isSealed ? .failure : .ok))
    #expect(try await !has("theme", at: location))
    #expect(try await coffer(["restore", backup, "--yes"], at: location) == .ok)
    #expect(try await has("theme", at: location))
    let copy = folder.path("copy.db")
    #expect(try await coffer(["cp", location, copy] + (isSealed ? ["--decrypt"] : [])) == .ok)
    let engine = try await SQLiteEngine.open(at: copy)
    #expect(try await engine.entry(KeyName("theme"))?.value.starts(with: Data("dark".utf8)) == true)
    try await engine.close()
  }
}
