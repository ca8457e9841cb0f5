import CofferCore
import Foundation

/// The connections to one database that the stores of a process share.
///
/// Once a store is open for writing, a connection serves nothing before a commit of this process on the same server
/// instance has been confirmed by as many standbys as the server demands: a primary that was restarted, or that has
/// been cut off, shows commits that no standby has, and such a commit waits until they have them. A process that only
/// reads writes nothing, and does not wait for standbys.
package final class PostgreSQLDatabase: Sendable {
  private struct State {
    var readers: [ServerConnection] = []
    /// The opening of a further reader, which all that need it await.
    var opening: Task<ServerConnection, any Error>?
    var isReconnecting = false
    var isClosed = false
    /// What the open stores want to be told, by their identity.
    var stores: [ObjectIdentifier: (condition: StoreCondition, history: HistoryCheck)] = [:]
  }

  /// The server instance in use.
  fileprivate struct Verified {
    var instance: ServerInstance?
    /// Whether the instance has confirmed a commit of this process.
    var isConfirmed = false
    /// Whether a store is open for writing.
    var mustBeConfirmed = false

    /// Whether connections to an instance may be used.
    func allows(_ other: ServerInstance) -> Bool { instance == other && (isConfirmed || !mustBeConfirmed) }
  }

  let target: ConnectionTarget
  let configuration: PostgreSQLEngine.Configuration
  let loop: ConnectionLoop
  let hints = Hints()
  private let state = Locked(State())
  /// The server instance in use. Connections to others are not used.
  private let verified: Locked<Verified>
  private let writers: ConnectionPool<WritingConnection>
  private let snapshots: ConnectionPool<ServerConnection>

  init(_ target: ConnectionTarget, _ configuration: PostgreSQLEngine.Configuration) {
    (self.target, self.configuration) = (target, configuration)
    loop = ConnectionLoop.shared
    let verified = Locked(Verified())
    self.verified = verified
    writers = ConnectionPool(limit: configuration.maximumWriters) { $0.server.isUsable(on: verified) }
    snapshots = ConnectionPool(limit: configuration.maximumSnapshots) { $0.isUsable(on: verified) }
  }

  /// The time within which the server must answer.
  var deadline: Duration { configuration.answerTimeout }

  // MARK: Connections

  /// Lends a connection that commits to `body`, which nothing else uses meanwhile.
  func withWriter<R: Sendable>(_ body: (WritingConnection) async throws -> R) async throws -> R {
    try await writers.lend(openWriter, to: body)
  }

  /// Lends a connection for a snapshot to `body`, which abandons it if it cannot be used again.
  func withSnapshotConnection<R: Sendable>(_ body: (ServerConnection) async throws -> R) async throws -> R {
    try await snapshots.lend({ try await open() }, to: body)
  }

  private func openWriter() async throws -> WritingConnection {
    let (server, writer) = try await open { [deadline] server throws(ExchangeFailure) in
      let writer = UUID()  // One for each server: the row may have reached a standby that was promoted.
      try await WritingConnection.register(writer, on: server, within: deadline)
      return writer
    }
    return WritingConnection(server, writer: writer)
  }

  /// Lets the next commits register new writers, with a server that confirms it.
  func releaseWriters() { writers.releaseIdle() }

  /// Opens a connection of its own, to a verified instance.
  func open() async throws -> ServerConnection {
    while true {
      let (server, _) = try await connect { [verified, deadline] server throws(ExchangeFailure) in
        let isNeeded = verified.withLock { $0.mustBeConfirmed && !$0.allows(server.instance) }
        if isNeeded { try await Self.commitMessage(on: server, within: deadline) }
        return ((), isNeeded)
      }
      if server.isUsable(on: verified) { return server }
      // Meanwhile another server has confirmed a commit.
      server.abandon()
      try Task.checkCancellation()
    }
  }

  /// Opens a connection to a server that confirms a commit now.
  /// - Parameter commit: the commit on the connection, which waits for the standbys.
  func open<R: Sendable>(
    confirming commit: @escaping HostRace.Confirm<R>
  ) async throws -> (ServerConnection, R) {
    try await connect { server throws(ExchangeFailure) in (try await commit(server), true) }
  }

  /// Lets no connection be used from now on whose server instance has not confirmed a commit: a store is open for
  /// writing.
  func demandConfirmation() { verified.withLock { $0.mustBeConfirmed = true } }

  /// Whether a server instance has confirmed a commit of this process.
  func isConfirmed(_ server: ServerConnection) -> Bool {
    verified.withLock { $0.isConfirmed && $0.instance == server.instance }
  }

  /// Demands confirmation, and has a server confirm a commit.
  /// - Returns: whether it has.
  func confirm(_ server: ServerConnection) async -> Bool {
    demandConfirmation()
    do throws(ExchangeFailure) {
      try await Self.commitMessage(on: server, within: deadline)
      noteUse(of: server.instance, isConfirmed: true)
      return true
    } catch {
      return false
    }
  }

  /// Connects to a server that `confirm` accepts, which also returns whether it has confirmed a commit.
  private func connect<R: Sendable>(
    _ confirm: @escaping HostRace.Confirm<(R, Bool)>
  ) async throws -> (ServerConnection, R) {
    let end = ContinuousClock.now + configuration.failoverTimeout
    do {
      while true {
        var race = HostRace(target: target, loop: loop)
        race.comparesTimelines = target.hosts.count > 1 && !verified.withLock { $0.mustBeConfirmed }
        let outcome = try await race.run { server throws(ExchangeFailure) in
          if server.isReadOnly, self.verified.withLock({ $0.mustBeConfirmed }) {
            throw .refused(.mayOnlyRead(self.target.description))
          }
          return try await confirm(server)
        }
        switch outcome {
        case .opened(let server, (let result, let isConfirmed)):
          noteUse(of: server.instance, isConfirmed: isConfirmed)
          return (server, result)
        case .failed(let failures):
          let error = target.error(failures)
          guard target.mayRecover(from: failures), ContinuousClock.now < end else { throw error }
          noteUnavailable(error)
          try await Task.sleep(for: .milliseconds(200))
        }
      }
    } catch let failure as ExchangeFailure {
      throw error(failure)
    } catch {
      noteUnavailable(error)
      throw error
    }
  }

  /// Notes the server instance of a connection as the one in use, unless it is unconfirmed and must not be.
  func noteUse(of instance: ServerInstance, isConfirmed: Bool) {
    // With the lock, so that no connection to the instance is used before. `state` is locked outside of it elsewhere.
    let histories = state.withLock { $0.stores.values.map(\.history) }
    let isUsed = verified.withLock { verified in
      if verified.instance == instance {
        verified.isConfirmed = verified.isConfirmed || isConfirmed
        return true
      }
      // A store may have been opened for writing meanwhile.
      guard isConfirmed || !verified.mustBeConfirmed else { return false }
      if verified.instance != nil { for history in histories { history.noteChange() } }
      (verified.instance, verified.isConfirmed) = (instance, isConfirmed)
      return true
    }
    if isUsed { emit(.available) }
  }

  /// Commits the only thing that every role may: a message in the write-ahead log, which nothing reads.
  private static func commitMessage(
    on server: ServerConnection, within deadline: Duration
  ) async throws(ExchangeFailure) {
    try await server.transact([ServerCall(message)], within: deadline)
  }

  private static let message = ServerStatement("SELECT pg_logical_emit_message(true, 'coffer', '')")

  /// Adds an open store, which is told about the availability, and about other server instances, until ``remove(_:)``.
  func add(_ condition: StoreCondition, _ history: HistoryCheck, of store: AnyObject) {
    state.withLock { $0.stores[ObjectIdentifier(store)] = (condition, history) }
  }

  func remove(_ store: AnyObject) {
    _ = state.withLock { $0.stores.removeValue(forKey: ObjectIdentifier(store)) }
  }

  private func emit(_ availability: StoreAvailability) {
    for (condition, _) in state.withLock({ Array($0.stores.values) }) { condition.note(availability) }
  }

  // MARK: Reading

  /// Runs a statement of its own on one of the connections that reads share.
  func read(_ call: ServerCall) async throws -> ServerRows {
    var isRepeated = false
    while true {
      let reader = try await reader()
      do {
        guard let rows = try await reader.exchange([call], within: deadline).rows.first else {
          throw StorageError.unreachable(target.description, "It has sent no answer.")
        }
        return rows
      } catch let failure as ExchangeFailure {
        // A connection that has been idle may have been closed meanwhile; a read may be repeated.
        guard case .lost = failure, !isRepeated else { throw error(failure) }
        isRepeated = true
      }
    }
  }

  /// Returns the reading connection with the fewest statements under way; a new one if all are busy.
  func reader() async throws -> ServerConnection {
    let (found, opening) = try state.withLock { state -> (ServerConnection?, Task<ServerConnection, any Error>?) in
      guard !state.isClosed else { throw StorageError.closed(target.description) }
      state.readers.removeAll { !$0.isUsable(on: verified) }
      let best = state.readers.min { $0.pending < $1.pending }
      if let best, best.pending == 0 { return (best, nil) }
      if state.opening == nil, state.readers.count < max(1, configuration.maximumReaders) {
        state.opening = Task { try await addReader() }
      }
      return (best, state.opening)
    }
    if let found { return found }
    guard let opening else { throw StorageError.unreachable(target.description, "There is no connection.") }
    return try await opening.value
  }

  private func addReader() async throws -> ServerConnection {
    defer { state.withLock { $0.opening = nil } }
    let server = try await open()
    let isClosed = state.withLock { state in
      if !state.isClosed { state.readers.append(server) }
      return state.isClosed
    }
    guard isClosed else { return server }
    server.abandon()
    throw StorageError.closed(target.description)
  }

  // MARK: Failures

  /// Returns the error of an exchange that was not applied.
  func error(_ failure: ExchangeFailure, at location: String? = nil) -> StorageError {
    let location = location ?? target.description
    switch failure {
    case .lost(let loss):
      let error = StorageError.unreachable(location, loss.reason)
      noteUnavailable(error)
      return error
    case .server(let failure): return failure.error(at: location)
    case .refused(let error): return error.locating(at: location)
    }
  }

  private func noteUnavailable(_ error: any Error) {
    guard let error = error as? StorageError, error.code != .closed else { return }
    let isFirst = state.withLock { state in
      guard !state.isClosed else { return false }
      defer { state.isReconnecting = true }
      return !state.isReconnecting
    }
    emit(.unavailable(reason: error.message))
    if isFirst { Task { await reconnect() } }
  }

  /// Tries to connect until the server can be used again, so that availability says so.
  private func reconnect() async {
    var pause = Duration.milliseconds(100)
    while !state.withLock({ $0.isClosed }) {
      try? await Task.sleep(for: pause)
      pause = min(pause * 2, .seconds(2))
      let opened = try? await connect { [verified, deadline] server throws(ExchangeFailure) in
        let isNeeded = verified.withLock { $0.mustBeConfirmed }
        if isNeeded { try await Self.commitMessage(on: server, within: deadline) }
        return ((), isNeeded)
      }
      guard let (server, _) = opened else { continue }
      await server.close()
      break
    }
    state.withLock { $0.isReconnecting = false }
    if !state.withLock({ $0.isClosed }) { emit(.available) }
  }

  /// Closes all connections.
  func close() async {
    let readers = state.withLock { state in
      state.isClosed = true
      defer { state.readers = [] }
      return state.readers
    }
    hints.close()
    for reader in readers { await reader.close() }
    for snapshot in snapshots.close() { await snapshot.close() }
    for writer in writers.close() { await writer.close(within: .seconds(1)) }
  }
}

extension ServerConnection {
  /// Whether the connection works, leads to the given server instance, and keeps no large buffers: such a connection is
  /// replaced, since its memory is freed with it only.
  fileprivate func isUsable(on verified: Locked<PostgreSQLDatabase.Verified>) -> Bool {
    isUsable && !hasLargeBuffers && verified.withLock { $0.allows(instance) }
  }
}
