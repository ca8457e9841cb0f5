import CofferTestSupport
import Foundation
import Testing

/// A command reports that there is no store only after it has inspected the location.
@Suite("Absence needs proof", .serialized)
struct AbsenceTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A location, and the expected end of a command that reads from it.
  struct Condition: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let store: String
    let status: Int32
    let text: String
    var prepare = "true"
    /// A program that drops root's capability to bypass file permissions, or empty.
    var by = ""
  }

  private static let long = String(repeating: "d", count: 200)
  private static let none = "There is no store at this path."

  static let conditions = [
    Condition(testDescription: "no file", store: "none.db", status: 3, text: none),
    Condition(testDescription: "no directory either", store: "none/none/none.db", status: 3, text: none),
    Condition(testDescription: "an empty file", store: "empty", status: 3, text: none, prepare: "touch empty"),
    Condition(
      testDescription: "a path longer than SQLite takes", store: "\(long)/\(long)/\(long)/a.db", status: 1,
      text: "bytes; SQLite accepts at most",
      prepare: "mkdir -p \(long)/\(long)/\(long); coffer set a 1 --store a.db; cp a.db \(long)/\(long)/\(long)"),
    Condition(
      testDescription: "a name that is too long", store: long + long, status: 1, text: "The path leads nowhere."),
    Condition(
      testDescription: "a path that is too long", store: String(repeating: "/d", count: 3_000), status: 1,
      text: "The path leads nowhere."),
    Condition(
      testDescription: "a file for a directory", store: "f/a.db", status: 1,
      text: "There is a file where a directory should be: /", prepare: "touch f"),
    Condition(
      testDescription: "a file for a directory above", store: "f/d/a.db", status: 1,
      text: "There is a file where a directory should be: /", prepare: "touch f"),
    Condition(
      testDescription: "a link that leads nowhere", store: "link", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere/a.db link"),
    Condition(
      testDescription: "a link above that leads nowhere", store: "link/d/a.db", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere link"),
    Condition(
      testDescription: "a loop of links", store: "loop", status: 1, text: "leads nowhere", prepare: "ln -s loop loop"),
    Condition(
      testDescription: "a directory that may not be searched", store: "d/a.db", status: 1, text: "ermission denied",
      prepare: "mkdir d; coffer set a 1 --store d/a.db; chmod 000 d", by: unprivileged),
    Condition(testDescription: "files: nothing there", store: "file:none", status: 3, text: none),
    Condition(
      testDescription: "files: a directory without a store", store: "file:d", status: 3, text: none,
      prepare: "mkdir d"),
    Condition(
      testDescription: "files: a plain file", store: "file:f", status: 1, text: "f is not a directory",
      prepare: "touch f"),
    Condition(
      testDescription: "files: a link that leads nowhere", store: "file:link", status: 1, text: "leads nowhere",
      prepare: "ln -s /nowhere link"),
    Condition(
      testDescription: "files: a directory that may not be searched", store: "file:d", status: 1,
      text: "refuses access", prepare: "coffer set a 1 --store file:d; chmod 000 d", by: unprivileged),
    Condition(testDescription: "preferences: nothing there", store: "prefs:p", status: 3, text: "no preferences"),
    Condition(
      testDescription: "preferences: a file for the directory", store: "prefs:p", status: 1,
      text: "There is a file where a directory should be: /", prepare: "touch .config"),
    Condition(
      testDescription: "preferences: a link that leads nowhere", store: "prefs:p", status: 1, text: "leads nowhere",
      prepare: "mkdir .config; ln -s /nowhere .config/p.plist"),
    Condition(testDescription: "sealed: nothing there", store: "sealed:none/s", status: 3, text: none),
    Condition(
      testDescription: "sealed: a file for the directory", store: "sealed:f/s", status: 1,
      text: "There is a file where a directory should be: /", prepare: "touch f"),
    Condition(
      testDescription: "sealed: a link above that leads nowhere", store: "sealed:link/s", status: 1,
      text: "leads nowhere", prepare: "ln -s /nowhere link"),
  ]

  @Test("Status 3 requires an inspection", arguments: conditions)
  func look(_ condition: Condition) async throws {
    guard condition.by.isEmpty || canLosePrivileges else {
      return print("Not checked: \(condition.testDescription), for want of setpriv.")
    }
    let prepared = try await sandbox.bash("umask 077; printf 'open sesame' > words; \(condition.prepare)")
    try #require(prepared.status == 0, "\(prepared.errors)")
    defer { chmod(sandbox.path("d"), 0o700) }
    let options = condition.store.hasPrefix("sealed:") ? "--passphrase-file words" : ""
    for command in ["get a", "ls", "info", "verify"] {
      let ended = try await sandbox.bash("\(condition.by) coffer \(command) --store '\(condition.store)' \(options)")
      #expect(ended.status == condition.status, "\(command): \(ended.errors)")
      #expect(ended.errors.contains(condition.text) && ended.text.isEmpty, "\(command): \(ended.text)\(ended.errors)")
      #expect(ended.errors.contains("creates it") == (condition.status == 3), "\(ended.errors)")
    }
    let copied = try await sandbox.bash("\(condition.by) coffer cp '\(condition.store)' memory: \(options)")
    #expect(copied.status == condition.status, "\(copied.errors)")
  }

  private static let seal =
    "umask 077; printf 'open sesame' > words; printf s3cret | coffer set a - --store sealed:s --passphrase-file words"

  @Test("Stores that need neither HOME, XDG nor a bus work without them")
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

  @Test("A missing passphrase file is not reported as a missing store")
  func passphrase() async throws {
    let prepared = try await sandbox.bash("\(Self.seal); mkdir run; printf x > run/coffer-passphrase")
    try #require(prepared.status == 0, "\(prepared.errors)")
    let none = try await sandbox.bash("coffer get a --store sealed:s --passphrase-file none")
    #expect(none.status == 2 && none.errors.contains("there is no file none"), "\(none.errors)")
    let blocked = try await sandbox.bash("coffer get a --store sealed:s --passphrase-file words/none")
    #expect(blocked.status == 1 && blocked.errors.contains("it does not exist"), "\(blocked.errors)")
  }
}

/// A command prefix that starts a program without root's capability to bypass file permissions.
let unprivileged = getuid() == 0 ? "setpriv --bounding-set -dac_override,-dac_read_search" : "env"

/// Whether file permissions can be tested by this user.
let canLosePrivileges = getuid() != 0 || FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")
