import Coffer
import CofferTestSupport
import Foundation
import Testing

/// Tests of the commands on encrypted stores whose key ring is gone with their journal.
@Suite("Lost key rings", .serialized)
struct LostKeyRingTests {
  /// What happens to the journal, in which the key ring is.
  enum Loss: String, CaseIterable, Sendable {
    case emptied, deleted, deletedDirectory, olderPutBack
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let store: String
    let loss: Loss
    let hidesNames: Bool

    var testDescription: String { "\(store), \(loss.rawValue)\(hidesNames ? ", hidden names" : "")" }
    /// The control directory of the store.
    var control: String { store == "file:f" ? "f/.coffer" : ".config/.coffer-preferences/shop" }
  }

  static let cases = Loss.allCases.enumerated().flatMap { index, loss in
    ["file:f", "prefs:shop"].map { Case(store: $0, loss: loss, hidesNames: (index % 2 == 0) == ($0 == "file:f")) }
  }

  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  private func lose(_ lost: Case) throws {
    let control = sandbox.path(lost.control)
    switch lost.loss {
    case .deletedDirectory: try FileManager.default.removeItem(atPath: control)
    case .emptied, .deleted, .olderPutBack:
      for suffix in ["", "-wal", "-shm", "-wake"] {
        try? FileManager.default.removeItem(atPath: control + "/journal.db" + suffix)
      }
      if lost.loss == .emptied { try Data().write(to: URL(fileURLWithPath: control + "/journal.db")) }
      guard lost.loss == .olderPutBack else { return }
      for suffix in ["", "-wake"] {
        try FileManager.default.copyItem(
          atPath: sandbox.path("older.db" + suffix), toPath: control + "/journal.db" + suffix)
      }
    }
  }

  @Test("Every command says that the ring was lost, and none replaces an envelope", arguments: cases)
  func everyCommand(_ lost: Case) async throws {
    let store = lost.store
    try await sandbox.coffer("set", "token", "s3cret-value", "--store", store)
    for suffix in ["", "-wake"] {
      try FileManager.default.copyItem(
        atPath: sandbox.path(lost.control + "/journal.db" + suffix), toPath: sandbox.path("older.db" + suffix))
    }
    let made = try await sandbox.coffer(
      ["encrypt", store, "--key-file", key] + (lost.hidesNames ? ["--hide-names"] : []))
    try #require(made.status == 0, "\(made.errors)")
    try lose(lost)
    let before = try await doctor(store)
    #expect(before.status == 1 && before.text.contains("key ring was lost"), "\(before.text) \(before.errors)")
    let commands = [
      ["get", "token", "--store", store], ["get", "token", "--store", store, "--read-only"],
      ["set", "token", "new", "--store", store], ["ls", "--store", store], ["verify", "--store", store],
      ["get", "token", "--store", "encrypted:" + store, "--key-file", key],
      ["set", "token", "new", "--store", "encrypted:" + store, "--key-file", key],
      ["encrypt", store, "--key-file", key], ["decrypt", store, "--yes", "--key-file", key],
      ["rotate", store, "--key-file", key], ["rekey", store, "--key-file", key, "--to-key-file", key],
      ["cp", store, "copy.db"], ["cp", "other.db", store],
      ["watch", "--since", "0", "--count", "1", "--store", store],
      ["watch", "--since", "0", "--count", "1", "--store", store, "--read-only"],
    ]
    try await sandbox.coffer("set", "token", "of another", "--store", "other.db")
    for command in commands {
      let ended = try await sandbox.coffer(command)
      #expect(ended.status == 1 && ended.words.contains("key ring was lost"), "\(command): \(ended.errors)")
      #expect(!ended.words.contains("Omit 'encrypted:'"), "\(command): \(ended.errors)")
      #expect(ended.output.range(of: Data("CENV".utf8)) == nil, "\(command)")
    }
    let info = try await sandbox.coffer("info", "--store", store, "--json")
    #expect(try info.status == 1 && info.json()["keyRingLost"] as? Bool == true, "\(info.text) \(info.errors)")
    let after = try await doctor(store)
    #expect(after.status == 1 && after.text.contains("key ring was lost"), "\(after.text)")
    // Nothing was replaced: with the journal of the time, the value is read.
    if !lost.hidesNames {
      let removed = try await sandbox.coffer("rm", "token", "--store", store)
      #expect(removed.status == 0, "\(removed.errors)")
      #expect(try await sandbox.coffer("get", "token", "--store", store).status == 3)
      #expect(try await sandbox.coffer("verify", "--store", store).status == 0)
      #expect(try await sandbox.coffer("set", "token", "new", "--store", store).status == 0)
    } else {
      let removed = try await sandbox.coffer("rm", "token", "--store", store)
      #expect(removed.status == 1 && removed.words.contains("key ring was lost"), "\(removed.errors)")
    }
  }

  private func doctor(_ store: String) async throws -> EndedProgram { try await sandbox.coffer("doctor", store) }

  @Test(
    "The journal that was put back opens the values, which nothing has replaced", arguments: ["file:f", "prefs:shop"])
  func putBack(_ store: String) async throws {
    let lost = Case(store: store, loss: .deletedDirectory, hidesNames: true)
    try await sandbox.coffer("set", "token", "s3cret", "--store", store)
    try await sandbox.coffer("encrypt", store, "--key-file", key, "--hide-names")
    try FileManager.default.copyItem(atPath: sandbox.path(lost.control), toPath: sandbox.path("kept"))
    try lose(lost)
    #expect(try await sandbox.coffer("set", "token", "new", "--store", store).status == 1)
    try FileManager.default.removeItem(atPath: sandbox.path(lost.control))
    try FileManager.default.moveItem(atPath: sandbox.path("kept"), toPath: sandbox.path(lost.control))
    let read = try await sandbox.coffer("get", "token", "--store", store, "--key-file", key)
    #expect(read.text == "s3cret", "\(read.errors)")
  }

  @Test("A value that begins like an envelope is an ordinary one, as long as the journal says so")
  func lookalike() async throws {
    let value = Data([0xFF]) + Data("CENV and more".utf8)
    for store in ["file:f", "prefs:shop", "plain.db"] {
      #expect(try await sandbox.coffer("set", "a", "-", "--store", store, input: value).status == 0)
      #expect(try await sandbox.coffer("get", "a", "--store", store).output == value)
      #expect(try await sandbox.coffer("verify", "--store", store).status == 0)
      let long = String(repeating: "long", count: 60)
      #expect(try await sandbox.coffer("set", long, "-", "--store", store, input: value).status == 0)
      let checked = try await doctor(store)
      #expect(checked.status == 0 && checked.text.contains("2 keys"), "\(checked.text)")
      #expect(try await sandbox.coffer("set", "a", "other", "--store", store).status == 0)
    }
  }
}
