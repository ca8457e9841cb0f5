import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A process that is killed while it clears three stores.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15)))
struct ClearKillTests {
  private static let root = "cleared"

  private struct Catalog: StorageKeyCatalog {
    let homes: [[TypedKey<Int>]]
    var allKeys: [AnyStorageKey] { homes.flatMap { $0 }.map { .key($0) } }

    init(_ root: String) {
      let domains: [(String, StorageDomain)] = [
        ("database", .database(URL(fileURLWithPath: root + "/store.db"))),
        ("files", .fileSystem(.custom(URL(fileURLWithPath: root + "/files")))),
        ("preferences", .userDefaults(suite: "com.example.clear")),
      ]
      homes = domains.map { name, domain in (1...3).map { plain("\(name) \($0)", in: domain) } }
    }
  }

  private let fixture: RouterFixture
  private let catalog: Catalog
  private let strangers: [TypedKey<Int>]

  init() throws {
    fixture = try RouterFixture()
    let root = fixture.path(Self.root)
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    catalog = Catalog(root)
    strangers = catalog.homes.map { plain("stranger in \($0[0].name)", in: $0[0].domain) }
  }

  private func use<R>(_ body: (StorageRouter) async throws -> R) async throws -> R {
    try await fixture.use(configured { $0.unregisteredKeys = .allow }) { router in
      try await router.registerCatalog(catalog)
      return try await body(router)
    }
  }

  /// Runs the clear in a process that is killed before the n-th call; returns whether it was.
  private func isKilled(before call: String, _ number: Int, below root: String) throws -> Bool {
    let helper = try HelperProcess(
      ["router-clear", fixture.path(Self.root)],
      environment: [
        ("HOME", fixture.path("home")), ("XDG_CONFIG_HOME", fixture.path("config")),
        ("XDG_DATA_HOME", fixture.path("data")), ("LD_PRELOAD", FaultLibrary.path ?? ""),
        ("COFFER_FAULT_ROOT", root), ("COFFER_FAULT", "kill:\(call):\(number)"),
      ])
    var lines: [String] = []
    while let line = try helper.line() { lines.append(line) }
    #expect(lines.allSatisfy { $0 == "left 0" || $0 == "closed" }, "\(lines)")
    return lines.last != "closed"
  }

  // Requirement 5.9
  @Test(
    "What a killed clear has left is named by a dry run, and a second clear removes it",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"),
    arguments: [("sync", 1), ("pwrite", 3), ("renameat", 1), ("unlinkat", 1)])
  func killed(_ call: String, _ step: Int) async throws {
    let root = fixture.path("")
    var (number, kills, partial) = (1, 0, 0)
    try await use { router in
      for key in strangers { try await router.set(1, for: key) }
    }
    while true {
      try await use { router in
        for home in catalog.homes { try await router.batch { batch in for key in home { batch.set(7, for: key) } } }
      }
      guard try isKilled(before: call, number, below: root) else { break }
      kills += 1
      number += step
      try await use { router in
        let plan = try await router.clear(all: .valuesAndSecrets, dryRun: true)
        #expect(plan.isComplete && plan.isDryRun)
        var left: [KeyName] = []
        for home in catalog.homes {
          var found: [KeyName] = []
          for key in home where try await router.exists(key) { found.append(try KeyName(key.name)) }
          #expect(found.isEmpty || found.count == home.count, "one commit per store: \(found)")
          left += found
        }
        #expect(Set(plan.removed) == Set(left) && plan.removed.count == left.count)
        if !left.isEmpty, left.count < 9 { partial += 1 }
        let report = try await router.clear(all: .valuesAndSecrets)
        #expect(report.isComplete && report.removed == plan.removed)
        #expect(try await router.clear(all: .valuesAndSecrets).removed.isEmpty)
        for key in strangers { #expect(try await router.get(key) == 1) }
      }
    }
    #expect(kills > 0)
    if call == "sync" { #expect(partial > 0) }
  }
}
