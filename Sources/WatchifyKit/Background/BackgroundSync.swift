import Coffer
public import Foundation

extension StoreService {
  /// Reads all stores, one after another, keeps their errors in ``BackgroundSyncState``, notifies of the news and
  /// deletes what is too old (document 2). While a shop's refusal holds nothing is asked, and nothing is an error.
  /// - Returns: The news of all stores.
  @discardableResult
  public nonisolated func syncAllStoresWithErrorTracking(
    notifications: NotificationService? = nil, isOnline: (@Sendable () async -> Bool)? = nil
  ) async -> [ChangeEventDTO] {
    var news: [ChangeEventDTO] = []
    for id in await answer([], { try await self.storeIds() }) {
      guard !Task.isCancelled else { break }
      do {
        news += try await syncStore(storeId: id)
        await BackgroundSyncState.shared.recordSuccess(forStore: id)
      } catch is CancellationError {
        break
      } catch SyncError.resting {
        break  // It holds for every shop.
      } catch SyncError.storeNotFound {
        await BackgroundSyncState.shared.recordSuccess(forStore: id)  // Forgotten meanwhile.
      } catch let error as SyncError {
        // Without a network no store has failed.
        if error == .unreachable || error == .networkUnavailable, await isOnline?() == false { break }
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
    /// A shop has asked for a pause until then.
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
      guard await isOnline() else {
        status(.offline)
        guard await waitForNetwork() else { return }
        continue
      }
      status(.syncing)
      await service.forgetFailure()
      await service.syncAllStoresWithErrorTracking(notifications: notifications) { await self.isOnline() }
      guard await isOnline() else { continue }
      if let failure = await service.lastFailure { status(.failed("\(failure)")) }
      guard await rest(until: pause()) else { return }
    }
  }

  /// Waits for the next round. What may be told before that, after quiet hours for example, is told then.
  private func rest(until end: Date) async -> Bool {
    while true {
      let now = service.now()
      let turn = try? await notificationService().nextTurn()
      // A minute at least: a channel that fails is not asked all the time.
      guard let turn, turn < end else { return await sleep(end.timeIntervalSince(now)) }
      guard await sleep(max(60, turn.timeIntervalSince(now))) else { return false }
      await notificationService().send(for: [])
      if service.now() >= end { return true }
    }
  }

  private func notificationService() async -> NotificationService {
    if let notifications { notifications } else { await NotificationService.shared }
  }

  private func pause() async -> Date {
    if let until = try? await service.restingUntil() {
      status(.resting(until: until))
      return until.addingTimeInterval(jitter(1...10))
    }
    let minutes = (try? await service.modelContainer.settings.get(StorageKeys.syncIntervalMinutes)) ?? 30
    let seconds = Double(max(5, minutes)) * 60 * jitter(0.9...1.1)
    let until = service.now().addingTimeInterval(seconds)
    status(.waiting(until: until))
    return until
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
