import CofferLocks
public import Foundation

/// Lets one request at a time go out, first come, first served, with pauses between them, and none to who has asked to
/// be left in peace.
///
/// Shopify counts the requests of a device over all of its shops together and dislikes parallel ones. So all clients
/// of a process share ``shared``, and a refusal by Shopify's own front ends the requests to all shops for a while. What
/// any other server refuses is its own affair: that shop rests, and the others are read.
public final class RequestGate: Sendable {
  /// The gate of the process.
  public static let shared = RequestGate()

  /// The shortest rest after "too many requests", whatever the shop says.
  static let shortestRest: TimeInterval = 120
  /// The longest rest that comes from doubling.
  static let longestDoubled: TimeInterval = 1800
  /// How long after the end of a rest another refusal counts as its continuation.
  static let memory: TimeInterval = 3600
  /// The longest rest, whatever a `Retry-After` says.
  static let longestRest: TimeInterval = 3600

  /// A time in which somebody is not asked.
  public struct Rest: Hashable, Sendable {
    /// Who; `nil` for every shop.
    public var shop: ShopAddress?
    /// Its end.
    public var until: Date
    /// How often "too many requests" was said since the last page of products.
    public var refusals: Int
    /// When this was found out: the newest word counts.
    public var since: Date

    /// A rest.
    public init(shop: ShopAddress? = nil, until: Date, refusals: Int = 1, since: Date) {
      self.shop = shop
      self.until = until
      self.refusals = max(0, refusals)
      self.since = since
    }

    func isRefused(at now: Date) -> Bool { refusals > 0 && now < until.addingTimeInterval(RequestGate.memory) }

    /// How many refusals there were, when one is met whose rest has this end: the same, when it is this rest.
    func refusals(afterRestUntil end: Date, at now: Date) -> Int {
      if holds(at: now), end == until { return refusals }
      return isRefused(at: now) ? refusals + 1 : 1
    }

    /// Whether it goes on. An end too far away comes from a clock that was set back since.
    func holds(at now: Date) -> Bool { until > now && until <= now.addingTimeInterval(RequestGate.longestRest) }
  }

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
    var rests: [ShopAddress?: Rest] = [:]
    var last: (shop: ShopAddress, end: Date)?
  }

  /// The clock of the pauses and rests.
  public let clock: ShopClock
  private let state = Locked(State())

  /// A gate of its own, for tests.
  public init(clock: ShopClock = .system) { self.clock = clock }

  // MARK: - Rest

  /// Before this moment no request to any shop begins; `nil` when there is no such rest, or none any more.
  public var restingUntil: Date? { rest(before: nil)?.until }

  /// The rest that keeps a shop from being asked: that of all shops, or its own.
  func rest(before shop: ShopAddress?) -> Rest? {
    let now = clock.now()
    return state.withLock { state in
      [nil, shop].compactMap { state.rests[$0] }.first { $0.holds(at: now) }
    }
  }

  /// Whether a shop, or Shopify for all of them, has refused lately and not served since: silence is a refusal then.
  func isRefused(_ shop: ShopAddress) -> Bool {
    let now = clock.now()
    return state.withLock { state in [nil, shop].contains { state.rests[$0]?.isRefused(at: now) ?? false } }
  }

  /// How often a shop, or Shopify for all of them, has said "too many requests" since the last page of products.
  public func refusals(of shop: ShopAddress?) -> Int { state.withLock { $0.rests[shop]?.refusals ?? 0 } }

  /// Goes on with what an earlier process knew, or another one knows: of each rest the newest word counts.
  public func restore(_ rests: [Rest]) {
    state.withLock { state in
      for rest in rests {
        if let known = state.rests[rest.shop], known.since > rest.since { continue }
        state.rests[rest.shop] = rest
      }
    }
  }

  /// Too many requests: rests two minutes, twice as long for each refusal after another up to half an hour, and not
  /// less than is asked for, up to an hour.
  /// - Parameter shop: who rests; `nil` for every shop.
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

  /// A shop has served products: its next refusal is a first one again, and so is Shopify's.
  func served(_ shop: ShopAddress) {
    state.withLock { state in
      for shop in [nil, shop] { state.rests[shop]?.refusals = 0 }
    }
  }

  private func refuseWhileResting(_ shop: ShopAddress) throws {
    if let rest = rest(before: shop) { throw SyncError.resting(until: rest.until, shop: rest.shop?.domain) }
  }

  // MARK: - Turns

  /// Runs `body` when it is its turn and the pause is over.
  /// - Throws: ``SyncError/resting(until:shop:)`` instead of waiting for the end of a rest.
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
