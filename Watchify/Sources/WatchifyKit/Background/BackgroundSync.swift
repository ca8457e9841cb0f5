import CofferRouter
import CofferSQLite
public import Foundation
import WatchifyCShims

extension StoreService {
  /// Syncs all stores, one after another, records their errors in ``BackgroundSyncState``, posts notifications for the
  /// news and deletes expired history. A store in its "Too many requests" pause is skipped; that is not recorded as an
  /// error.
  /// - Parameters:
  ///   - notifications: the service that posts the notifications; ``NotificationService/shared`` if `nil`.
  ///   - domains: the addresses of the stores to sync; all of them if `nil`.
  ///   - isOnline: whether the device is online. While it is not, only stores on this device are synced and no error is
  ///     recorded for the others.
  ///   - keepsNews: whether the news is returned, which takes about 500 bytes for each event.
  /// - Returns: The news of all stores.
  @discardableResult
  public nonisolated func syncAllStoresWithErrorTracking(
    notifications: NotificationService? = nil, only domains: [String]? = nil, keepsNews: Bool = true,
    isOnline: (@Sendable () async -> Bool)? = nil
  ) async -> [ChangeEventDTO] {
    var news: [ChangeEventDTO] = []
    for store in await answer([], { try await self.storeDomains() }) {
      let id = store.id
      guard !Task.isCancelled else { break }
      guard domains?.contains(store.domain) ?? true else { continue }
      if !store.isLocal, await isOnline?() == false { continue }
      do {
        let own = try await sync(id)
        if keepsNews { news += own }
        await BackgroundSyncState.shared.recordSuccess(forStore: id)
      } catch is CancellationError {
        break
      } catch SyncFailure.invalidResponse(.resting(_, let shop)) {
        if shop == nil { break }  // The pause applies to every shop.
      } catch SyncFailure.storeNotFound {
        await BackgroundSyncState.shared.recordSuccess(forStore: id)  // Deleted in the meantime.
      } catch let failure as SyncFailure {
        // While offline, this is no failure of the store.
        if !store.isLocal, failure.mayBeOffline, await isOnline?() == false { continue }
        await BackgroundSyncState.shared.recordError(failure.error, forStore: id)
      } catch { await note(error) }
      await Task.yield()
    }
    let service = if let notifications { notifications } else { await NotificationService.shared }
    do { try await service.sendPending() } catch { await note(error) }
    do { try await deleteWhatIsTooOld() } catch { await note(error) }
    return news
  }

  /// Returns memory that is not in use to the system, for the time until the next round: the cached pages of the
  /// database, and what the allocator keeps.
  public nonisolated func releaseMemory() async {
    await database.releaseMemory()
    watchify_trim_memory()
  }
}

extension StoreService {
  /// Stops following a store and deletes all of its data, including its error in ``BackgroundSyncState``.
  /// - Throws: `StorageError`.
  public nonisolated func deleteStore(id: UUID) async throws {
    try await deleteRows(ofStore: id)
    await BackgroundSyncState.shared.recordSuccess(forStore: id)
  }

  /// The followed stores, in the order in which they were added, and whether each is served by this device.
  func storeDomains() async throws -> [(id: UUID, domain: String, isLocal: Bool)] {
    try await database.read { try StoreRecord.all("ORDER BY no", [], in: $0) }.map { store in
      (id: store.id, domain: store.domain, isLocal: (try? ShopAddress(store.domain))?.isLoopback ?? false)
    }
  }
}

extension SyncFailure {
  /// Whether a missing network connection may have caused the error.
  fileprivate var mayBeOffline: Bool {
    switch self {
    case .networkUnavailable(.privateAddress), .networkUnavailable(.insecure): false
    case .networkUnavailable, .networkTimeout: true
    case .storeNotFound, .rateLimited, .serverError, .invalidResponse: false
    }
  }
}

/// The background loop: syncs all stores, waits for the sync interval, and repeats.
///
/// ```swift
/// let sync = Task.detached { await BackgroundSync(service: service).run() }
/// ```
public struct BackgroundSync: Sendable {
  /// What the loop is doing, for a status line.
  public enum Status: Sendable {
    /// The stores are being synced.
    case syncing
    /// The next round begins at the given date.
    case waiting(until: Date)
    /// Shopify has requested a pause: no store is synced before the given date.
    case resting(until: Date)
    /// The device is offline.
    case offline
    /// The database failed in the last round; the value is the error's description.
    case failed(String)
  }

  let service: StoreService
  let notifications: NotificationService?
  let network: NetworkMonitor?
  let pulse: LoopPulse?
  let status: @Sendable (Status) -> Void
  let jitter: @Sendable (ClosedRange<Double>) -> Double
  let clock: ShopClock

  /// Creates a loop; ``run()`` starts it.
  /// - Parameters:
  ///   - service: the service whose stores are synced.
  ///   - notifications: the service that posts notifications; ``NotificationService/shared`` if `nil`.
  ///   - network: the monitor that reports connectivity; if `nil`, the device is assumed to be online.
  ///   - pulse: is told each step of the loop, for a watchdog.
  ///   - status: called whenever the status changes.
  ///   - jitter: returns a random number in a range, so that installations do not all sync at the same time.
  ///   - clock: the clock used for waiting.
  public init(
    service: StoreService, notifications: NotificationService? = nil, network: NetworkMonitor? = nil,
    pulse: LoopPulse? = nil, status: @escaping @Sendable (Status) -> Void = { _ in },
    jitter: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) },
    clock: ShopClock = .system
  ) {
    self.service = service
    self.notifications = notifications
    self.network = network
    self.pulse = pulse
    self.status = status
    self.jitter = jitter
    self.clock = clock
  }

  /// Runs until the task is cancelled. The interval is read again before each wait.
  public func run() async { await LoopPulse.$current.withValue(pulse) { await runRounds() } }

  /// The longest time for the work between two waits or requests: the writing of a large catalogue on a slow disk.
  private static let longestWork: Duration = .seconds(600)

  private func runRounds() async {
    while !Task.isCancelled {
      pulse?.step(within: Self.longestWork)
      // Checked each round: stores may be added or removed while the loop runs.
      guard await canRead() else {
        status(.offline)
        pulse?.step(within: nil)
        guard await waitForNetwork() else { return }
        continue
      }
      status(.syncing)
      await service.forgetFailure()
      await service.syncAllStoresWithErrorTracking(notifications: notifications, keepsNews: false) {
        await self.isOnline()
      }
      guard await canRead() else { continue }
      if let failure = await service.lastFailure { status(.failed("\(failure)")) }
      let (end, now) = await pause()
      status(now)
      let watcher = tellOfNetwork(now)
      defer { watcher?.cancel() }
      guard await isOnline() else {
        // Only stores on this device were synced; the others follow when the network is back.
        guard await restOrNetwork(until: end) else { return }
        continue
      }
      guard await rest(until: end) else { return }
    }
  }

  /// Reports `.offline` when the network is lost during a wait, and the wait's own status when it returns.
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

  /// Waits for the next round or for the network, whichever comes first; returns `false` when cancelled.
  private func restOrNetwork(until end: Date) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { await self.rest(until: end) }
      group.addTask { await self.waitForNetwork() }
      let isFirst = await group.next() ?? false
      group.cancelAll()
      return isFirst
    }
  }

  /// Waits for the next round; returns `false` when cancelled. Notifications that become due meanwhile, at the end of
  /// quiet hours for example, are posted when due, and a store whose pause was ended early is synced at once.
  private func rest(until end: Date) async -> Bool {
    var pauses = EndedPauses()
    while true {
      let now = service.now()
      if await pauses.look(service) { return true }
      if await read(&pauses) { status(.waiting(until: end)) }
      let turn = try? await notificationService().nextTurn()
      // At least a minute, so that a failing channel is not retried continuously.
      let next = turn.map { max($0, now.addingTimeInterval(60)) }
      let isTurn = turn.map { $0 < end } ?? false
      let wake = isTurn ? next ?? end : end
      if pauses.isWatching, wake.timeIntervalSince(now) > Self.pauseLook {
        guard await sleep(Self.pauseLook) else { return false }
        continue
      }
      guard await sleep(wake.timeIntervalSince(now)) else { return false }
      guard isTurn else { return true }
      do { try await notificationService().sendPending() } catch { await service.note(error) }
      if service.now() >= end { return true }
    }
  }

  /// The interval between checks for pauses that were ended early, in seconds.
  private static let pauseLook: TimeInterval = 60

  /// Syncs the stores whose pause was ended early; returns whether there were any.
  private func read(_ pauses: inout EndedPauses) async -> Bool {
    let ended = pauses.ended
    guard !ended.isEmpty else { return false }
    await service.syncAllStoresWithErrorTracking(notifications: notifications, only: ended, keepsNews: false) {
      await self.isOnline()
    }
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

  /// Whether any store can be synced: all of them while online, only those on this device while offline.
  private func canRead() async -> Bool {
    if await isOnline() { return true }
    return (try? await service.storeDomains().contains(where: \.isLocal)) ?? false
  }

  private func isOnline() async -> Bool {
    guard let network else { return true }
    return await network.isConnected
  }

  /// Waits until the network is back, then 1 to 5 seconds more; returns `false` when cancelled.
  private func waitForNetwork() async -> Bool {
    guard let network else { return true }
    for await isConnected in await network.changes() where isConnected { return await sleep(jitter(1...5)) }
    return false
  }

  private func sleep(_ seconds: Double) async -> Bool {
    let time = Duration.seconds(max(0, seconds))
    pulse?.step(within: time + Self.longestWork)
    do {
      try await clock.sleep(time)
      return true
    } catch { return false }
  }
}
