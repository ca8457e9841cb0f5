import CofferTestSupport
import Foundation
import Testing

/// A database that was deleted while some of the files beside it were left.
@Suite("Files left by a deleted database", .serialized)
struct LeftoverTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private static let reads = [["get", "a"], ["ls"], ["verify"], ["info"]]

  /// The files that hold no data: every combination of them is no store, and the next write creates one.
  @Test(
    "Without a log there is no store, and the next write creates one",
    arguments: (1..<8).map { bits in ["-wake", "-shm", "-lock"].enumerated().filter { bits >> $0.offset & 1 == 1 } }
      .map { $0.map(\.element) })
  func withoutLog(_ left: [String]) async throws {
    try await sandbox.coffer("set", "a", "1")
    let files = ["", "-wal", "-shm", "-wake", "-lock"].filter { !left.contains($0) }.map { "store.db\($0)" }
    try await sandbox.bash("touch store.db-shm store.db-lock; rm -f \(files.joined(separator: " "))")
    for words in Self.reads {
      let ended = try await sandbox.coffer(words)
      #expect(ended.status == 3 && ended.errors.contains("There is no store at this path."), "\(words): \(ended)")
    }
    let doctor = try await sandbox.coffer("doctor", "store.db")
    #expect(doctor.status == 0 && doctor.text.contains("the first write creates it"), "\(doctor)")
    #expect(!sandbox.exists("store.db"))
    for number in ["2", "3"] {
      let set = try await sandbox.coffer("set", "b", number)
      #expect(set.status == 0 && set.errors.isEmpty, "\(set)")
      #expect(try await sandbox.coffer("get", "b").text == number)
    }
    #expect(try await sandbox.coffer("verify").status == 0)
    let info = try await sandbox.coffer("info", "--json").json()
    #expect(info["loss"] is NSNull || info["loss"] == nil, "\(info)")
  }

  @Test("A log with content is loss that every command reports", arguments: ["-wal", "-journal"])
  func withLog(_ suffix: String) async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.bash("rm store.db; printf content > store.db\(suffix)")
    for words in Self.reads + [["set", "a", "2"], ["get", "a", "--read-only"]] {
      let ended = try await sandbox.coffer(words)
      #expect(ended.status == 1, "\(words): \(ended)")
      #expect(ended.errors.contains("The database file is missing, but its \(suffix) file"), "\(words): \(ended)")
    }
    let doctor = try await sandbox.coffer("doctor", "store.db")
    #expect(doctor.status == 1 && doctor.text.contains("is missing, but its \(suffix) file"), "\(doctor)")
    #expect(!sandbox.exists("store.db"))
    try await sandbox.bash("rm store.db\(suffix)")
    #expect(try await sandbox.coffer("set", "a", "2").status == 0)
  }

  @Test("An emptied database is loss that every command reports")
  func emptied() async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.bash(": > store.db")
    for words in Self.reads + [["set", "a", "2"]] {
      let ended = try await sandbox.coffer(words)
      #expect(ended.status == 1 && ended.errors.contains("is empty, but it was not before"), "\(words): \(ended)")
    }
    let doctor = try await sandbox.coffer("doctor", "store.db")
    #expect(doctor.status == 1 && doctor.text.contains("is empty, but it was not before"), "\(doctor)")
  }

  @Test("The directories of a store can be entered whatever the umask is", arguments: ["0177", "0277", "0777"])
  func directories(_ umask: String) async throws {
    guard canLosePrivileges else { return print("Not checked: a umask, for want of setpriv.") }
    for store in ["d/e/store.db", "file:d/f", "prefs:p"] {
      let line = "umask \(umask); \(unprivileged) coffer set a 1 --store \(store)"
      let made = try await sandbox.bash(line)
      // Files keep what the umask leaves them, so that only the first of these can be read again.
      if umask == "0177" {
        #expect(made.status == 0, "\(store): \(made)")
        let read = try await sandbox.bash("\(unprivileged) coffer get a --store \(store)")
        #expect(read.text == "1", "\(store): \(read)")
      }
    }
    let modes = try await sandbox.bash("find d .config -type d -printf '%m %p\\n'")
    #expect(!modes.lines.isEmpty && modes.lines.allSatisfy { $0.hasPrefix("700 ") }, "\(modes)")
  }
}
