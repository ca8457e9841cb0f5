import CofferTestSupport
import Foundation
import Testing

/// The doctor reports no problem for a store that works, and a problem for each store that the commands refuse.
@Suite("The doctor and the commands agree", .serialized)
struct DoctorAgreementTests {
  let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    let folder = sandbox.url.appendingPathComponent("home")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  /// A state of the system, and the store to check.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let store: String
    let prepare: String
    let options: String
    let environment: [(name: String, value: String?)]

    init(
      _ name: String, _ store: String, _ prepare: String, options: String = "",
      environment: [(name: String, value: String?)] = []
    ) {
      (testDescription, self.store, self.prepare) = (name, store, prepare)
      (self.options, self.environment) = (options, environment)
    }
  }

  private static let seal =
    "umask 077; printf 'open sesame' > words; printf s3cret | coffer set a - --store sealed:d/s "
    + "--passphrase-file words; "
  private static let passphrase = "--passphrase-file words"
  private static let noHome: [(name: String, value: String?)] = [
    ("HOME", nil), ("XDG_DATA_HOME", nil), ("XDG_CONFIG_HOME", nil), ("DBUS_SESSION_BUS_ADDRESS", nil),
    ("XDG_RUNTIME_DIR", nil),
  ]

  static let rights = [
    Case("a file without rights", "d/a.db", "mkdir d; coffer set a 1 --store d/a.db; chmod 444 d/a.db"),
    Case(
      "a directory without rights", "d/a.db", "mkdir d; coffer set a 1 --store d/a.db; rm -f d/a.db-*; chmod 555 d"),
    Case("a directory without rights, and no store", "d/a.db", "mkdir d; chmod 555 d"),
    Case("files: without rights", "file:d", "coffer set a 1 --store file:d; chmod 555 d"),
    Case("files: a journal without rights", "file:d", "coffer set a 1 --store file:d; chmod 555 d/.coffer"),
    Case(
      "files: a journal that may not be searched", "file:d", "coffer set a 1 --store file:d; chmod 000 d/.coffer"),
    Case(
      "files: nothing may be written", "file:d", "coffer set a 1 --store file:d; chmod -R a-w d"),
    Case(
      "files: staged values may not be read", "file:d", "coffer set a 1 --store file:d; chmod 000 d/.coffer/staged"),
    Case(
      "files: no journal, which had an expiry date", "file:d",
      "coffer set a 1 --expires 1h --store file:d; rm d/.coffer/journal.db*"),
    Case(
      "preferences: no journal, which had an expiry date", "prefs:p",
      "coffer set a 1 --expires 1h --store prefs:p; rm .config/.coffer-preferences/p/journal.db*"),
    Case(
      "sealed: no journal, which had an expiry date", "sealed:d/s",
      "mkdir d; \(seal) printf x | coffer set b - --expires 1h --store sealed:d/s \(passphrase); "
        + "rm d/s.coffer/journal.db*",
      options: passphrase),
    Case("files: no store yet, and none can be made", "file:d", "mkdir d; echo 1 > d/a; chmod 555 d"),
    Case(
      "preferences: nothing may be written", "prefs:p", "coffer set a 1 --store prefs:p; chmod -R a-w .config"),
    Case(
      "preferences: no file, and a journal without rights", "prefs:p",
      "coffer set a 1 --store prefs:p; rm .config/p.plist; chmod 555 .config/.coffer-preferences/p"),
    Case("sealed: nothing may be written", "sealed:d/s", "mkdir d; \(seal) chmod -R a-w d", options: passphrase),
    Case(
      "files: a store in a directory without rights", "file:d/f", "coffer set a 1 --store file:d/f; chmod 555 d"),
    Case("preferences: without rights", "prefs:p", "coffer set a 1 --store prefs:p; chmod 555 .config"),
    Case(
      "preferences: a journal without rights", "prefs:p",
      "coffer set a 1 --store prefs:p; chmod 555 .config/.coffer-preferences/p"),
    Case("preferences: an unreadable file", "prefs:p", "coffer set a 1 --store prefs:p; chmod 000 .config/p.plist"),
    Case("sealed: without rights", "sealed:d/s", "mkdir d; \(seal) chmod 555 d", options: passphrase),
    Case(
      "sealed: a journal without rights", "sealed:d/s", "mkdir d; \(seal) chmod 555 d/s.coffer", options: passphrase),
    Case("sealed: an unreadable file", "sealed:d/s", "mkdir d; \(seal) chmod 000 d/s", options: passphrase),
    Case("no HOME, a database", "ROOT/home/a.db", "coffer set a 1 --store a.db", environment: noHome),
    Case("no HOME, no database yet", "ROOT/home/a.db", "true", environment: noHome),
    Case("no HOME, files", "file:ROOT/home/f", "coffer set a 1 --store file:f", environment: noHome),
    Case("no HOME, preferences", "prefs:p", "true", environment: noHome),
    Case("no HOME, a keyring", "keychain:p", "true", environment: noHome),
    Case(
      "no HOME, a chain", "keychain:test-\(UUID().uuidString)+sealed:ROOT/home/d/s", "mkdir d; \(seal)",
      options: passphrase, environment: noHome),
    Case(
      "no HOME, an empty chain", "keychain:test-\(UUID().uuidString)+sealed:ROOT/home/s",
      "umask 077; printf 'open sesame' > words", options: passphrase, environment: noHome),
    Case("a file in the way of preferences, and a database", "a.db", "coffer set a 1 --store a.db; touch .config"),
  ]

  @Test("Missing rights and missing variables", arguments: rights)
  func right(_ state: Case) async throws {
    guard canLosePrivileges else { return print("Not checked: \(state.testDescription), for want of setpriv.") }
    try await sandbox.prepare(state.prepare)
    defer {
      chmod(sandbox.path("home/d"), 0o700)
      chmod(sandbox.path("home/d/.coffer"), 0o700)
    }
    func here(_ text: String) -> String { text.replacing("ROOT", with: sandbox.url.path) }
    let variables =
      Sandbox.doctorsHome(sandbox.url.path) + state.environment.map { (name: $0.name, value: $0.value.map(here)) }
    let store = here(state.store)
    func run(_ words: String, from input: String = ":") async throws -> EndedProgram {
      let line = "cd home; \(input) | \(unprivileged) \"$(command -v coffer)\" \(words) \(here(state.options))"
      return try await sandbox.bash(line, environment: variables)
    }
    let option = "--store '\(store)'"
    let doctor = try await run("doctor '\(store)'")
    let read = [try await run("ls \(option)"), try await run("get a \(option)")]
    let write = try await run("set a - \(option)", from: "printf 1")
    let told: Comment = """
      doctor \(doctor.status): \(doctor.text)
      ls \(read[0].status): \(read[0].errors)get \(read[1].status): \(read[1].errors)
      set \(write.status): \(write.errors)
      """
    let canRead = read.allSatisfy { $0.status == 0 || $0.status == 3 }
    let isNew = read[0].status == 3
    if doctor.status == 0 {
      #expect(canRead && (write.status == 0 || !isNew), told)
      #expect(write.status == 0 || doctor.text.contains("warning"), told)
      if doctor.text.contains("No problems found.") { #expect(canRead && write.status == 0, told) }
    } else {
      #expect(doctor.status == 1 && (!canRead || (isNew && write.status != 0)), told)
    }
  }
}
