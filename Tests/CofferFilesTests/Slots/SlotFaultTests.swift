import CofferCSQLite
import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// A store whose moves can be made to fail.
private final class UnsteadySlots: Slots {
  let shelf = ShelfSlots()
  let failing = Locked<Set<KeyName>>([])
  private let synced = Locked<Set<Slot>>([])

  func read(_ slot: Slot) throws -> SlotContent? { try shelf.read(slot) }
  func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent {
    try shelf.write(data, to: slot, of: key, attributes: attributes)
  }
  func list() throws -> [ListedSlot] { try shelf.list() }
  private func all() throws -> [Slot] { try list().map(\.slot) }

  func sync(_ changes: SlotSync) throws {
    switch changes {
    case .staged(_, isAlone: true), .values: return
    case .staged(_, isAlone: false), .allStaged: break
    }
    let present = try all()
    synced.withLock { $0 = Set(present) }
  }

  /// Loses the staged values whose names are not synced.
  func losePower() throws {
    for slot in try all() where slot.isStaged && !synced.withLock({ $0.contains(slot) }) { try shelf.delete(slot) }
  }

  func loseStaged() throws { for slot in try all() where slot.isStaged { try shelf.delete(slot) } }

  func delete(_ slot: Slot) throws {
    if case .value(let key) = slot, failing.withLock({ $0.contains(key) }) {
      throw StorageError(.inputOutput, "The shelf is stuck.")
    }
    try shelf.delete(slot)
  }

  func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    if case .value(let key) = target, failing.withLock({ $0.contains(key) }) {
      throw StorageError(.inputOutput, "The shelf is stuck.")
    }
    guard let content = try read(source) else { throw StorageError(.notFound, "There is nothing to move.") }
    _ = try write(content.data, to: target, of: nil, attributes: .none)
    try delete(source)
    return nil
  }
}

extension Slot {
  fileprivate var isStaged: Bool { if case .staged = self { true } else { false } }
}

@Suite(.serialized) struct SlotFaultTests {
  private let origin = StoreOrigin()

  /// The batch is committed: the error must not say that nothing was written and the commit can be retried.
  @Test func aLockBetweenTheCommitAndItsEndIsNotTakenForFailure() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("journal.db")
    let intruder = Locked<UInt?>(nil)
    var configuration = SlotEngine.Configuration()
    configuration.busyTimeout = 20
    configuration.atStep = { step in
      guard step == .committed else { return }
      intruder.withLock { intruder in
        guard intruder == nil else { return }
        var handle: OpaquePointer?
        sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, PageVFS.registeredName)
        sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil)
        intruder = UInt(bitPattern: handle)
      }
    }
    let slots = ShelfSlots()
    let engine = try await SlotEngine.open(
      slots, journalIn: directory.url.path, name: "shelf:busy", configuration: configuration)
    let error = await #expect(throws: StorageError.self) { try await put(engine, "key", "1") }
    #expect(error?.code == .unfinished, "\(String(describing: error))")
    #expect(try await engine.entry(KeyName("key"))?.value == Data("1".utf8))
    #expect(try slots.read(.value(KeyName("key"))) == nil)
    _ = intruder.withLock { sqlite3_close($0.flatMap { OpaquePointer(bitPattern: $0) }) }
    try await put(engine, "other", "2")
    #expect(try slots.read(.value(KeyName("key")))?.data == Data("1".utf8))
    try await engine.close()
  }

  private func put(_ engine: SlotEngine, _ key: String, _ value: String) async throws {
    try await engine.commit(WriteBatch([.put(KeyName(key), Data(value.utf8))]), from: origin)
  }

  /// A value that could not be published is not published after a newer one.
  @Test func aLateSecondTryNeverReplacesANewerValue() async throws {
    let directory = try TemporaryDirectory()
    let slots = UnsteadySlots()
    func open() async throws -> SlotEngine {
      try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:unsteady")
    }
    let engine = try await open()
    let key = KeyName("key")
    try await put(engine, "key", "first")
    slots.failing.withLock { $0 = [key] }
    for value in ["second", "third"] {
      let error = await #expect(throws: StorageError.self) { try await put(engine, "key", value) }
      #expect(error?.message.contains("is stored") == true)
      #expect(try await engine.entry(KeyName("key"))?.value == Data(value.utf8))
    }
    // Other keys are not affected.
    try await put(engine, "other", "x")
    slots.failing.withLock { $0 = [] }
    try await put(engine, "key", "fourth")
    #expect(try await engine.entry(KeyName("key"))?.value == Data("fourth".utf8))
    try await put(engine, "other", "y")
    #expect(try slots.read(.value(KeyName("key")))?.data == Data("fourth".utf8))
    #expect(try await engine.entry(KeyName("key"))?.value == Data("fourth".utf8))
    let revision = engine.latestRevision
    try await engine.close()
    let again = try await open()
    #expect(try await again.entry(KeyName("key"))?.value == Data("fourth".utf8))
    #expect(again.latestRevision == revision)
    #expect(try Set(slots.list().map(\.slot)) == [.value(key), .value(KeyName("other"))])
    try await again.close()
  }

  /// What a caller was told is stored is synced, and its loss is reported.
  @Test func aValueThatIsCalledStoredSurvivesPowerLoss() async throws {
    let (directory, slots) = (try TemporaryDirectory(), UnsteadySlots())
    func open() async throws -> SlotEngine {
      try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:unsteady")
    }
    let (key, other) = (KeyName("key"), KeyName("other"))
    var engine = try await open()
    try await put(engine, "key", "first")
    slots.failing.withLock { $0 = [key] }
    let error = await #expect(throws: StorageError.self) { try await put(engine, "key", "second") }
    #expect(error?.message.contains("is stored") == true)
    try slots.losePower()
    #expect(try await engine.entry(key)?.value == Data("second".utf8))
    slots.failing.withLock { $0 = [] }
    try await engine.close()
    engine = try await open()
    #expect(try await engine.entry(key)?.value == Data("second".utf8))
    // The other value of the batch is published, and its intent is forgotten.
    for batch in [[key, other], [key]] {
      slots.failing.withLock { $0 = [key] }
      let puts = batch.map { WriteBatch.Operation.put($0, Data("third".utf8)) }
      await #expect(throws: StorageError.self) { try await engine.commit(WriteBatch(puts), from: origin) }
      slots.failing.withLock { $0 = [] }
      try slots.loseStaged()
      let again = try await open()
      #expect(try await again.recoveryReport().lost == [key])
      try await engine.close()
      engine = again
      #expect(try await engine.entry(key)?.value == Data("second".utf8))
    }
    try await engine.close()
  }

  /// Only a value whose name was not synced is lost without a report, since its commit was not acknowledged.
  @Test(arguments: [false, true]) func aLossIsReportedUnlessNothingWasPromised(_ hasRecord: Bool) async throws {
    let directory = try TemporaryDirectory()
    let slots = UnsteadySlots()
    let isCut = Locked(false)
    var configuration = SlotEngine.Configuration()
    configuration.atStep = { step in
      // As if power was lost here: the staged value is gone and nothing more reaches the shelf.
      if step == .committed, !isCut.withLock({ $0 }) {
        isCut.withLock { $0 = true }
        try? FileManager.default.copyItem(atPath: directory.url.path, toPath: directory.url.path + ".copy")
      }
    }
    defer { try? FileManager.default.removeItem(atPath: directory.url.path + ".copy") }
    let engine = try await SlotEngine.open(
      slots, journalIn: directory.url.path, name: "shelf:cut", configuration: configuration)
    let record = WriteBatch.Operation.putRecord(SystemRecord.Name("test.record" as KeyName), Data("r".utf8))
    let batch = WriteBatch([.put(KeyName("key"), Data("1".utf8))] + (hasRecord ? [record] : []))
    try await engine.commit(batch, from: origin)
    try await engine.close()
    let again = try await SlotEngine.open(
      UnsteadySlots(), journalIn: directory.url.path + ".copy", name: "shelf:copy")
    #expect(try await again.recoveryReport().lost == (hasRecord ? [KeyName("key")] : []))
    #expect(try await again.entry(KeyName("key")) == nil)
    try await again.close()
  }

  /// A key is absent only if its slot was read and found empty.
  @Test func aValueThatCouldNotBeTakenAwayIsNotAbsent() async throws {
    let directory = try TemporaryDirectory()
    let slots = UnsteadySlots()
    func open() async throws -> SlotEngine {
      try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:unsteady")
    }
    var engine = try await open()
    let key = KeyName("key")
    try await put(engine, "key", "secret")
    slots.failing.withLock { $0 = [key] }
    for round in 0..<3 {
      if round < 2 {
        let failure = await #expect(throws: StorageError.self) {
          try await engine.commit(WriteBatch([.delete(key)]), from: origin)
        }
        #expect(failure?.code == .unfinished)
      }
      let error = await #expect(throws: StorageError.self) { try await engine.entry(key) }
      #expect(error?.code == .unfinished && error?.key == key, "\(String(describing: error))")
      #expect(try slots.list().contains { $0.key == key })
      try await engine.close()
      engine = try await open()
    }
    slots.failing.withLock { $0 = [] }
    try await put(engine, "other", "x")
    #expect(try await engine.entry(key) == nil)
    #expect(try !slots.list().contains { $0.key == key })
    try await engine.close()
  }

  /// A snapshot of a state that was never published.
  @Test func aSnapshotReadsAValueThatWasNeverPublished() async throws {
    let directory = try TemporaryDirectory()
    let slots = UnsteadySlots()
    let engine = try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:unsteady")
    let key = KeyName("key")
    try await put(engine, "key", "first")
    slots.failing.withLock { $0 = [key] }
    await #expect(throws: StorageError.self) { try await put(engine, "key", "second") }
    try await engine.withSnapshot { [self] snapshot in
      slots.failing.withLock { $0 = [] }
      try await put(engine, "key", "third")
      #expect(try await snapshot.entries([key])[0]?.value == Data("second".utf8))
    }
    #expect(try await engine.entry(key)?.value == Data("third".utf8))
    try await engine.close()
    #expect(try slots.list().map(\.slot) == [.value(key)])
  }

  /// A removal can fail, for instance in a keyring that prompts the user: the value still exists and is not absent.
  @Test func whatCouldNotBeRemovedIsNotAbsent() async throws {
    let directory = try TemporaryDirectory()
    let slots = UnsteadySlots()
    let engine = try await SlotEngine.open(slots, journalIn: directory.url.path, name: "shelf:stuck")
    try await put(engine, "key", "1")
    let key = KeyName("key")
    slots.failing.withLock { _ = $0.insert(key) }
    let error = await #expect(throws: StorageError.self) {
      try await engine.commit(WriteBatch([.delete(key)]), from: origin)
    }
    #expect(error?.code == .unfinished)
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { try await engine.entry(key) }
      #expect(error?.code == .unfinished && error?.key == key, "\(String(describing: error))")
      await #expect(throws: StorageError.self) { try await engine.withSnapshot { try await $0.entries([key]) } }
    }
    slots.failing.withLock { $0 = [] }
    #expect(try await engine.entry(key) == nil)
    #expect(try slots.shelf.read(.value(key)) == nil)
    try await engine.close()
  }
}
