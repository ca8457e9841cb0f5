import CofferCore
import CofferEncryption
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Stores with one root key, none of which can be put in place of another.
@Suite struct StoreLabelTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ file: String, _ label: String, others: [String] = []) async throws -> EncryptedEngine {
    var configuration = EncryptionConfiguration()
    configuration.setLabels([label] + others)
    let base = try await SQLiteEngine.open(at: directory.path(file))
    return try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
  }

  private func make(_ file: String, _ label: String, _ text: String) async throws {
    let engine = try await open(file, label)
    try await engine.put("key", text)
    try await engine.close()
  }

  @Test("A store that was put in place of another is refused")
  func exchanged() async throws {
    try await make("a.db", "a", "of a")
    try await make("b.db", "b", "of b")
    let backup = try Data(contentsOf: URL(fileURLWithPath: directory.path("a.db")))
    try backup.write(to: URL(fileURLWithPath: directory.path("b.db")))
    for label in ["b", "", "A"] {
      let error = try await storageError { _ = try await open("b.db", label) }
      #expect(error.code == .wrongLabel && error.advice.contains("another store"), "\(error)")
    }
    // A copy of the same store opens wherever it is.
    #expect(try await open("b.db", "a").text("key") == "of a")
  }

  @Test("Rotating and writing keep the label")
  func kept() async throws {
    try await make("a.db", "a", "one")
    let engine = try await open("a.db", "", others: ["a"])
    #expect(try await engine.text("key") == "one")
    _ = try await engine.rotate().result()
    try await engine.put("key", "two")
    try await engine.close()
    await expectStorageError(.wrongLabel) { _ = try await open("a.db", "") }
    #expect(try await open("a.db", "a").text("key") == "two")
    // Another root key is told from another label.
    let base = try await SQLiteEngine.open(at: directory.path("a.db"))
    await expectStorageError(.wrongPassphrase) { _ = try await base.encrypted(seed: "other") }
  }

  @Test("A store without a label does not open under one")
  func unlabelled() async throws {
    try await make("a.db", "", "one")
    await expectStorageError(.wrongLabel) { _ = try await open("a.db", "a") }
    #expect(try await open("a.db", "a", others: [""]).text("key") == "one")
    await expectStorageError(.wrongLabel) { _ = try await open("a.db", "a") }
  }

  @Test(
    "The label of a router's store is its kind and its name",
    arguments: [
      ("sqlite:/var/lib/shop.db", "sqlite:shop.db"), ("file:/srv/shop/notes/", "file:notes"),
      ("prefs:com.example.shop", "prefs:com.example.shop"), ("memory:a", "memory:a"), ("memory", "memory:"),
    ])
  func standard(_ location: String, _ label: String) { #expect(standardLabel(of: location) == label) }
}
