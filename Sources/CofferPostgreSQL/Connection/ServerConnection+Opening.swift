import CofferCPostgreSQL
import CofferCore

extension ConnectFailure {
  /// Creates the failure of a server that has not confirmed a commit, although another one may; `nil` for an error that
  /// concerns the database.
  init?(unconfirmed failure: ExchangeFailure) {
    switch failure {
    case .lost(let loss): self = loss.cause == .deadline ? .unconfirmed : .lost(loss)
    // A commit that waits for standbys in vain holds its locks.
    case .server(let failure) where failure.isLockTimeout: self = .unconfirmed
    case .server(let failure) where failure.sqlState == ServerFailure.readOnly: self = .standby
    case .server, .refused: return nil
    }
  }
}

/// The attempt to use one host.
struct HostOpening {
  let host: ServerHost
  let target: ConnectionTarget
  let password: SecretText?
  let loop: ConnectionLoop
  let lookup: HostLookup

  func run() async throws(ConnectFailure) -> ServerConnection {
    let end = ContinuousClock.now + target.connectTimeout
    var last = ConnectFailure.unknownHost
    let addresses = try await addresses()
    for (index, address) in addresses.enumerated() {
      // An address that does not answer leaves their share of the time to the others.
      let left = (end - .now) / (addresses.count - index)
      guard left > .zero else { throw .deadline }
      do throws(ConnectFailure) {
        let channel = try await diagnosed { () throws(ConnectFailure) in try await connect(to: address, within: left) }
        return try await check(channel, within: max(end - .now, .milliseconds(1)))
      } catch {
        last = error
        // Another address of the same server would say the same.
        guard error.concernsAddress else { throw error }
      }
    }
    throw last
  }

  /// Repeats an attempt that has failed without a verdict on the certificate: a handshake that fails at once, since the
  /// server was faster than this thread, leaves none.
  private func diagnosed(
    _ attempt: () async throws(ConnectFailure) -> ConnectionChannel
  ) async throws(ConnectFailure) -> ConnectionChannel {
    for _ in 0..<16 {
      do throws(ConnectFailure) { return try await attempt() } catch {
        guard error == .noVerdict else { throw error }
      }
    }
    return try await attempt()
  }

  /// The numeric addresses of the host; `nil` for the directory of a socket.
  private func addresses() async throws(ConnectFailure) -> [String?] {
    if host.isSocket { return [nil] }
    if let address = host.address { return [address] }
    if coffer_pq_is_address(host.name) != 0 { return [host.name] }
    return try await lookup.addresses(of: host.name, within: target.connectTimeout)
  }

  private func connect(to address: String?, within: Duration) async throws(ConnectFailure) -> ConnectionChannel {
    let parameters = target.parameters(for: host, at: address, password: password)
    let result = await withCheckedContinuation { continuation in
      let isHandedOver = loop.perform { thread in
        ConnectionAttempt.start(parameters, within: within, on: thread) { continuation.resume(returning: $0) }
      }
      if !isHandedOver { continuation.resume(returning: .failure(.exhausted)) }
    }
    let channel = try result.get()
    #if COFFER_TSAN
      channel.synchronize()
    #endif
    return channel
  }

  /// Sets the session up and finds out what the server is, in one round trip.
  private func check(_ channel: ConnectionChannel, within: Duration) async throws(ConnectFailure) -> ServerConnection {
    do throws(ConnectFailure) {
      guard channel.serverVersion >= SessionSetup.oldestVersion else { throw .oldVersion(channel.serverVersion) }
      // Exchanges of their own: a pooler may pass each to another server process, and the last may be forbidden.
      let answers = await run(
        [
          ServerCall(SessionSetup.searchPath), SessionSetup.call(target.answerTimeout),
          ServerCall(SessionSetup.process),
          ServerCall(SessionSetup.system),
        ], on: channel, within: within)
      let (path, setup, process, system) = (answers[0], answers[1], answers[2], answers[3])
      _ = try rows(path)
      let row = try rows(setup)
      let own = Int64(channel.announcedProcess)
      guard row.int8(0, 0) == own, try rows(process).int8(0, 0) == own else { throw .pooler }
      guard !row.bool(0, 1) else { throw .standby }
      // What is set for the role or the database is no property of the server: the role may read.
      let source = row.text(0, 2)
      guard source.isEmpty || ["user", "database", "database user"].contains(source) else { throw .readOnly }
      let instance = ServerInstance(
        host: host.name, port: host.port, started: row.int8(0, 3), recovered: row.int8(0, 4),
        system: try? rows(system).int8(0, 0), timeline: try? rows(system).text(0, 1))
      return ServerConnection(channel, instance: instance, isReadOnly: !source.isEmpty)
    } catch {
      loop.perform { _ in channel.close() }
      throw error
    }
  }

  /// Sends calls in this order, each in an exchange of its own, in one round trip.
  private func run(
    _ calls: [ServerCall], on channel: ConnectionChannel, within: Duration
  ) async -> [Result<ExchangeResult, ConnectionLoss>] {
    let results = Locked<[Result<ExchangeResult, ConnectionLoss>]>([])
    await withCheckedContinuation { continuation in
      for call in calls {
        channel.submit([call], within: within) { result in
          let isLast = results.withLock { results in
            results.append(result)
            return results.count == calls.count
          }
          if isLast { continuation.resume() }
        }
      }
    }
    return results.withLock { $0 }
  }

  private func rows(_ result: Result<ExchangeResult, ConnectionLoss>) throws(ConnectFailure) -> ServerRows {
    switch result {
    case .success(let result):
      switch result.outcomes.first {
      case .rows(let rows): return rows
      case .failed(let failure): throw .refused(failure.sqlState)
      case .skipped, nil: throw .pooler
      }
    case .failure(let loss): throw loss.cause == .pooler ? .pooler : .lost(loss)
    }
  }
}

/// The statements with which a session begins.
private enum SessionSetup {
  static let oldestVersion = 150_000

  /// The role or the database may have a search path with functions and operators of others, so that this comes first.
  static let searchPath = ServerStatement(
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)", isPrepared: false)

  /// A `synchronous_commit` of `remote_apply`, which is more than `on`, is kept. The statistics are discarded by each
  /// recovery after a crash. The keepalives let the server notice clients that are gone, whose locks it holds.
  private static let statement = ServerStatement(
    """
    SELECT pg_catalog.pg_backend_pid()::pg_catalog.int8, pg_catalog.pg_is_in_recovery(),
      CASE WHEN pg_catalog.current_setting('transaction_read_only')::pg_catalog.bool
        THEN (SELECT s.source FROM pg_catalog.pg_settings s WHERE s.name = 'default_transaction_read_only') END,
      (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1000000)::pg_catalog.int8,
      (SELECT (pg_catalog.date_part('epoch', least(b.stats_reset, w.stats_reset)) * 1000000)::pg_catalog.int8
        FROM pg_catalog.pg_stat_bgwriter b, pg_catalog.pg_stat_wal w),
      pg_catalog.set_config('row_security', 'on', false),
      pg_catalog.set_config('client_min_messages', 'warning', false),
      pg_catalog.set_config('tcp_keepalives_idle', '10', false),
      pg_catalog.set_config('tcp_keepalives_interval', '5', false),
      pg_catalog.set_config('tcp_keepalives_count', '3', false),
      pg_catalog.set_config('tcp_user_timeout', '20s', false),
      pg_catalog.set_config('synchronous_commit',
        CASE pg_catalog.current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END,
        false),
      pg_catalog.set_config('lock_timeout', $1, false),
      pg_catalog.set_config('idle_in_transaction_session_timeout', $2, false)
    """, [.text, .text], isPrepared: false)

  /// Sets a session up whose server must answer within `answerTimeout`: it says that a lock is held before this process
  /// would give the connection up, and ends the transactions of processes that were stopped.
  static func call(_ answerTimeout: Duration) -> ServerCall {
    ServerCall(statement, [.milliseconds(answerTimeout * 9 / 10), .milliseconds(answerTimeout + .seconds(5))])
  }

  static let process = ServerStatement(
    "SELECT pg_catalog.pg_backend_pid()::pg_catalog.int8", isPrepared: false)
  static let system = ServerStatement(
    """
    SELECT system_identifier, pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)
    FROM pg_catalog.pg_control_system()
    """, isPrepared: false)
}
