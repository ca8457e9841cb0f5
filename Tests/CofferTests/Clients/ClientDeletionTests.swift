import Coffer
import CofferLocks
import CofferTesting
import Testing

/// A client whose property that is not stored is read by something else while the client is asked, at times.
private struct WatchedClient: Persistable {
  static let persistedKeys = ["number", "other"]
  let persistence: any PersistenceCapability
  let isWatched = Locked(false)
  @ClientState var number = 0
  @ClientState var other = 0
  @ClientState var position = 0

  init(persistence: any PersistenceCapability) { self.persistence = persistence }

  func persistState() async throws {
    let isWatched = isWatched.withLock { isWatched in
      defer { isWatched = false }
      return isWatched
    }
    if isWatched { _ = await Task.detached { position }.value }
    try await persistence.save(number, for: "number")
    try await persistence.save(other, for: "other")
  }
  func restoreState() async throws {
    // Every restoration is watched once.
    isWatched.withLock { $0 = true }
    if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
    if let saved = try await persistence.load(Int.self, for: "other") { other = saved }
  }
}

/// What other processes delete, beside edits that are pending or follow.
@Suite(.timeLimit(.minutes(10))) struct ClientDeletionTests {
  private let engine = MemoryEngine()

  private func session() -> ClientSession { ClientSession(engine: engine, clock: ManualClock()) }

  @Test func whatOthersDeleteStaysDeletedWhileAnotherEditIsPending() async throws {
    let other = TypedStore(engine: engine)
    try await other.saveAll([("theme", Theme.dark)])
    try await other.save("de", for: "language")
    let session = session()
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    preferences.client.language = "fr"
    preferences.client.scrollPosition = 7  // is not stored
    try await other.delete("theme")
    // The later change shows that the deletion has arrived, too.
    try await other.save(false, for: "notifications")
    try await waitUntil("the change arrives") { !preferences.client.notificationsEnabled }
    try await session.save()
    #expect(try await other.exists("theme") == false)
    #expect(try await other.load(String.self, for: "language") == "fr")
    #expect(try await other.load(Bool.self, for: "notifications") == false)
    preferences.client.theme = .system
    try await session.save()
    #expect(try await other.load(Theme.self, for: "theme") == .system)
  }

  @Test func anEditReplacesWhatOthersHaveChangedOrDeletedAlsoAfterAnEarlierSave() async throws {
    let other = TypedStore(engine: engine)
    let session = session()
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    preferences.client.theme = .dark
    preferences.client.language = "fr"
    try await session.save()
    preferences.client.theme = .system
    preferences.client.language = "en"
    try await other.delete("theme")
    try await other.save("it", for: "language")
    try await other.save(false, for: "notifications")
    try await waitUntil("the change arrives") { !preferences.client.notificationsEnabled }
    // Back to what was stored before: an edit all the same, which another process has replaced meanwhile.
    preferences.client.language = "fr"
    try await session.save()
    #expect(try await other.load(Theme.self, for: "theme") == .system)
    #expect(try await other.load(String.self, for: "language") == "fr")
  }

  enum Edits: CaseIterable { case toAndFroAroundTheDeletion, toAndFroAfterIt, sameValueBefore, sameValueAfter }

  /// An edit is one whatever the value was before, but what was not edited stays deleted.
  @Test(arguments: Edits.allCases)
  func anEditToTheRememberedValueIsSavedAfterAnotherProcessHasDeletedIt(_ edits: Edits) async throws {
    let other = TypedStore(engine: engine)
    try await other.save("de", for: "language")
    let session = session()
    let preferences = try await session.start { PrintedClient(persistence: $0) }
    preferences.client.theme = .dark
    try await session.save()
    switch edits {
    case .toAndFroAroundTheDeletion: preferences.client.theme = .system
    case .sameValueBefore: preferences.client.theme = .dark
    case .toAndFroAfterIt, .sameValueAfter: break
    }
    try await other.deleteAll(["theme", "language"])
    try await other.save(false, for: "notifications")
    try await waitUntil("the change arrives") { !preferences.client.notificationsEnabled }
    switch edits {
    case .toAndFroAfterIt:
      preferences.client.theme = .system
      preferences.client.theme = .dark
    case .toAndFroAroundTheDeletion, .sameValueAfter: preferences.client.theme = .dark
    case .sameValueBefore: break
    }
    try await session.save()
    #expect(try await other.load(Theme.self, for: "theme") == .dark)
    #expect(try await !other.exists("language"))
  }

  @Test func aReadElsewhereDuringARestorationDoesNotRevokeADeletion() async throws {
    let other = TypedStore(engine: engine)
    try await other.save(1, for: "number")
    let session = session()
    let client = try await session.start { WatchedClient(persistence: $0) }
    client.client.position = 5
    client.client.isWatched.withLock { $0 = true }
    try await other.delete("number")
    try await other.save(1, for: "other")
    try await waitUntil("the change arrives") { client.client.other == 1 }
    try await session.save()
    #expect(try await !other.exists("number"))
  }
}
