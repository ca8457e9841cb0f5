import Coffer
import CofferDatabase
public import Foundation

extension StoreService {
  /// Reads all stores, one after another, keeps their errors in ``BackgroundSyncState``, notifies of the news and
  /// deletes what is too old (document 2). While a shop's refusal holds nothing is asked, and nothing is an error.
  /// - Parameters:
  ///   - notifications: what tells the news of each store as soon as it was read; `nil` for nobody.
  ///   - domains: the addresses of the stores to read; all of them unless given.
  ///   - isOnline: whether there is a network. Without one, stores on this device are read alone, and no other has
  ///     failed.
  /// - Returns: The news of all stores.
  @discardableResult
  public nonisolated func syncAllStoresWithErrorTracking(
    notifications: NotificationService? = nil, only domains: [String]? = nil,
    isOnline: (@Sendable () async -> Bool)? = nil
  ) async -> [ChangeEventDTO] {
    var news: [ChangeEventDTO] = []
    for store in await answer([], { try await self.storePlaces() }) {
      let id = store.id
      guard !Task.isCancelled else { break }
      guard domains?.contains(store.domain) ?? true else { continue }
      if !store.isLocal, await isOnline?() == false { continue }
      do {
        news += try await syncStore(storeId: id)
        await BackgroundSyncState.shared.recordSuccess(forStore: id)
      } catch is CancellationError {
        break
      } catch SyncError.resting(_, let shop) {
        if shop == nil { break }  // It holds for every shop.
      } catch SyncError.storeNotFound {
        await BackgroundSyncState.shared.recordSuccess(forStore: id)  // Forgotten meanwhile.
      } catch let error as SyncError {
        // Without a network no store has failed.
        if !store.isLocal, error.mayBeOffline, await isOnline?() == false { continue }
        await BackgroundSyncState.shared.recordError(error, forStore: id)
      } catch { await note(error) }
      await Task.yield()
    }
    let service = if let notifications { notifications } else { await NotificationService.shared }
    await service.send(for: news)
    do { try await deleteWhatIsTooOld() } catch { await note(error) }
    return news
  }
}

extension StoreService {
  /// Stops following a store and forgets everything known of it, its error in ``BackgroundSyncState`` too.
  /// - Throws: `StorageError`.
  public nonisolated func deleteStore(id: UUID) async throws {
    try await deleteRows(ofStore: id)
    await BackgroundSyncState.shared.recordSuccess(forStore: id)
  }

  /// The followed stores, in the order of following, and whether each is on this very device.
  func storePlaces() async throws -> [(id: UUID, domain: String, isLocal: Bool)] {
    try await database.read { try StoreRecord.all("ORDER BY no", [], in: $0) }.map { store in
      (id: store.id, domain: store.domain, isLocal: (try? ShopAddress(store.domain))?.isLoopback ?? false)
    }
  }
}

extension SyncError {
  /// Whether the lack of a network looks like this.
  fileprivate var mayBeOffline: Bool {
    [.unreachable, .networkUnavailable, .networkTimeout, .connectionLost].contains(self)
  }
}

/// The document's background loop: reads all stores, waits, and begins again.
///
/// ```swift
/// let sync = Task.detached { await BackgroundSync(service: service).run() }
/// ```
public struct BackgroundSync: Sendable {
  /// What the loop is doing, for a line of status.
  public enum Status: Sendable {
    /// It reads the stores.
    case syncing
    /// It waits until then.
    case waiting(until: Date)
    /// Shopify has asked for a pause until then: no store is read.
    case resting(until: Date)
    /// There is no network.
    case offline
    /// The database failed in the last round, with these words.
    case failed(String)
  }

  let service: StoreService
  let notifications: NotificationService?
  let network: NetworkMonitor?
  let status: @Sendable (Status) -> Void
  let jitter: @Sendable (ClosedRange<Double>) -> Double
  let clock: ShopClock

  /// A loop.
  /// - Parameters:
  ///   - service: whose stores are read.
  ///   - notifications: what tells of the news; the shared one unless given.
  ///   - network: what says whether there is a network; without it there is taken to be one.
  ///   - status: told what the loop does.
  ///   - jitter: a number in a range, so that not all the world reads at the same moment.
  ///   - clock: by which it sleeps.
  public init(
    service: StoreService, notifications: NotificationService? = nil, network: NetworkMonitor? = nil,
    status: @escaping @Sendable (Status) -> Void = { _ in },
    jitter: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) },
    clock: ShopClock = .system
  ) {
    self.service = service
    self.notifications = notifications
    self.network = network
    self.status = status
    self.jitter = jitter
    self.clock = clock
  }

  /// Runs until the task is cancelled. The interval is read anew each round.
  public func run() async {
    while !Task.isCancelled {
      // Looked at each round: what is followed changes while the loop runs.
      guard await canRead() else {
        status(.offline)
        guard await waitForNetwork() else { return }
        continue
      }
      status(.syncing)
      await service.forgetFailure()
      await service.syncAllStoresWithErrorTracking(notifications: notifications) { await self.isOnline() }
      guard await canRead() else { continue }
      if let failure = await service.lastFailure { status(.failed("\(failure)")) }
      let (end, now) = await pause()
      status(now)
      let watcher = tellOfNetwork(now)
      defer { watcher?.cancel() }
      guard await isOnline() else {
        // Only stores on this device were read; the others are when the network is back.
        guard await restOrNetwork(until: end) else { return }
        continue
      }
      guard await rest(until: end) else { return }
    }
  }

  /// Says it while the loop waits when the network goes, and what it waits for when it is back.
  private func tellOfNetwork(_ waiting: Status) -> Task<Void, Never>? {
    guard let network else { return nil }
    return Task {
      var wasConnected = true
      for await isConnected in await network.changes() where isConnected != wasConnected {
        wasConnected = isConnected
        status(isConnected ? waiting : .offline)
      }
    }
  }

  /// Waits for the next round, or for the network if that is back before.
  private func restOrNetwork(until end: Date) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { await self.rest(until: end) }
      group.addTask { await self.waitForNetwork() }
      let isFirst = await group.next() ?? false
      group.cancelAll()
      return isFirst
    }
  }

  /// Waits for the next round. What may be told before that, after quiet hours for example, is told then; a store whose
  /// pause somebody has ended is read then.
  private func rest(until end: Date) async -> Bool {
    var pauses = EndedPauses()
    while true {
      let now = service.now()
      if await pauses.look(service) { return true }
      if await read(&pauses) { status(.waiting(until: end)) }
      let turn = try? await notificationService().nextTurn()
      // A minute at least: a channel that fails is not asked all the time.
      let next = turn.map { max($0, now.addingTimeInterval(60)) }
      let isTurn = turn.map { $0 < end } ?? false
      let wake = isTurn ? next ?? end : end
      if pauses.isWatching, wake.timeIntervalSince(now) > Self.pauseLook {
        guard await sleep(Self.pauseLook) else { return false }
        continue
      }
      guard await sleep(wake.timeIntervalSince(now)) else { return false }
      guard isTurn else { return true }
      await notificationService().send(for: [])
      if service.now() >= end { return true }
    }
  }

  /// How often it is looked whether somebody has ended a pause, in seconds.
  private static let pauseLook: TimeInterval = 60

  /// Reads the stores whose pause was ended; says whether there were any.
  private func read(_ pauses: inout EndedPauses) async -> Bool {
    let ended = pauses.ended
    guard !ended.isEmpty else { return false }
    await service.syncAllStoresWithErrorTracking(notifications: notifications, only: ended) { await self.isOnline() }
    pauses.ended = []
    return true
  }

  private func notificationService() async -> NotificationService {
    if let notifications { notifications } else { await NotificationService.shared }
  }

  private func pause() async -> (end: Date, status: Status) {
    if let until = try? await service.restingUntil() {
      return (until.addingTimeInterval(jitter(1...10)), .resting(until: until))
    }
    let minutes = (try? await service.modelContainer.settings.get(StorageKeys.syncIntervalMinutes)) ?? 30
    let seconds = Double(max(5, minutes)) * 60 * jitter(0.9...1.1)
    let until = service.now().addingTimeInterval(seconds)
    return (until, .waiting(until: until))
  }

  /// Whether any store can be read: with a network all of them, without one those on this device.
  private func canRead() async -> Bool {
    if await isOnline() { return true }
    return (try? await service.storePlaces().contains(where: \.isLocal)) ?? false
  }

  private func isOnline() async -> Bool {
    guard let network else { return true }
    return await network.isConnected
  }

  /// Whether to go on: soon after the network is back, but not all at once.
  private func waitForNetwork() async -> Bool {
    guard let network else { return true }
    for await isConnected in await network.changes() where isConnected { return await sleep(jitter(1...5)) }
    return false
  }

  private func sleep(_ seconds: Double) async -> Bool {
    do {
      try await clock.sleep(.seconds(max(0, seconds)))
      return true
    } catch { return false }
  }
}
