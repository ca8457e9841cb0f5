import Coffer
import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Policies in several processes, in one that is killed, and in stores that cannot be written.
@Suite(.blocking, .serialized, .timeLimit(.minutes(5))) struct DamageProcessTests {
  private let stores = DamagedStores()
  private static let kinds: [TestedStore] = [.sqlite, .file]
  private let key = KeyName("k")

  // Requirement 5.8
  @Test(arguments: kinds) func twoProcessesStoreOneReplacement(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind)
    let engine = try await damaged.open()
    let before = engine.latestRevision
    let location = try await damaged.location
    let helpers = try (0..<2).map { try HelperProcess(["damaged-read", "\(location)", "\($0)", "100"]) }
    for helper in helpers { #expect(try helper.line() == "ready") }
    for helper in helpers { helper.tell("go") }
    let lines = try helpers.flatMap { try $0.lines() }
    #expect(lines.filter { $0 == "replaced" }.count == 1)
    let values = lines.filter { $0.hasPrefix("read ") }
    #expect(values.count == 200 && Set(values).count == 1, "\(Set(lines))")
    #expect(engine.latestRevision == before.next)
    try await engine.close()
  }

  // Requirement 5.8
  @Test(arguments: kinds)
  func aProcessKilledBeforeTheReplacementLosesNothing(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind)
    let helper = try await HelperProcess(["damaged-die", "\(damaged.location)"])
    #expect(try helper.lines() == ["handler"])
    helper.wait()
    let engine = try await damaged.open()
    let kept = try await engine.quarantine?.quarantinedValues() ?? []
    #expect(kept.map(\.key) == [key] && kept.map(\.size) == [DamagedStore.text.utf8.count], "\(kept)")
    await expectStorageError(.damaged) { _ = try await engine.entry(key) }
    let store = TypedStore(engine: engine, damagePolicy: .replace(with: Data("default".utf8)))
    #expect(try await store.load(String.self, for: key) == "default")
    #expect(try await engine.quarantine?.quarantinedValues().count == 1)
    try await engine.close()
  }

  /// On a full disk the bytes cannot be kept, so they are not replaced.
  // Requirement 5.8
  @Test(arguments: kinds) func aFullDiskReplacesNothing(_ kind: TestedStore) async throws {
    let disks = Locked<SmallDisk?>(nil)
    let damaged = try await stores.make(
      kind,
      in: { directory in
        guard let disk = try SmallDisk(at: directory.path("disk"), size: "8m") else {
          try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
        }
        disks.withLock { $0 = disk }
        return disk.path
      })
    let engine = try await damaged.open()
    let before = engine.latestRevision
    let filler = damaged.path("filler")
    #expect(FileManager.default.createFile(atPath: filler, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: filler))
    for size in [1 << 16, 1 << 12] {
      while (try? file.write(contentsOf: Data(count: size))) != nil {}
    }
    let handled = Handled()
    let store = TypedStore(
      engine: engine, damagePolicy: .replace(with: Data(count: 500_000)), onDamageHandled: handled.add)
    await expectStorageError(.damaged, contains: "not replaced") { _ = try await store.load(String.self, for: key) }
    #expect(engine.latestRevision == before && !handled.outcomes.contains("replaced"))
    // A process that another test starts may have the file open for a moment longer.
    try file.truncate(atOffset: 0)
    try file.close()
    try FileManager.default.removeItem(atPath: filler)
    #expect(try await store.load(Data.self, for: key)?.count == 500_000)
    try await engine.close()
    withExtendedLifetime(disks) {}
  }

  @Test(arguments: kinds) func aStoreOpenForReadingOnlyStaysAsItIs(_ kind: TestedStore) async throws {
    let damaged = try await stores.make(kind)
    let at = damaged.path("mounted")
    guard let mount = try ReadOnlyMount(of: damaged.directory.url.path, at: at) else {
      try Test.cancel("this machine does not let root mount: \(String(cString: strerror(errno)))")
    }
    let engine = try await kind.open(in: URL(fileURLWithPath: mount.path))
    let handled = Handled()
    let store = TypedStore(
      engine: engine, damagePolicy: .replace(with: Data("default".utf8)), onDamageHandled: handled.add)
    await expectStorageError(.damaged, contains: "not replaced") { _ = try await store.load(String.self, for: key) }
    #expect(handled.outcomes == ["failed"])
    try await engine.close()
  }
}
