import CofferTestSupport
import Foundation
import Testing

/// What root leaves in the directory of another user.
@Suite("Root in another user's stores", .serialized)
struct RootUseTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  static let stores = ["d/new/a.db", "file:d/new/f", "prefs:p", "sealed:d/new/s"]

  /// Makes the directory `d` of another user, and files with a passphrase for both users.
  /// - Returns: whether this user can do that.
  private func prepare() async throws -> Bool {
    guard getuid() == 0, canLosePrivileges else {
      print("Not checked, for want of root or setpriv.")
      return false
    }
    let prepared = try await sandbox.bash(
      "chmod 755 .; (umask 077; for w in words theirs; do printf 'open sesame' > $w; done); mkdir d; "
        + "chown 65534:65534 d theirs")
    try #require(prepared.status == 0, "\(prepared.errors)")
    return true
  }

  private func run(_ words: String, asRoot: Bool, _ store: String = "") async throws -> EndedProgram {
    let user = asRoot ? "env" : "setpriv --reuid 65534 --regid 65534 --clear-groups"
    let file = asRoot ? "words" : "theirs"
    let options = (words + store).contains("sealed:") ? "--passphrase-file \(file)" : ""
    return try await sandbox.bash(
      "printf 1 | XDG_CONFIG_HOME=\(sandbox.path("d")) \(user) \"$(command -v coffer)\" \(words) \(options)")
  }

  @Test("What root creates and replaces belongs to the owner of the directory", arguments: stores)
  func owner(_ store: String) async throws {
    guard try await prepare() else { return }
    func requireOthers() async throws {
      let foreign = try await sandbox.bash("find d ! -user 65534 -o ! -group 65534")
      #expect(foreign.text.isEmpty, "\(foreign.text)")
    }
    // Root creates the store, its owner goes on, then root reads and writes it.
    for (words, asRoot) in [
      ("set a - --store '\(store)'", true), ("ls --store '\(store)'", true), ("ls --store '\(store)'", false),
      ("set b - --store '\(store)'", false), ("ls --store '\(store)'", true), ("verify --store '\(store)'", true),
      ("set b - --store '\(store)'", true), ("rm a --store '\(store)'", true), ("get b --store '\(store)'", false),
      ("set c - --store '\(store)'", false), ("ls --store '\(store)'", false),
    ] {
      let ended = try await run(words, asRoot: asRoot)
      #expect(ended.status == 0, "\(words): \(ended.errors)")
      try await requireOthers()
    }
    #expect(try await run("ls --store '\(store)'", asRoot: false).lines == ["b", "c"])
    guard !store.contains(":") else { return }
    #expect(try await run("backup d/copy.db --store '\(store)'", asRoot: true).status == 0)
    try await requireOthers()
    #expect(try await run("ls --store d/copy.db", asRoot: false).lines == ["b", "c"])
  }

  @Test("Reading creates no file", arguments: stores)
  func reading(_ store: String) async throws {
    guard try await prepare() else { return }
    #expect(try await run("set a - --store '\(store)'", asRoot: false).status == 0)
    // What a lock or a mark may have left behind would hide that it is created.
    let before = try await sandbox.bash("find d -type f -empty ! -path '*/owners/*' -delete; find d | sort").text
    for words in ["ls", "get a", "info", "watch --since 0 --count 1"] {
      for asRoot in [true, false] {
        let ended = try await run("\(words) --store '\(store)'", asRoot: asRoot)
        #expect(ended.status == 0, "\(words): \(ended.errors)")
        #expect(try await sandbox.bash("find d | sort").text == before, "\(words)")
      }
    }
  }

  @Test("In a directory that all users share, what root creates beside a database belongs to the owner of that")
  func shared() async throws {
    guard try await prepare() else { return }
    try await sandbox.bash("chown 0:0 d; chmod 1777 d")
    #expect(try await run("set a - --store d/a.db", asRoot: false).status == 0)
    for lost in ["d/a.db-wake", "d/a.db-*"] {
      try await sandbox.bash("rm -f \(lost)")
      #expect(try await run("ls --store d/a.db", asRoot: true).status == 0)
      #expect(try await run("set b - --store d/a.db", asRoot: true).status == 0)
      let foreign = try await sandbox.bash("find d -type f ! -user 65534")
      #expect(foreign.text.isEmpty, "\(foreign.text)")
      #expect(try await run("set c - --store d/a.db", asRoot: false).status == 0)
    }
  }

  /// A part of a store that is given to root, and whether the store cannot be read then.
  static let spoiled = [
    ("d/new/a.db", "d/new/a.db", true), ("d/new/a.db", "d/new/a.db-wake", true),
    ("file:d/new/f", "d/new/f/.coffer", true), ("file:d/new/f", "d/new/f/.coffer/journal.db", true),
    ("file:d/new/f", "d/new/f/.coffer/staged", true), ("file:d/new/f", "d/new/f/a", true),
    ("prefs:p", "d/.coffer-preferences", true), ("prefs:p", "d/.coffer-preferences/p/journal.db-wake", true),
    ("prefs:p", "d/p.plist", true), ("sealed:d/new/s", "d/new/s", true),
    ("sealed:d/new/s", "d/new/s.coffer/copy", true),
  ]

  @Test("The doctor names each part that its user may not use, with advice that mends it", arguments: spoiled)
  func doctor(_ store: String, _ part: String, _ isUnreadable: Bool) async throws {
    guard try await prepare() else { return }
    #expect(try await run("set a - --store '\(store)'", asRoot: false).status == 0)
    #expect(try await run("doctor '\(store)'", asRoot: false).status == 0)
    try await sandbox.bash("chown 0:0 '\(part)'")
    let path = sandbox.path(part)
    for asRoot in [false, true] {
      let found = try await run("doctor --json '\(store)'", asRoot: asRoot)
      let findings = try #require(found.json()["findings"] as? [NSDictionary])
      let finding = findings.first { ($0["message"] as? String ?? "").contains("\(path)") }
      let message = finding?["message"] as? String ?? ""
      #expect(message.contains("belongs to root") && message.contains("may not read"), "\(found.text)\(found.errors)")
      #expect(found.status == 1 && finding?["verdict"] as? String == "problem")
      let fix = try #require(finding?["fix"] as? String)
      let command = try #require(fix.wholeMatch(of: /As root: (chown .*--reference=.*)/)?.1)
      guard asRoot else { continue }
      #expect(try await sandbox.bash(String(command)).status == 0)
    }
    let mended = try await run("doctor '\(store)'", asRoot: false)
    #expect(mended.status == 0 && mended.text.contains("No problems"), "\(mended.text)")
    #expect(try await run("get a --store '\(store)'", asRoot: false).text == "1")
  }

  @Test("In another user's directory, a database still belongs to its own owner")
  func ownerOfDatabase() async throws {
    guard try await prepare() else { return }
    try await sandbox.bash("chown 2001:2001 d; chmod 777 d")
    #expect(try await run("set a - --store d/a.db", asRoot: false).status == 0)
    let sound = try await run("doctor d/a.db", asRoot: true)
    #expect(sound.status == 0 && !sound.text.contains("chown"), "\(sound.text)\(sound.errors)")
    try await sandbox.bash("chown 0:0 d/a.db-wake")
    let found = try await run("doctor --json d/a.db", asRoot: true)
    let findings = try #require(found.json()["findings"] as? [NSDictionary])
    let fix = findings.compactMap { $0["fix"] as? String }.first { $0.contains("chown") } ?? ""
    let command = try #require(fix.wholeMatch(of: /As root: (chown .*--reference=.*)/)?.1, "\(found.text)")
    #expect(try await sandbox.bash(String(command)).status == 0)
    #expect(try await sandbox.bash("find d -type f ! -user 65534").text.isEmpty)
    #expect(try await run("doctor d/a.db", asRoot: false).status == 0)
  }

  @Test("The doctor finds no problem in a store that another user can read", arguments: ["e/a.db", "file:e/f"])
  func readable(_ store: String) async throws {
    guard try await prepare() else { return }
    let prepared = try await sandbox.bash("mkdir e; printf 1 | coffer set a - --store '\(store)' && chmod -R a+rX e")
    try #require(prepared.status == 0, "\(prepared.errors)")
    // What a reader does not open: the files of writers, remains, and files that are no values.
    let files =
      store == "e/a.db"
      ? "e/a.db-wake"
      : "e/f/.note e/f/.coffer/opening e/f/.coffer/owners/0 e/f/.coffer/quarantine/0 e/f/.coffer/journal.db-wake"
    #expect(try await sandbox.bash("touch \(files) && chmod 600 \(files)").status == 0)
    #expect(try await run("get a --store '\(store)'", asRoot: false).text == "1")
    let doctor = try await run("doctor '\(store)'", asRoot: false)
    #expect(doctor.status == 0, "\(doctor.text)\(doctor.errors)")
  }

  @Test("A directory of accepted writes that root has left is a warning, which its advice mends")
  func acceptedWrites() async throws {
    guard try await prepare() else { return }
    #expect(try await run("set a - --store d/a.db", asRoot: false).status == 0)
    try await sandbox.bash("mkdir -m 700 d/a.db-pending")
    let doctor = try await run("doctor --json d/a.db", asRoot: false)
    let findings = try #require(doctor.json()["findings"] as? [NSDictionary])
    let finding = findings.first { ($0["message"] as? String ?? "").contains("a.db-pending, which belongs to root") }
    #expect(doctor.status == 0 && finding?["verdict"] as? String == "warning", "\(doctor.text)")
    let fix = try #require((finding?["fix"] as? String)?.wholeMatch(of: /As root: (chown .*--reference=.*)/)?.1)
    #expect(try await sandbox.bash(String(fix)).status == 0)
    #expect(try await run("doctor d/a.db", asRoot: false).text.contains("No problems"))
  }

  @Test("What nothing opens is no problem in a store, and damaged bytes that were kept are a warning")
  func remains() async throws {
    guard try await prepare() else { return }
    #expect(try await run("set a - --store file:d/f", asRoot: false).status == 0)
    let files = "d/f/.note d/f/.coffer/opening d/f/.coffer/journal.db-wal.lost d/f/.coffer/quarantine/0"
    #expect(try await sandbox.bash("touch \(files) && chmod 600 \(files) && chown 0:0 \(files)").status == 0)
    for asRoot in [false, true] {
      let doctor = try await run("doctor --json file:d/f", asRoot: asRoot)
      let findings = try #require(doctor.json()["findings"] as? [NSDictionary])
      let found = findings.filter { ($0["message"] as? String ?? "").contains("may not read") }
      #expect(doctor.status == 0 && found.map { $0["verdict"] as? String } == ["warning"], "\(doctor.text)")
    }
  }
}
