import CofferCore
public import Foundation

/// A first-in, first-out gate that admits one request at a time, with a delay between requests, and none during a pause
/// that a shop has requested.
///
/// Shopify counts the requests of a device to all of its shops together and throttles parallel ones. So all clients of
/// a process share ``shared``, and a refusal by Shopify's own servers pauses the requests to all shops. A refusal by
/// any other server pauses only that shop.
public final class RequestGate: Sendable {
  /// The gate shared by the process.
  public static let shared = RequestGate()

  /// The minimum pause after "too many requests", in seconds.
  static let shortestRest: TimeInterval = 120
  /// The maximum pause that results from doubling, in seconds.
  static let longestDoubled: TimeInterval = 1800
  /// The time after a pause, in seconds, in which another refusal still doubles it.
  static let memory: TimeInterval = 3600
  /// The maximum pause that a `Retry-After` header can set, in seconds.
  static let longestRest: TimeInterval = 3600

  /// A pause during which no request is made to a shop, or to any shop.
  public struct Rest: Hashable, Sendable {
    /// The paused shop; `nil` for all shops.
    public var shop: ShopAddress?
    /// The end of the pause.
    public var until: Date
    /// The number of "too many requests" responses since the last page of products.
    public var refusals: Int
    /// The date of the refusal. Of two pauses of a shop, the newer one applies.
    public var since: Date

    /// Creates a pause.
    public init(shop: ShopAddress? = nil, until: Date, refusals: Int = 1, since: Date) {
      self.shop = shop
      self.until = until
      self.refusals = max(0, refusals)
      self.since = since
    }

    func isRefused(at now: Date) -> Bool { refusals > 0 && now < until.addingTimeInterval(RequestGate.memory) }

    /// Returns the number of refusals including one whose pause ends at `end`: unchanged if that is this pause.
    func refusals(afterRestUntil end: Date, at now: Date) -> Int {
      if holds(at: now), end == until { return refusals }
      return isRefused(at: now) ? refusals + 1 : 1
    }

    /// Returns whether the pause is in effect. An end too far in the future means that the clock was set back; the
    /// pause is then void.
    func holds(at now: Date) -> Bool { until > now && until <= now.addingTimeInterval(RequestGate.longestRest) }
  }

  /// The delays after the previous request.
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
    var rests: [ShopAddress?: Rest] = [:]
    var last: (shop: ShopAddress, end: Date)?
  }

  /// The clock used for delays and pauses.
  public let clock: ShopClock
  private let state = Locked(State())

  /// Creates a separate gate, for tests.
  public init(clock: ShopClock = .system) { self.clock = clock }

  // MARK: - Pauses

  /// The date before which no request to any shop begins; `nil` if no pause for all shops is in effect.
  public var restingUntil: Date? { rest(before: nil)?.until }

  /// Returns the pause in effect for a shop: that of all shops, or its own.
  func rest(before shop: ShopAddress?) -> Rest? {
    let now = clock.now()
    return state.withLock { state in
      [nil, shop].compactMap { state.rests[$0] }.first { $0.holds(at: now) }
    }
  }

  /// Whether a shop, or Shopify for all shops, has refused recently and not served since; a missing response then
  /// counts as another refusal.
  func isRefused(_ shop: ShopAddress) -> Bool {
    let now = clock.now()
    return state.withLock { state in [nil, shop].contains { state.rests[$0]?.isRefused(at: now) ?? false } }
  }

  /// Returns the number of "too many requests" responses of a shop, or of Shopify if `nil`, since the last page of
  /// products.
  public func refusals(of shop: ShopAddress?) -> Int { state.withLock { $0.rests[shop]?.refusals ?? 0 } }

  /// Restores pauses recorded by an earlier or another process. Of two pauses of a shop, the newer one is kept.
  public func restore(_ rests: [Rest]) {
    state.withLock { state in
      for rest in rests {
        if let known = state.rests[rest.shop], known.since > rest.since { continue }
        state.rests[rest.shop] = rest
      }
    }
  }

  /// Records a "too many requests" response and returns the end of the resulting pause: two minutes, doubled for each
  /// consecutive refusal up to half an hour, and at least as long as requested, up to an hour.
  /// - Parameter shop: the shop to pause; `nil` for all shops.
  @discardableResult
  func refuse(_ shop: ShopAddress?, retryAfter: TimeInterval?) -> Date {
    let now = clock.now()
    return state.withLock { state in
      let known = state.rests[shop]
      let refusals = known.map { $0.isRefused(at: now) ? $0.refusals : 0 } ?? 0
      let doubled = min(Self.shortestRest * Double(1 << min(refusals, 8)), Self.longestDoubled)
      let wanted = now.addingTimeInterval(min(max(doubled, retryAfter ?? 0), Self.longestRest))
      let until = known.flatMap { $0.holds(at: now) ? max($0.until, wanted) : nil } ?? wanted
      state.rests[shop] = Rest(shop: shop, until: until, refusals: refusals + 1, since: now)
      return until
    }
  }

  /// Resets the refusals of a shop, and of Shopify, after a page of products.
  func served(_ shop: ShopAddress) {
    state.withLock { state in
      for shop in [nil, shop] { state.rests[shop]?.refusals = 0 }
    }
  }

  private func refuseWhileResting(_ shop: ShopAddress) throws {
    if let rest = rest(before: shop) { throw SyncFailure.resting(until: rest.until, shop: rest.shop?.domain) }
  }

  // MARK: - Turns

  /// Runs `body` once earlier requests have ended and the delay has passed.
  /// - Throws: ``SyncFailure/resting(until:shop:)`` during a pause, instead of waiting for its end.
  func perform<R>(for shop: ShopAddress, pauses: Pauses, _ body: () async throws -> R) async throws -> R {
    try refuseWhileResting(shop)
    try await enter()
    var hasAsked = false
    defer { leave(after: hasAsked ? shop : nil) }
    try Task.checkCancellation()
    try refuseWhileResting(shop)
    if let wait = remainingPause(for: shop, pauses: pauses) {
      try await clock.sleep(wait)
      try refuseWhileResting(shop)
    }
    hasAsked = true
    return try await body()
  }

  private func remainingPause(for shop: ShopAddress, pauses: Pauses) -> Duration? {
    guard let last = state.withLock({ $0.last }) else { return nil }
    let pause = last.shop == shop ? pauses.sameShop : pauses.otherShop
    // A clock that was set back must not extend the delay.
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

  /// Admits the next waiting request.
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
