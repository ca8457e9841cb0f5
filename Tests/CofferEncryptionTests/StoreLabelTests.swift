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

  private func open(_ file: String, _ label: String?) async throws -> EncryptedEngine {
    var configuration = EncryptedEngine.Configuration()
    configuration.label = label
    let base = try await SQLiteEngine.open(at: directory.path(file))
    return try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
  }

  private func make(_ file: String, _ label: String?, _ text: String) async throws {
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
    for label in ["b", "", "A", nil] {
      let error = try await storageError { _ = try await open("b.db", label) }
      #expect(error.code == .wrongLabel && error.message.contains("has the label 'a', not"), "\(error)")
      #expect(error.advice.contains("another store") && error.location.hasSuffix("b.db"), "\(error)")
    }
    // A copy of the same store opens wherever it is.
    #expect(try await open("b.db", "a").text("key") == "of a")
  }

  @Test("Rotating and writing keep the label")
  func kept() async throws {
    try await make("a.db", "a", "one")
    let engine = try await open("a.db", "a")
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

  @Test("By default the label is the kind and the name of the store, and an empty one is a label as well")
  func standard() async throws {
    try await make("a.db", nil, "one")
    #expect(try await open("a.db", "sqlite:a.db").text("key") == "one")
    try await make("b.db", "", "two")
    for (file, label) in [("a.db", ""), ("b.db", nil)] {
      await expectStorageError(.wrongLabel) { _ = try await open(file, label) }
    }
    await expectStorageError(.unsupported) { try await make("c.db", String(repeating: "é", count: 513), "three") }
    #expect(try await SQLiteEngine.open(at: directory.path("c.db")).summaries().isEmpty)
  }

  @Test(
    "The label of a location is its kind and its name",
    arguments: [
      ("sqlite:/var/lib/shop.db", "sqlite:shop.db"), ("file:/srv/shop/notes/", "file:notes"),
      ("prefs:com.example.shop", "prefs:com.example.shop"), ("memory:a", "memory:a"), ("memory", "memory:"),
      ("prefs:/var/lib/ann/.config/com.example.shop.plist", "prefs:com.example.shop"),
      ("postgresql://ann@a:5432,b/app?sslmode=verify-full&store=shop", "postgresql:app/shop"),
    ])
  func standard(_ location: String, _ label: String) { #expect(standardLabel(of: location) == label) }
}
