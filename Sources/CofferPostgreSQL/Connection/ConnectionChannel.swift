import CofferCPostgreSQL
import CofferCore

/// An open connection as libpq sees it.
///
/// It sends and receives on the thread of its loop, which alone closes it, or on the thread of a caller.
// Sendable: what is not constant is used with `lock` only.
final class ConnectionChannel: @unchecked Sendable, LoopSource {
  let status = ConnectionStatus()
  let serverVersion: Int
  let announcedProcess: Int32
  private let handle: OpaquePointer
  let loop: ConnectionLoop
  private unowned let thread: LoopThread
  private let lock = Locked(())
  /// What is called when the lock is free again: it may use the connection.
  private var reports: [@Sendable () -> Void] = []
  private var id: UInt64 = 0
  private var isOpen = true
  private var mustFlush = false
  /// What the loop waits for, besides the end of the connection.
  private var watched = (readable: true, writable: false)
  /// Whether a caller's thread awaits what arrives.
  private var isAwaited = false
  private var isListening = false
  /// What is sent and not yet answered; the part before `answered` is.
  private var expectations: [Expectation] = []
  private var answered = 0
  /// Exchanges that wait until everything before them has left: libpq would keep them in memory.
  private var waiting: [PendingExchange] = []
  private var statements: [ServerStatement: PreparedStatement] = [:]
  private var lastName = 0
  /// The failure with which the server has announced the end of the session.
  private var farewell: String?
  /// How many exchanges are not awaited by their callers' threads, since an answer has not come soon.
  private var (unawaited, lastUnawaited) = (0, 0)

  /// Exchanges above this size leave libpq with large buffers, which it never reduces.
  private static let largeExchange = 12 << 20
  /// Callers send exchanges up to this size themselves. Copying larger ones would take their thread's time.
  private static let smallExchange = 64 << 10
  /// The milliseconds for which a caller's thread awaits an answer: about as long as a commit takes.
  private static let soon: Int32 = 1

  /// Takes over a connection that is established, and puts it into pipeline mode. Called on the thread of the loop.
  init?(_ handle: OpaquePointer, on thread: LoopThread) {
    (self.handle, self.loop, self.thread) = (handle, thread.loop, thread)
    serverVersion = Int(pq_serverVersion(handle))
    announcedProcess = pq_processID(handle)
    guard pq_setnonblocking(handle, 1) == 0, pq_enterPipelineMode(handle) == 1 else {
      close()
      return nil
    }
    pq_setNoticeReceiver(handle, takeNotice, Unmanaged.passUnretained(self).toOpaque())
    id = thread.add(self)
    guard thread.watch(pq_socket(handle), for: id, writable: false, isNew: true) else {
      lose(.closedByPeer, Self.notWatched)
      return nil
    }
    #if COFFER_TSAN
      synchronize()
    #endif
  }

  /// Runs `body` with the lock, then the reports that it has left.
  private func locked(_ body: () -> Void) {
    let left = lock.withLock { _ in
      body()
      defer { reports = [] }
      return reports
    }
    for report in left { report() }
  }

  #if COFFER_TSAN
    /// The sanitizer does not see that a continuation which is resumed before it is awaited orders the accesses to its
    /// result: here the lock shows it.
    func synchronize() { lock.withLock { _ in } }
  #endif

  /// Notes that an exchange has ended: with a loss, or with its outcomes.
  private func end(_ exchange: PendingExchange, _ loss: ConnectionLoss? = nil) {
    status.finish()
    loop.endExchange()
    if let loss { exchange.fail(loss) }
    reports.append { exchange.complete() }
  }

  // MARK: Sending

  /// Sends an exchange on the thread of the loop, or lets it wait until what precedes it has left.
  func send(_ exchange: PendingExchange) {
    locked {
      guard isOpen else { return end(exchange, status.loss ?? Self.abandoned) }
      waiting.append(exchange)
      thread.noteDeadline(exchange.deadline)
      sendWaiting()
      // libpq may have read an answer while it could not send.
      if isOpen { takeResults() }
    }
  }

  /// Sends an exchange on the caller's thread. If nothing else is under way, that also receives the answer, unless it
  /// takes long: this saves the wake-up of another thread.
  /// - Returns: `false` if it was not sent, since others use the connection or wait for it.
  func sendNow(_ exchange: PendingExchange) -> Bool {
    let sent = lock.withLockIfAvailable { _ -> (isSent: Bool, awaited: Int32?) in
      guard isOpen, !mustFlush, waiting.isEmpty, exchange.isValid, exchange.size <= Self.smallExchange
      else { return (false, nil) }
      // The loop has this connection as a source, so that its thread lives.
      if thread.noteDeadline(exchange.deadline) { loop.wake() }
      let awaits = mayAwait()
      if awaits { isAwaited = true }
      if let obstacle = transmit(exchange) { giveUp(.closedByPeer, obstacle) }
      return (true, awaits ? pq_socket(handle) : nil)
    }
    if let socket = sent?.awaited { receive(soonFrom: socket) }
    return sent?.isSent ?? false
  }

  /// Whether the caller's thread awaits the answer to what it sends; the loop then does not.
  private func mayAwait() -> Bool {
    unawaited -= 1
    return unawaited < 0 && loop.mayAwait
  }

  private func receive(soonFrom socket: Int32) {
    let isSoon = coffer_pq_await(socket, Self.soon) != 0
    locked {
      // A server that is slow once is mostly slow.
      lastUnawaited = isSoon ? 0 : min(2 * lastUnawaited + 1, 63)
      (unawaited, isAwaited) = (lastUnawaited, false)
      guard isOpen else { return }
      receive()
      if isOpen, !watch() { giveUp(.closedByPeer, Self.notWatched) }
    }
  }

  /// Lets the loop receive what arrives without having been asked for. Else it may not look at an idle connection.
  func listen() {
    locked {
      isListening = true
      if isOpen, !watch() { giveUp(.closedByPeer, Self.notWatched) }
    }
  }

  /// Lets the loop wait for what is needed. It goes on waiting for answers until a caller's thread does, and that
  /// leaves an idle connection unwatched: two system calls less for each exchange of a single caller.
  private func watch() -> Bool {
    let isNeeded = watched.readable || isListening || answered < expectations.count
    let wanted = (readable: isNeeded && !isAwaited, writable: mustFlush)
    guard wanted != watched else { return true }
    watched = wanted
    return thread.watch(
      pq_socket(handle), for: id, writable: wanted.writable, readable: wanted.readable, isNew: false)
  }

  private func sendWaiting() {
    while isOpen, !mustFlush, !waiting.isEmpty {
      let exchange = waiting.removeFirst()
      if exchange.isValid {
        if let obstacle = transmit(exchange) { giveUp(.closedByPeer, obstacle) }
      } else {
        end(exchange, ConnectionLoss(.invalidCall, Self.invalid, mayHaveRun: false))
      }
    }
  }

  /// Returns the reason why the connection cannot be used any more; `nil` for none.
  private func transmit(_ exchange: PendingExchange) -> String? {
    if exchange.size > Self.largeExchange { status.noteLargeBuffers() }
    let isSent = prepareStatements(of: exchange) && exchange.calls.allSatisfy { transmit($0, of: exchange) }
    expectations.append(.end(exchange))
    guard isSent, pq_pipelineSync(handle) == 1 else { return Self.closed }
    return flush()
  }

  /// Prepares the new statements of an exchange, each with a Sync of its own: the failure of one would skip the others,
  /// which exchanges that are sent meanwhile may use.
  private func prepareStatements(of exchange: PendingExchange) -> Bool {
    for call in exchange.calls where call.statement.isPrepared && statements[call.statement] == nil {
      lastName += 1
      let prepared = PreparedStatement(name: "c\(lastName)")
      statements[call.statement] = prepared
      expectations += [.preparation(prepared), .preparationEnd]
      let types = call.statement.types.map { Oid($0.rawValue) }
      guard pq_sendPrepare(handle, prepared.name, call.statement.text, Int32(types.count), types) == 1,
        pq_pipelineSync(handle) == 1
      else { return false }
    }
    return true
  }

  private func transmit(_ call: ServerCall, of exchange: PendingExchange) -> Bool {
    let prepared = statements[call.statement]
    expectations.append(.outcome(exchange, prepared))
    let count = Int32(call.values.count)
    return call.withParameters { values, sizes, formats in
      if let prepared { return pq_sendQueryPrepared(handle, prepared.name, count, values, sizes, formats, 1) == 1 }
      let types = call.statement.types.map { Oid($0.rawValue) }
      return pq_sendQueryParams(handle, call.statement.text, count, types, values, sizes, formats, 1) == 1
    }
  }

  /// Returns the reason why the connection cannot be used any more; `nil` for none.
  private func flush() -> String? {
    let unsent = pq_flush(handle)
    guard unsent >= 0 else { return Self.closed }
    mustFlush = unsent > 0
    return watch() ? nil : Self.notWatched
  }

  // MARK: Receiving

  func proceed(_ ready: Int32) {
    locked {
      // Also if it is only writable: libpq reads while it sends, and keeps what it has read.
      receive()
      if isOpen, mustFlush, let obstacle = flush() { giveUp(.closedByPeer, obstacle) }
      if isOpen, !waiting.isEmpty { sendWaiting() }
    }
  }

  private func receive() {
    var isConnected = true
    repeat {
      isConnected = pq_consumeInput(handle) == 1
      takeResults()
      // libpq 15 leaves the end of a TLS record behind when its own buffer has no room for all of it.
    } while isOpen && isConnected && coffer_pq_has_decrypted(handle) != 0
    takeNotifications()
    if isOpen, !isConnected || pq_status(handle) == CONNECTION_BAD { giveUp(.closedByPeer, Self.closed) }
  }

  private func takeResults() {
    var silence = 0
    while isOpen, answered < expectations.count, pq_isBusy(handle) == 0 {
      guard let result = pq_getResult(handle) else {
        // A statement has no further result.
        if pq_status(handle) == CONNECTION_BAD { break }
        silence += 1
        if silence > 3 { return giveUp(.protocolViolation, Self.unexpected) }
        advance()
        continue
      }
      silence = 0
      take(result)
    }
    if answered == expectations.count {
      expectations.removeAll(keepingCapacity: true)
      answered = 0
    } else if answered > 1_024 {
      expectations.removeFirst(answered)
      answered = 0
    }
  }

  /// Passes on to the next expectation, after the last result of a statement.
  private func advance() {
    switch expectations[answered] {
    case .preparation, .outcome: answered += 1
    case .preparationEnd, .end: break
    }
  }

  private func take(_ result: OpaquePointer) {
    let resultStatus = pq_resultStatus(result)
    let failure = ServerFailure(result)
    if let failure, ServerFailure.endsSession(result) {
      pq_clear(result)
      farewell = failure.sqlState
      return giveUp(.closedByPeer, "The server has ended the session (SQLSTATE \(failure.sqlState)).")
    }
    switch (expectations[answered], resultStatus) {
    case (.outcome(let exchange, _), PGRES_TUPLES_OK), (.outcome(let exchange, _), PGRES_COMMAND_OK),
      (.outcome(let exchange, _), PGRES_EMPTY_QUERY):
      if pq_resultMemorySize(result) > Self.largeExchange { status.noteLargeBuffers() }
      exchange.append(.rows(ServerRows(result)))
      return
    case (.outcome(let exchange, _), PGRES_PIPELINE_ABORTED): exchange.append(.skipped)
    case (.outcome(let exchange, let prepared), PGRES_FATAL_ERROR): take(failure, of: exchange, prepared)
    case (.preparation, PGRES_COMMAND_OK): break
    case (.preparation(let prepared), PGRES_FATAL_ERROR): forget(prepared, failure)
    case (.preparationEnd, PGRES_PIPELINE_SYNC): answered += 1
    case (.end(let exchange), PGRES_PIPELINE_SYNC):
      answered += 1
      end(exchange)
    case (.end(let exchange), PGRES_FATAL_ERROR):
      // An exchange without BEGIN is committed at its end, where for example deferred constraints are checked.
      if let failure { exchange.failLast(failure) }
    case (.preparationEnd, PGRES_FATAL_ERROR): break
    default: giveUp(.protocolViolation, Self.unexpected)
    }
    pq_clear(result)
  }

  private func take(_ failure: ServerFailure?, of exchange: PendingExchange, _ prepared: PreparedStatement?) {
    let failure = failure ?? ServerFailure(sqlState: "08006")
    guard failure.sqlState == ServerFailure.unknownStatement, let prepared else {
      return exchange.append(.failed(failure))
    }
    // It is unknown because it could not be prepared, unless the answer comes from another server process.
    if let reason = prepared.failure { return exchange.append(.failed(reason)) }
    giveUp(.pooler, Self.pooled)
  }

  /// Removes a statement that could not be prepared from the prepared ones, so that its next use prepares it again.
  private func forget(_ prepared: PreparedStatement, _ failure: ServerFailure?) {
    prepared.failure = failure ?? ServerFailure(sqlState: ServerFailure.unknownStatement)
    if let statement = statements.first(where: { $0.value === prepared })?.key { statements[statement] = nil }
  }

  private func takeNotifications() {
    while isOpen, let notification = pq_notifies(handle) {
      let payload = notification.pointee.extra.map { String(cString: $0) } ?? ""
      let name = String(cString: notification.pointee.relname)
      reports.append { [status] in status.notify(name, payload) }
      pq_freemem(notification)
    }
  }

  /// Handles a notice, which libpq passes on while it reads.
  fileprivate func note(_ notice: OpaquePointer) {
    let sqlState = pq_resultErrorField(notice, coffer_pq_sqlstate).map { String(cString: $0) } ?? ""
    if ServerFailure.endsSession(notice) {
      farewell = sqlState
      return
    }
    guard let severity = pq_resultErrorField(notice, coffer_pq_severity), strcmp(severity, "WARNING") == 0,
      answered < expectations.count
    else { return }
    switch expectations[answered] {
    case .outcome(let exchange, _), .end(let exchange): exchange.warn(sqlState)
    case .preparation, .preparationEnd: break
    }
  }

  // MARK: The end

  var deadline: ContinuousClock.Instant? {
    lock.withLock { _ in
      let sent = expectations[answered...].lazy.compactMap {
        if case .end(let exchange) = $0 { exchange.deadline } else { nil }
      }
      return (Array(sent) + waiting.map(\.deadline)).min()
    }
  }

  func expire(at now: ContinuousClock.Instant) {
    lose(.deadline, "The server has not answered in time.")
  }

  /// Ends the connection; what is under way is lost. Nothing is cancelled: the cancellation of a commit that waits for
  /// standbys would end it with success.
  func lose(_ cause: ConnectionLoss.Cause, _ reason: String) { locked { giveUp(cause, reason) } }

  private func giveUp(_ cause: ConnectionLoss.Cause, _ reason: String) {
    guard isOpen else { return }
    isOpen = false
    coffer_pq_cut(pq_socket(handle))
    let loss = ConnectionLoss(cause, reason, mayHaveRun: false, sqlState: farewell)
    status.refuse(loss)
    loop.perform { [self] _ in locked { end(loss) } }
  }

  /// Ends the session and the connection, on the thread of the loop.
  func close() {
    locked {
      guard isOpen else { return }
      isOpen = false
      end(Self.abandoned)
    }
  }

  private func end(_ loss: ConnectionLoss) {
    thread.remove(id, socket: pq_socket(handle))
    pq_finish(handle)
    let (sent, unsent) = (expectations[answered...], waiting)
    (expectations, answered, waiting, statements) = ([], 0, [], [:])
    var sentLoss = loss
    sentLoss.mayHaveRun = true
    let handler = status.lose(loss)
    for case .end(let exchange) in sent { end(exchange, sentLoss) }
    for exchange in unsent { end(exchange, loss) }
    if let handler { reports.append { handler(loss) } }
  }

  private static let abandoned = ConnectionLoss(.abandoned, "The connection was closed.", mayHaveRun: false)
  private static let invalid = "The parameters have the wrong number, or a size that the protocol cannot express."
  private static let closed = "The server, or something on the way to it, has closed the connection."
  private static let notWatched = "The system cannot wait for the connection."
  private static let unexpected = "The server's answers do not match what was sent."
  private static let pooled = "A connection pooler passes the statements of one connection to several server processes."
}

/// Receives a notice of the server.
private func takeNotice(_ context: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
  guard let context, let notice else { return }
  Unmanaged<ConnectionChannel>.fromOpaque(context).takeUnretainedValue().note(notice)
}
