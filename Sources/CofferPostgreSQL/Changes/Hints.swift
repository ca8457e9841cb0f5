import CofferCore
import Foundation

/// Tells other processes that there are commits, and hears about theirs, by `NOTIFY`.
///
/// It is sent after the commit, from another connection and at most 20 times per second for each store: inside of the
/// transaction it would make all commits of the database wait for each other.
final class Hints: Sendable {
  private struct Sending {
    var revision: StoreRevision
    var isScheduled = false
    var last: ContinuousClock.Instant?
  }

  private struct State {
    var sending: [Int64: Sending] = [:]
    var bells: [Int64: Bell] = [:]
    var listener: ServerConnection?
    var isListening = false
    var isClosed = false
  }

  private static let interval = Duration.milliseconds(50)

  private let state = Locked(State())
  /// Marks the hints of this process, which it knows already.
  private let mark = UUID().uuidString

  // MARK: Telling

  /// Tells others of a commit, through the reading connections of a database.
  func announce(_ store: Int64, _ revision: StoreRevision, in database: PostgreSQLDatabase) {
    let pause = state.withLock { state -> Duration? in
      var sending = state.sending[store] ?? Sending(revision: revision)
      sending.revision = max(sending.revision, revision)
      defer { state.sending[store] = sending }
      guard !sending.isScheduled, !state.isClosed else { return nil }
      sending.isScheduled = true
      let elapsed = sending.last.map { ContinuousClock.now - $0 } ?? Self.interval
      return max(.zero, Self.interval - elapsed)
    }
    guard let pause else { return }
    Task {
      if pause > .zero { try? await Task.sleep(for: pause) }
      let revision = state.withLock { state -> StoreRevision? in
        state.sending[store]?.isScheduled = false
        state.sending[store]?.last = .now
        return state.isClosed ? nil : state.sending[store]?.revision
      }
      // A hint that is lost only delays.
      if let revision { await database.notify(Self.channel(store), "\(mark) \(revision)") }
    }
  }

  private static func channel(_ store: Int64) -> String {
    "coffer_" + String(UInt64(bitPattern: store), radix: 16)
  }

  // MARK: Listening

  /// Rings a bell when another process tells of a commit to a store.
  func listen(_ store: Int64, _ bell: Bell, in database: PostgreSQLDatabase) {
    let (listener, mustOpen) = state.withLock { state -> (ServerConnection?, Bool) in
      state.bells[store] = bell
      defer { state.isListening = true }
      return (state.listener, !state.isListening && !state.isClosed)
    }
    if let listener { Task { await subscribe(listener, [store]) } }
    if mustOpen { Task { await keepListening(database) } }
  }

  /// Stops ringing a bell. The store may have been opened again meanwhile, with another one.
  func stopListening(_ store: Int64, _ bell: Bell) {
    state.withLock { if $0.bells[store] === bell { $0.bells[store] = nil } }
  }

  /// Opens the listening connection, and opens it again when it is lost. Meanwhile stores are polled.
  private func keepListening(_ database: PostgreSQLDatabase) async {
    let lost = Bell()
    while !state.withLock({ $0.isClosed }) {
      if let connection = try? await database.open() {
        connection.onNotification { [weak self] channel, payload in self?.receive(channel, payload) }
        connection.onLoss { _ in lost.ring() }
        let stores = state.withLock { state in
          state.listener = connection
          return Array(state.bells.keys)
        }
        await subscribe(connection, stores)
        while connection.isUsable, !state.withLock({ $0.isClosed }) { _ = await lost.wait(atMost: .seconds(60)) }
        state.withLock { $0.listener = nil }
        connection.abandon()
      }
      _ = await lost.wait(atMost: .seconds(1))
    }
  }

  private func subscribe(_ connection: ServerConnection, _ stores: [Int64]) async {
    for store in stores {
      let listen = ServerStatement("LISTEN \"\(Self.channel(store))\"")
      _ = try? await connection.exchange([ServerCall(listen)], within: .seconds(10))
    }
    // What was committed before listening began was not heard.
    for bell in state.withLock({ state in stores.compactMap { state.bells[$0] } }) { bell.ring() }
  }

  private func receive(_ channel: String, _ payload: String) {
    guard !payload.hasPrefix(mark), channel.hasPrefix("coffer_"),
      let number = UInt64(channel.dropFirst("coffer_".count), radix: 16)
    else { return }
    state.withLock { $0.bells[Int64(bitPattern: number)] }?.ring()
  }

  func close() {
    let listener = state.withLock { state in
      state.isClosed = true
      return state.listener
    }
    listener?.abandon()
  }
}

extension PostgreSQLDatabase {
  private static let notification = ServerStatement("SELECT pg_notify($1, $2)", [.text, .text])
  // The hint need not survive anything, and would otherwise wait for the standbys.
  private static let unsynchronized = ServerStatement("SELECT set_config('synchronous_commit', 'off', true)")

  /// Sends a notification, in a transaction of its own.
  fileprivate func notify(_ channel: String, _ payload: String) async {
    let calls = [
      ServerCall(Self.unsynchronized), ServerCall(Self.notification, [.text(channel), .text(payload)]),
    ]
    _ = try? await reader().exchange(calls, within: deadline)
  }
}
