import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A process that is killed, or fails, while it moves plain values to encrypted keys; and two of them at once.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15)))
struct MigrationKillTests {
  private struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }

  // Requirement 4.9
  @Test("No plain copy is left in a database, in files, in preferences and in their journals")
  func noCopies() async throws {
    let scene = try await MigrationScene()
    #expect(try scene.copies().count >= 3)
    try await scene.expectCompletion("without a kill")
  }

  // Requirement 4.9
  @Test(
    "A killed migration loses nothing, and the next access completes it",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"),
    arguments: [("sync", 2), ("pwrite", 23), ("renameat", 2), ("unlinkat", 2)])
  func killed(_ call: String, _ step: Int) async throws {
    var (number, kills) = (1, 0)
    while kills < (isProving ? 1_000 : 8) {
      let scene = try await MigrationScene()
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

  // Requirement 4.9
  @Test(
    "A large store is freed of plain values as well, also after a kill while that is being done",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"), arguments: [0, 40, 900, 4_000, 5_500])
  func largeStore(_ number: Int) async throws {
    let scene = try await MigrationScene(filler: 20 << 20)
    if number > 0 {
      let lines = try scene.helper(fault: "kill:pwrite:\(number)").lines()
      #expect(lines.last != "closed", "the store was too small to be killed at this write: \(lines)")
    }
    try await scene.expectCompletion("killed before write \(number)", forcing: false)
  }

  // Requirement 4.9
  @Test(
    "An aggregation that is killed between copying and removing is completed, and not made again",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"))
  func aggregation() async throws {
    var between = 0
    for (call, step) in [("sync", 1), ("pwrite", 5), ("unlinkat", 1)] {
      for round in 0..<(isProving ? 200 : 9) {
        let scene = try await MigrationScene()
        let keys = AggregatedKeys(root: scene.root)
        try await scene.use { router in
          for key in keys.older { try await router.set(MigrationScene.value + " of \(key.name)", for: key) }
        }
        let fault = "kill:\(call):\(1 + round * step)"
        let lines = try scene.helper(["aggregate"], fault: fault).lines()
        let comment = Comment(rawValue: "\(fault): \(lines)")
        try await scene.use { (router: StorageRouter) async throws -> Void in
          try await router.registerCatalog(Catalog(allKeys: [.key(keys.newer)]))
          if case .interrupted? = await migrationState(in: router) { between += 1 }
          #expect(
            try await router.get(keys.newer) == keys.older.map { MigrationScene.value + " of \($0.name)" }, comment)
          guard case .done(.migrated, _, _)? = await migrationState(in: router) else {
            Issue.record(comment)
            return
          }
        }
        try await scene.use { (router: StorageRouter) async throws -> Void in
          for key in keys.older { #expect(try await !router.exists(key), comment) }
        }
        if lines.last == "closed" { break }
      }
    }
    #expect(between > 0, "no kill came between the copy and the removal")
  }

  // Requirement 4.9
  @Test(
    "A full disk loses nothing, and the next access completes the migration",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"), arguments: [1, 9, 17, 31, 47])
  func fullDisk(_ number: Int) async throws {
    let scene = try await MigrationScene()
    let lines = try scene.helper(fault: "full:pwrite:\(number)").lines()
    let comment = Comment(rawValue: "full at write \(number): \(lines)")
    try await scene.expectNothingLost(comment)
    try await scene.expectCompletion(comment)
  }

  // Requirement 4.9
  @Test("Two processes migrate at the same time, and both read the values")
  func twoProcesses() async throws {
    for round in 1...(isProving ? 100 : 5) {
      let scene = try await MigrationScene()
      let helpers = try (0..<2).map { _ in try scene.helper(["wait"]) }
      for helper in helpers { #expect(try helper.line() == "ready") }
      for helper in helpers { helper.tell("go") }
      for helper in helpers {
        let lines = try helper.lines()
        #expect(lines == scene.newer.map { "\($0.name) \(MigrationScene.value)" } + ["closed"], "round \(round)")
      }
      try await scene.expectCompletion("round \(round)")
    }
  }
}
