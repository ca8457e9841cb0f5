import Coffer
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A process that is killed, or fails, while it moves plain values to encrypted keys; and two of them at once.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15)))
struct MigrationKillTests {
  /// One root with older values, and what is below it.
  private struct Scene {
    static let value = "a plain text of the version before"
    let fixture: RouterFixture
    var root: String { fixture.path("migrated") }
    let older: [TypedKey<String>]
    let newer: [TypedKey<String>]

    init() async throws {
      fixture = try RouterFixture()
      let root = fixture.path("migrated")
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
      let database = StorageDomain.database(URL(fileURLWithPath: root + "/store.db"))
      let files = StorageDomain.fileSystem(.custom(URL(fileURLWithPath: root + "/files")))
      let homes: [(String, StorageDomain, StorageDomain)] = [
        ("same", database, database), ("database", files, database),
        ("files", .userDefaults(suite: "com.example.migrated"), files),
      ]
      let older = homes.map { plain("old \($0.0)", String.self, in: $0.1) }
      self.older = older
      newer = zip(homes, older).map { home, old in
        TypedKey<String>(home.0, in: home.2, owner: "Tests", about: "For a test.", security: .encrypted(.aes256))
          .migrating { AnyStorageMigration(SimpleLegacyMigration(destinationKey: $0, sourceKey: .key(old))) }
      }
      try await use { router in
        for key in older {
          // A replaced value leaves its bytes in free pages and in the log.
          try await router.set(Self.value + " and longer", for: key)
          try await router.set(Self.value, for: key)
        }
      }
    }

    func use<R>(_ body: (StorageRouter) async throws -> R) async throws -> R {
      let settings = configured { $0.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test") }
      return try await fixture.use(settings, body)
    }

    /// The files that contain the older value in plain, or in the UTF-16 of a property list.
    func copies() throws -> [String] {
      var found: [String] = []
      let needles = [Data(Self.value.utf8), Self.value.data(using: .utf16BigEndian) ?? Data()]
      let top = URL(fileURLWithPath: fixture.path(""))
      for case let url as URL in try #require(FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil))
      {
        guard let data = try? Data(contentsOf: url) else { continue }
        if needles.contains(where: { data.range(of: $0) != nil }) { found.append(url.path) }
      }
      return found
    }

    func helper(_ arguments: [String] = [], fault: String? = nil) throws -> HelperProcess {
      var environment = [
        ("HOME", fixture.path("home")), ("XDG_CONFIG_HOME", fixture.path("config")),
        ("XDG_DATA_HOME", fixture.path("data")),
      ]
      if let fault {
        environment += [
          ("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT_ROOT", fixture.path("")), ("COFFER_FAULT", fault),
        ]
      }
      return try HelperProcess(["router-migrate", root] + arguments, environment: environment)
    }

    /// Each value can be read by its older key or by the new one, and is complete.
    func expectNothingLost(_ comment: Comment) async throws {
      try await use { (router: StorageRouter) async throws -> Void in
        for (old, key) in zip(older, newer) {
          let new = plain(key.name, String.self, in: key.domain, security: .encrypted(.aes256))
          let before = try await router.exists(old) ? router.get(old) : nil
          let after = try await router.exists(new) ? router.get(new) : nil
          #expect(before != nil || after != nil, comment)
          #expect([nil, Self.value].contains(before) && [nil, Self.value].contains(after), comment)
        }
      }
    }

    /// The next access completes the migration, and no file has the value in plain.
    func expectCompletion(_ comment: Comment) async throws {
      try await use { (router: StorageRouter) async throws -> Void in
        for key in newer { #expect(try await router.get(key) == Self.value, comment) }
        for key in older { #expect(try await !router.exists(key), comment) }
        for key in newer { #expect(try await router.forceMigration(for: key).migratedCount == 0, comment) }
        #expect(try copies() == [], comment)
      }
      #expect(try copies() == [], comment)
    }
  }

  @Test("No plain copy is left in a database, in files, in preferences and in their journals")
  func noCopies() async throws {
    let scene = try await Scene()
    #expect(try scene.copies().count >= 3)
    try await scene.expectCompletion("without a kill")
  }

  @Test(
    "A killed migration loses nothing, and the next access completes it",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"),
    arguments: [("sync", 2), ("pwrite", 23), ("renameat", 2), ("unlinkat", 2)])
  func killed(_ call: String, _ step: Int) async throws {
    var (number, kills) = (1, 0)
    while kills < (isProving ? 1_000 : 8) {
      let scene = try await Scene()
      let helper = try scene.helper(fault: "kill:\(call):\(number)")
      var lines: [String] = []
      while let line = try helper.line() { lines.append(line) }
      #expect(lines.allSatisfy { !$0.contains("failed") }, "\(lines)")
      guard lines.last != "closed" else { break }
      let comment = Comment(rawValue: "killed before \(call) \(number), after \(lines)")
      try await scene.expectNothingLost(comment)
      try await scene.expectCompletion(comment)
      kills += 1
      number += isProving ? 1 : step
    }
    #expect(kills > 0)
  }

  @Test(
    "A full disk loses nothing, and the next access completes the migration",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"), arguments: [1, 9, 17, 31, 47])
  func fullDisk(_ number: Int) async throws {
    let scene = try await Scene()
    let lines = try scene.helper(fault: "full:pwrite:\(number)").lines()
    let comment = Comment(rawValue: "full at write \(number): \(lines)")
    try await scene.expectNothingLost(comment)
    try await scene.expectCompletion(comment)
  }

  @Test("Two processes migrate at the same time, and both read the values")
  func twoProcesses() async throws {
    for round in 1...(isProving ? 100 : 5) {
      let scene = try await Scene()
      let helpers = try (0..<2).map { _ in try scene.helper(["wait"]) }
      for helper in helpers { #expect(try helper.line() == "ready") }
      for helper in helpers { helper.tell("go") }
      for helper in helpers {
        let lines = try helper.lines()
        #expect(lines == scene.newer.map { "\($0.name) \(Scene.value)" } + ["closed"], "round \(round)")
      }
      try await scene.expectCompletion("round \(round)")
    }
  }
}
