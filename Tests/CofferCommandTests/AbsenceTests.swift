import CofferTestSupport
import Foundation
import Testing

/// "There is no store" is said only of a place that was looked at and found empty.
@Suite("Absence needs proof", .serialized)
struct AbsenceTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A place, and how a command that reads from it must end.
  struct Place: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let store: String
    let status: Int32
    let text: String
    var prepare = "true"
    /// Takes away what lets root read and write everything.
    var by = ""
  }

  private static let long = String(repeating: "d", count: 200)
  private static let none = "There is no store at this path."

  static let places = [
    Place(testDescription: "nothing there", store: "none.db", status: 3, text: none),
    Place(testDescription: "no directory either", store: "none/none/none.db", status: 3, text: none),
    Place(testDescription: "an empty file", store: "empty", status: 3, text: none, prepare: "touch empty"),
    Place(
      testDescription: "a path longer than SQLite takes", store: "\(long)/\(long)/\(long)/a.db", status: 1,
      text: "bytes; SQLite takes up to",
      prepare: "mkdir -p \(long)/\(long)/\(long); coffer set a 1 --store a.db; cp a.db \(long)/\(long)/\(long)"),
    Place(
      testDescription: "a name that is too long", store: long + long, status: 1, text: "The path leads nowhere."),
    Place(
      testDescription: "a path that is too long", store: String(repeating: "/d", count: 3_000), status: 1,
      text: "The path leads nowhere."),
    Place(
      testDescription: "a file for a directory", store: "f/a.db", status: 1,
      text: "There is a file where a directory should be.", prepare: "touch f"),
    Place(
      testDescription: "a file for a directory above", store: "f/d/a.db", status: 1,
      text: "There is a file where a directory should be.", prepare: "touch f"),
    Place(
      testDescription: "a link that leads nowhere", store: "link", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere/a.db link"),
    Place(
      testDescription: "a link above that leads nowhere", store: "link/d/a.db", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere link"),
    Place(
      testDescription: "a loop of links", store: "loop", status: 1, text: "leads nowhere", prepare: "ln -s loop loop"),
    Place(
      testDescription: "a directory that may not be searched", store: "d/a.db", status: 1, text: "ermission denied",
      prepare: "mkdir d; coffer set a 1 --store d/a.db; chmod 000 d", by: unprivileged),
    Place(testDescription: "files: nothing there", store: "file:none", status: 3, text: none),
    Place(
      testDescription: "files: a directory without a store", store: "file:d", status: 3, text: none,
      prepare: "mkdir d"),
    Place(
      testDescription: "files: a plain file", store: "file:f", status: 1, text: "f is no directory",
      prepare: "touch f"),
    Place(
      testDescription: "files: a link that leads nowhere", store: "file:link", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere link"),
    Place(
      testDescription: "files: a directory that may not be searched", store: "file:d", status: 1,
      text: "refuses access", prepare: "coffer set a 1 --store file:d; chmod 000 d", by: unprivileged),
    Place(testDescription: "preferences: nothing there", store: "prefs:p", status: 3, text: "no preferences"),
    Place(
      testDescription: "preferences: a file for the directory", store: "prefs:p", status: 1,
      text: "There is a file where a directory should be.", prepare: "touch .config"),
    Place(
      testDescription: "preferences: a link that leads nowhere", store: "prefs:p", status: 1, text: "leads nowhere",
      prepare: "mkdir .config; ln -s /nowhere .config/p.plist"),
    Place(testDescription: "sealed: nothing there", store: "sealed:none/s", status: 3, text: none),
    Place(
      testDescription: "sealed: a file for the directory", store: "sealed:f/s", status: 1,
      text: "There is a file where a directory should be.", prepare: "touch f"),
    Place(
      testDescription: "sealed: a link above that leads nowhere", store: "sealed:link/s", status: 1,
      text: "leads nowhere", prepare: "ln -s /nowhere link"),
  ]

  @Test("Status 3 only after a look", arguments: places)
  func look(_ place: Place) async throws {
    guard place.by.isEmpty || canLosePrivileges else {
      return print("Not checked: \(place.testDescription), for want of setpriv.")
    }
    let prepared = try await sandbox.bash("umask 077; printf 'open sesame' > words; \(place.prepare)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    defer { chmod(sandbox.path("d"), 0o700) }
    let options = place.store.hasPrefix("sealed:") ? "--passphrase-file words" : ""
    for command in ["get a", "ls", "info", "verify"] {
      let ended = try await sandbox.bash("\(place.by) coffer \(command) --store '\(place.store)' \(options)")
      #expect(ended.status == place.status, "\(command): \(ended.errors)")
      #expect(ended.errors.contains(place.text) && ended.text.isEmpty, "\(command): \(ended.text)\(ended.errors)")
      #expect(ended.errors.contains("creates it") == (place.status == 3), "\(ended.errors)")
    }
    let copied = try await sandbox.bash("\(place.by) coffer cp '\(place.store)' memory: \(options)")
    #expect(copied.status == place.status, "\(copied.errors)")
  }

  private static let seal =
    "umask 077; printf 'open sesame' > words; printf s3cret | coffer set a - --store sealed:s --passphrase-file words"

  @Test("Without HOME, XDG and a bus every home works that needs none of them")
  func bare() async throws {
    let root = sandbox.url.path
    let prepared = try await sandbox.bash(
      "coffer set a 1 --store a.db && coffer set a 2 --store file:f && \(Self.seal)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    let service = "test-\(UUID().uuidString)"
    for (store, value) in [
      ("\(root)/a.db", "1"), ("file:\(root)/f", "2"), ("sealed:\(root)/s", "s3cret"),
      ("keychain:\(service)+sealed:\(root)/s", "s3cret"),
    ] {
      let line = "env -i \"$(command -v coffer)\" get a --store '\(store)' --passphrase-file words"
      let ended = try await sandbox.bash(line)
      #expect(ended.status == 0 && ended.text == value, "\(store): \(ended.errors)")
    }
    for store in ["prefs:p", "keychain:\(service)"] {
      let ended = try await sandbox.bash("env -i \"$(command -v coffer)\" get a --store '\(store)'")
      #expect(ended.status == 1 && ended.errors.contains("does not say where"), "\(store): \(ended.errors)")
    }
  }

  @Test("A chain without HOME begins its sealed file, and says that there is none only where there is none")
  func chain() async throws {
    let service = "test-\(UUID().uuidString)"
    let coffer = "env -i \"$(command -v coffer)\""
    let store = "--store 'keychain:\(service)+sealed:\(sandbox.path("s"))' --passphrase-file words"
    try await sandbox.bash("umask 077; printf 'open sesame' > words")
    #expect(try await sandbox.bash("\(coffer) get a \(store)").status == 3)
    let begun = try await sandbox.bash("printf s3cret | \(coffer) set a - \(store) && \(coffer) get a \(store)")
    #expect(begun.status == 0 && begun.text == "s3cret", "\(begun.errors)")
    #expect(try await sandbox.bash("\(coffer) get b \(store)").status == 3)
    let info = try await sandbox.bash("\(coffer) info --json \(store)").json()
    #expect((info["chain"] as? NSDictionary)?["reason"] as? String == "it holds secrets already")
  }

  @Test("A missing passphrase says nothing of the store")
  func passphrase() async throws {
    let prepared = try await sandbox.bash("\(Self.seal); mkdir run; printf x > run/coffer-passphrase")
    try #require(prepared.status == 0, "\(prepared.errors)")
    let none = try await sandbox.bash("coffer get a --store sealed:s --passphrase-file none")
    #expect(none.status == 2 && none.errors.contains("there is no file none"), "\(none.errors)")
    let blocked = try await sandbox.bash("coffer get a --store sealed:s --passphrase-file words/none")
    #expect(blocked.status == 1 && blocked.errors.contains("it does not exist"), "\(blocked.errors)")
  }
}

/// Starts a program of root's without the right to read and write everything.
let unprivileged = getuid() == 0 ? "setpriv --bounding-set -dac_override,-dac_read_search" : "env"

/// Whether the rights of files can be tried here.
let canLosePrivileges = getuid() != 0 || FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")
