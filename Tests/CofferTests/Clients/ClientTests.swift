import CofferPersistence
import CofferTesting
import Foundation
import Testing

/// The client of document 1, as printed but for the macro.
struct PrintedClient: Persistable {
  static let persistedKeys = ["theme", "notifications", "language"]

  let persistence: any PersistenceCapability

  @ClientState var theme: Theme = .system
  @ClientState var notificationsEnabled: Bool = true
  @ClientState var language: String = "en"
  @ClientState var scrollPosition: Int = 0

  func persistState() async throws {
    try await persistence.save(theme, for: "theme")
    try await persistence.save(notificationsEnabled, for: "notifications")
    try await persistence.save(language, for: "language")
  }

  func restoreState() async throws {
    if let savedTheme = try await persistence.load(Theme.self, for: "theme") {
      theme = savedTheme
    }
    if let saved = try await persistence.load(Bool.self, for: "notifications") { notificationsEnabled = saved }
    if let saved = try await persistence.load(String.self, for: "language") { language = saved }
  }
}

/// A client that saves a key which it does not declare.
private struct CarelessClient: Persistable {
  static let persistedKeys = ["a"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "b") }
  func restoreState() async throws {}
}

/// A client with the three members of the printed protocol. It is saved and not restored.
private struct SavedClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
}

private struct Layout: Codable, Sendable { var width, height, columns, rows: Int }

/// A client that restores one of its two values.
private struct HalfClient: Persistable {
  static let persistedKeys = ["layout", "name"]
  let persistence: any PersistenceCapability
  @ClientState var layout = Layout(width: 0, height: 0, columns: 0, rows: 0)
  @ClientState var name = "new"

  func persistState() async throws {
    try await persistence.save(layout, for: "layout")
    try await persistence.save(name, for: "name")
  }
  func restoreState() async throws {
    if let saved = try await persistence.load(Layout.self, for: "layout") { layout = saved }
  }
}

/// A client whose `persistState()` removes its key before it saves a value.
private struct DraftClient: Persistable {
  static let persistedKeys = ["draft"]
  let persistence: any PersistenceCapability
  @ClientState var draft: Int?

  init(persistence: any PersistenceCapability, draft: Int? = nil) {
    self.persistence = persistence
    self.draft = draft
  }

  func persistState() async throws {
    try await persistence.delete(key: "draft")
    if let draft { try await persistence.save(draft, for: "draft") }
  }
  func restoreState() async throws { draft = try await persistence.load(Int.self, for: "draft") ?? draft }
}

@Suite(.timeLimit(.minutes(10))) struct ClientTests {
  let engine = MemoryEngine()
  let clock = ManualClock()

  @Test func theThreePrintedMembersAreEnough() async throws {
    for number in 1...2 {
      let session = session()
      let saved = try await session.start { SavedClient(persistence: $0) }
      #expect(saved.number == 0, "nothing restores it")
      saved.number = number
      try await session.save()
      let stored = AdapterBasedPersistence(engine: engine)
      #expect(try await stored.load(Int.self, for: "number") == number)
    }
  }

  private func session(_ engine: (any StorageEngine)? = nil) -> ClientSession {
    ClientSession(engine: engine ?? self.engine, clock: clock)
  }

  /// Advances the clock by the interval and waits for the commit that follows.
  private func passInterval() async throws {
    await clock.waitForSleepers()
    let changes = engine.changes(since: nil)
    clock.advance(by: .milliseconds(300))
    for await _ in changes { break }
  }

  // Requirements 1.19, 1.20, 1.21, 1.23, 1.24
  @Test func aClientIsSavedAfterTheIntervalAndRestoredAtCreation() async throws {
    let preferences = try await session().start { PrintedClient(persistence: $0) }
    let before = engine.latestRevision
    preferences.theme = .dark
    preferences.language = "de"
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(299))
    #expect(engine.latestRevision == before && clock.sleeperCount == 1)
    let changes = engine.changes(since: nil)
    clock.advance(by: .milliseconds(1))
    for await _ in changes { break }
    #expect(engine.latestRevision == before.next)
    let again = try await session().start { PrintedClient(persistence: $0) }
    #expect(again.theme == .dark && again.language == "de")
  }

  // Requirement 1.25
  @Test func onlyWhatChangedIsWritten() async throws {
    let session = session()
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    preferences.theme = .dark
    try await session.save()
    let position = engine.latestPosition
    preferences.language = "de"
    preferences.scrollPosition = 7
    try await session.save()
    for await change in engine.changes(since: position) {
      guard case .commit(let commit) = change else { continue }
      #expect(commit.changed.keys == ["language"])
      break
    }
    let revision = engine.latestRevision
    preferences.scrollPosition = 8
    preferences.theme = .dark
    try await session.save()
    #expect(engine.latestRevision == revision && !session.hasPendingEdits)
  }

  @Test func whatWasNotEditedKeepsItsBytes() async throws {
    let store = TypedStore(engine: engine)
    let layout = Data(#"{"rows":4,"unknown":5,"columns":3,"height":2,"width":1}"#.utf8)
    try await store.save(layout, for: "layout")
    try await store.save("old", for: "name")
    let session = session()
    let client = try await session.start { HalfClient(persistence: $0) }
    #expect(client.layout.columns == 3 && client.name == "new")
    let revision = engine.latestRevision
    try await session.save()
    #expect(engine.latestRevision == revision)
    client.layout.rows = 9
    try await session.save()
    #expect(try await store.load(String.self, for: "name") == "old")
    let saved = try await store.load(Data.self, for: "layout")
    client.name = "edited"
    try await session.save()
    #expect(try await store.load(Data.self, for: "layout") == saved && saved != layout)
    #expect(try await store.load(String.self, for: "name") == "edited")
  }

  @Test func editsThatAreBeingStoredArePending() async throws {
    let slow = ManualClock()
    let faults = FaultInjectingEngine(engine, clock: slow)
    let session = session(faults)
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    faults.inject(.delay(.seconds(1)), into: .commit, at: 1)
    preferences.theme = .dark
    let saving = Task { try await session.save() }
    await slow.waitForSleepers()
    #expect(session.hasPendingEdits)
    slow.advance(by: .seconds(1))
    try await saving.value
    #expect(!session.hasPendingEdits)
  }

  // Requirement 1.23
  @Test func aThousandClientsShareATimerAndACommit() async throws {
    let session = session()
    var clients: [PrintedClient] = []
    for number in 0..<1_000 {
      clients.append(try await session.start(prefix: "\(number)/") { PrintedClient(persistence: $0) })
    }
    let before = engine.latestRevision
    for client in clients { client.theme = .dark }
    await clock.waitForSleepers()
    #expect(clock.sleeperCount == 1)
    try await passInterval()
    #expect(engine.latestRevision == before.next)
    #expect(try await TypedStore(engine: engine).load(Theme.self, for: "999/theme") == .dark)
  }

  // Requirement 1.22
  @Test func aFailedSaveStaysPendingAndIsTriedAgain() async throws {
    let faults = FaultInjectingEngine(engine)
    let session = session(faults)
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    faults.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 1)
    preferences.theme = .dark
    #expect(await codeThrown { try await session.save() } == .diskFull)
    #expect(session.lastError?.code == .diskFull && session.hasPendingEdits)
    try await passInterval()
    try await session.save()  // after the one of the timer
    #expect(session.lastError == nil && !session.hasPendingEdits)
    #expect(try await TypedStore(engine: engine).load(Theme.self, for: "theme") == .dark)
  }

  /// One process edits the language and the notifications, another one the theme.
  // Requirement 1.54
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func noEditIsLostAndNothingElseIsWritten(_ seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let faults = FaultInjectingEngine(engine)
    let other = TypedStore(engine: engine)
    let session = session(faults)
    let client = try await session.start { PrintedClient(persistence: $0) }
    let start = engine.latestRevision
    for number in 0..<300 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0: client.language = "\(number)"
      case 1: client.notificationsEnabled.toggle()
      case 2: client.scrollPosition = number  // is not stored
      case 3: try await other.save(number.isMultiple(of: 2) ? Theme.dark : .system, for: "theme")
      case 4: try await other.delete("theme")
      case 5:
        faults.inject(.fail(StorageError(.busy, "The store is locked.")), into: .commit)
        try? await session.save()
        faults.removeFaults()
      default:
        async let saving: Void = session.save()
        client.language = "\(number) while it is saved"
        try await saving
      }
    }
    try await session.save()
    #expect(try await other.load(String.self, for: "language") ?? "en" == client.language)
    #expect(try await other.load(Bool.self, for: "notifications") ?? true == client.notificationsEnabled)
    for commit in try #require(engine.recentCommits(after: start)) where commit.origin != other.origin {
      #expect(Set(commit.changed.keys).isSubset(of: ["language", "notifications"]), "\(commit.changed.keys)")
    }
  }

  // Requirement 1.54
  @Test func changesOfOthersAreReplacedOnlyByEdits() async throws {
    let other = TypedStore(engine: engine)
    let session = session()
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    preferences.language = "fr"
    try await other.save(Theme.dark, for: "theme")
    try await other.save("de", for: "language")
    try await session.save()
    #expect(try await other.load(Theme.self, for: "theme") == .dark)
    #expect(try await other.load(String.self, for: "language") == "fr")
  }

  @Test func whatIsAssignedBeforeTheRestorationIsADefault() async throws {
    let store = TypedStore(engine: engine)
    let first = session()
    #expect(try await first.start { DraftClient(persistence: $0, draft: 1) }.draft == 1)
    try await first.save()
    #expect(try await !store.exists("draft"))
    try await store.save(2, for: "draft")
    #expect(try await session().start { DraftClient(persistence: $0, draft: 1) }.draft == 2)
  }

  @Test func theLastCallForAKeyCounts() async throws {
    let store = TypedStore(engine: engine)
    try await store.save(2, for: "draft")
    let session = session()
    let draft = try await session.start { DraftClient(persistence: $0) }
    let revision = engine.latestRevision
    draft.draft = 2
    try await session.save()
    #expect(engine.latestRevision == revision)
    draft.draft = nil
    try await session.save()
    #expect(try await !store.exists("draft"))
  }

  @Test func anEditReplacesWhatTheClientHasWrittenItself() async throws {
    let session = session()
    let draft = try await session.start { DraftClient(persistence: $0, draft: 1) }
    try await draft.persistence.save(2, for: "draft")
    draft.draft = 1
    try await session.save()
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "draft") == 1)
  }

  // Requirement 1.25
  @Test func undeclaredAndSharedKeysAreRefused() async throws {
    let session = session()
    let error = await #expect(throws: StorageError.self) {
      try await session.start { CarelessClient(persistence: $0) }
    }
    #expect(error?.code == .unsupported && error?.key == "b")
    #expect(try await TypedStore(engine: engine).exists("b") == false)
    // A client that was not started has no keys.
    _ = try await session.start { PrintedClient(persistence: $0) }
    #expect(await codeThrown { _ = try await session.start { PrintedClient(persistence: $0) } } == .unsupported)
  }
}
