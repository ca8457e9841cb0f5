import CofferLocks
public import Foundation

/// Lets one request at a time go out, first come, first served, with pauses between them, and none while resting.
///
/// Shopify counts the requests of a device over all of its shops together and dislikes parallel ones. So all clients
/// of a process share ``shared``, and a refusal by one shop ends the requests to all of them for a while.
public final class RequestGate: Sendable {
  /// The gate of the process.
  public static let shared = RequestGate()

  /// The shortest rest after "too many requests", whatever the shop says.
  static let shortestRest: TimeInterval = 120
  /// The longest rest that comes from doubling.
  static let longestRest: TimeInterval = 1800
  /// How long after the end of a rest another refusal counts as its continuation.
  static let memory: TimeInterval = 3600
  /// What is believed of a shop's `Retry-After` at most.
  static let longestRetryAfter: TimeInterval = 86_400

  /// How long to wait after the request before.
  struct Pauses: Sendable {
    var sameShop: Duration
    var otherShop: Duration
  }

  private struct Waiter {
    var id: Int
    var turn: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var isBusy = false
    var waiters: [Waiter] = []
    var nextID = 0
    var restingUntil: Date?
    var refusals = 0
    var last: (shop: ShopAddress, end: Date)?

    func isRefused(at now: Date) -> Bool {
      refusals > 0 && restingUntil.map { now < $0.addingTimeInterval(RequestGate.memory) } ?? true
    }
  }

  /// The clock of the pauses and rests.
  public let clock: ShopClock
  private let state = Locked(State())

  /// A gate of its own, for tests.
  public init(clock: ShopClock = .system) { self.clock = clock }

  // MARK: - Rest

  /// Before this moment no request begins; `nil` when there is no rest, or none any more.
  public var restingUntil: Date? {
    let now = clock.now()
    // An end beyond a day comes from a clock that was set back since.
    return state.withLock {
      $0.restingUntil.flatMap { $0 > now && $0 <= now.addingTimeInterval(Self.longestRetryAfter) ? $0 : nil }
    }
  }

  /// Whether a shop has refused lately and none has served since: silence is a refusal then.
  var isRefused: Bool {
    let now = clock.now()
    return state.withLock { $0.isRefused(at: now) }
  }

  /// How often "too many requests" was said since the last page of products.
  public var refusals: Int { state.withLock { $0.refusals } }

  /// Begins a rest, or makes it longer.
  public func rest(until: Date) {
    state.withLock { $0.restingUntil = max($0.restingUntil ?? until, until) }
  }

  /// Goes on with a rest of an earlier process.
  public func restore(until: Date?, refusals: Int) {
    state.withLock { state in
      // Whoever has restored nothing begins anew; otherwise the longer rest holds.
      let present = state.restingUntil
      state.restingUntil = until.map { max(present ?? $0, $0) }
      state.refusals = until == nil ? max(0, refusals) : max(state.refusals, refusals)
    }
  }

  /// A shop has refused: rests two minutes, twice as long for each refusal after another up to half an hour, and
  /// never less than the shop asks for.
  @discardableResult
  func refuse(retryAfter: TimeInterval?) -> Date {
    let now = clock.now()
    return state.withLock {
      if !$0.isRefused(at: now) { $0.refusals = 0 }
      let doublings = min($0.refusals, 8)
      $0.refusals += 1
      let doubled = min(Self.shortestRest * Double(1 << doublings), Self.longestRest)
      let until = now.addingTimeInterval(max(doubled, min(retryAfter ?? 0, Self.longestRetryAfter)))
      let longest = max($0.restingUntil ?? until, until)
      $0.restingUntil = longest
      return longest
    }
  }

  /// A shop has served products: the next refusal is a first one again.
  func served() { state.withLock { $0.refusals = 0 } }

  private func refuseWhileResting() throws {
    if let until = restingUntil { throw SyncError.resting(until: until) }
  }

  // MARK: - Turns

  /// Runs `body` when it is its turn and the pause is over.
  /// - Throws: ``SyncError/resting(until:)`` instead of waiting for the end of a rest.
  func perform<R>(for shop: ShopAddress, pauses: Pauses, _ body: () async throws -> R) async throws -> R {
    try refuseWhileResting()
    try await enter()
    var hasAsked = false
    defer { leave(after: hasAsked ? shop : nil) }
    try Task.checkCancellation()
    try refuseWhileResting()
    if let wait = remainingPause(for: shop, pauses: pauses) {
      try await clock.sleep(wait)
      try refuseWhileResting()
    }
    hasAsked = true
    return try await body()
  }

  private func remainingPause(for shop: ShopAddress, pauses: Pauses) -> Duration? {
    guard let last = state.withLock({ $0.last }) else { return nil }
    let pause = last.shop == shop ? pauses.sameShop : pauses.otherShop
    // A clock that was set back must not make the pause longer.
    let wait = min(pause - .seconds(clock.now().timeIntervalSince(last.end)), pause)
    return wait > .zero ? wait : nil
  }

  private func enter() async throws {
    let id = state.withLock {
      $0.nextID += 1
      return $0.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { turn in
        let isFree = state.withLock { state in
          if state.isBusy {
            state.waiters.append(Waiter(id: id, turn: turn))
            return false
          }
          state.isBusy = true
          return true
        }
        if isFree { turn.resume() } else if Task.isCancelled { giveUp(id) }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  private func giveUp(_ id: Int) {
    let turn = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).turn }
    }
    turn?.resume(throwing: CancellationError())
  }

  /// Hands the turn on.
  private func leave(after shop: ShopAddress?) {
    let now = clock.now()
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      if let shop { state.last = (shop, now) }
      if !state.waiters.isEmpty { return state.waiters.removeFirst().turn }
      state.isBusy = false
      return nil
    }
    next?.resume()
  }
}
