import CofferTestSupport
import Foundation
import Testing

/// What root leaves in the directory of another user.
@Suite("Root in another user's stores", .serialized)
struct RootUseTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  static let stores = ["d/new/a.db", "file:d/new/f", "prefs:p", "sealed:d/new/s"]

  @Test("What root creates and replaces belongs to the owner of the directory", arguments: stores)
  func owner(_ store: String) async throws {
    guard getuid() == 0, canLosePrivileges else { return print("Not checked: \(store), for want of root or setpriv.") }
    let prepared = try await sandbox.bash(
      "chmod 755 .; (umask 077; for w in words theirs; do printf 'open sesame' > $w; done); mkdir d; "
        + "chown 65534:65534 d theirs")
    try #require(prepared.status == 0, "\(prepared.errors)")
    func run(_ words: String, asRoot: Bool) async throws -> EndedProgram {
      let user = asRoot ? "env" : "setpriv --reuid 65534 --regid 65534 --clear-groups"
      let file = asRoot ? "words" : "theirs"
      let options = store.hasPrefix("sealed:") ? "--passphrase-file \(file)" : ""
      return try await sandbox.bash(
        "printf 1 | XDG_CONFIG_HOME=\(sandbox.path("d")) \(user) \"$(command -v coffer)\" \(words) \(options)")
    }
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
}
