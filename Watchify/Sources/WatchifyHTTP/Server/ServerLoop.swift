#if os(Linux)
  import WatchifyCMicrohttpd
  import CofferCore
  import Glibc

  /// What tasks and callers hand over to the thread of a loop.
  enum LoopEvent: Sendable {
    /// A handler has returned.
    case response(UInt64, HTTPResponse)
    /// A body has a further part; `nil` at its end.
    case part(UInt64, Result<[UInt8]?, any Error>)
    /// The loop ends once all responses are sent, at the latest after a number of milliseconds.
    case drain(Int)
  }

  /// The thread of a server, which calls libmicrohttpd and is called by it.
  ///
  /// Everything that concerns connections happens on this one thread, so it needs no locks: a connection that is
  /// suspended cannot disappear while a task is about to resume it. Tasks hand over their results with `post(_:)`.
  // Sendable, although mutable: `inbox`, `work` and `thread` have locks, constants do not change, and all other
  // properties are only used on the thread that `run` is called on, after it was started.
  final class ServerLoop: @unchecked Sendable {
    typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    let limits: HTTPServer.Limits
    let isSecure: Bool
    let port: UInt16
    let handler: Handler
    /// The tasks of handlers and bodies.
    let work = WorkCount()
    /// The thread.
    let thread = WorkCount()
    private let inbox = Locked<[LoopEvent]>([])
    private let wakeSign: Int32
    private let peers: Int32
    let idleTime: Int
    private let requestTime: Int

    private var daemon: OpaquePointer?
    private var exchanges: [UInt64: Exchange] = [:]
    private var nextID: UInt64 = 0
    /// The state of a connection, with times in milliseconds of the loop's clock.
    private struct Connection {
      enum Phase { case requesting, handling, answering, closing }

      let peer: String
      var phase = Phase.requesting
      let started: Int
      /// When the phase began.
      var since: Int
      /// When the request must have arrived.
      var deadline: Int?
    }

    /// The connections by their sockets.
    private var connections: [Int32: Connection] = [:]
    private let connectionLimit: Int
    /// The time for which a connection is not closed for another one.
    private static let grace = 1_000
    /// The time after which it is closed although its client keeps asking: other clients wait meanwhile.
    private static let share = 5_000
    /// A time before which neither a deadline nor a heartbeat is due.
    private var earliest = Int.max
    /// When the loop ends, while it waits for the last responses.
    private var drainTime: Int?
    private var isEnded = false
    /// Whether connections have ended since libmicrohttpd looked for waiting clients, which it does only in MHD_run.
    private var hasRoom = false

    var isDraining: Bool { drainTime != nil }

    /// Creates a loop over a listening socket, which it closes in the end.
    init(socket: Int32, configuration: HTTPServer.Configuration, handler: @escaping Handler) throws(HTTPServerError) {
      limits = configuration.limits
      connectionLimit = max(2, limits.connections)
      isSecure = configuration.tls != nil
      port = coffer_port(socket)
      self.handler = handler
      idleTime = (max(1, limits.idleTimeout.milliseconds) + 999) / 1_000 * 1_000
      requestTime = max(1, limits.requestTimeout.milliseconds)
      wakeSign = coffer_make_sign()
      peers = coffer_make_poll()
      guard wakeSign >= 0, peers >= 0 else {
        close(socket)
        throw .exhausted
      }
      guard !isSecure || MHD_is_feature_supported(.FEATURE_TLS) == .YES else {
        close(socket)
        throw .noTLS
      }
      daemon = startDaemon(socket: socket, identity: configuration.tls)
      guard daemon != nil else {
        guard let identity = configuration.tls else { throw .exhausted }
        throw identity.isSwapped ? .swappedIdentity : .invalidIdentity
      }
    }

    deinit {
      // Still there only if no thread could be started.
      if let daemon { MHD_stop_daemon(daemon) }
      if wakeSign >= 0 { close(wakeSign) }
      if peers >= 0 { close(peers) }
    }

    private func startDaemon(socket: Int32, identity: TLSIdentity?) -> OpaquePointer? {
      var callbacks = coffer_mhd_callbacks(
        access: handleAccess, uri: beginExchange, completed: endExchange, connection: noteConnection)
      var options = coffer_mhd_options(
        listening: socket, connections: UInt32(clamping: connectionLimit), idle: UInt32(idleTime / 1_000),
        memory: max(4_096, limits.connectionBytes), key: nil, chain: nil)
      let context = Unmanaged.passUnretained(self).toOpaque()
      guard let identity else { return coffer_mhd_start(&options, &callbacks, context) }
      // libmicrohttpd reads both while it starts, and does not keep them.
      return identity.privateKey.withCString { key in
        identity.certificateChain.withCString { chain in
          options.key = key
          options.chain = chain
          return coffer_mhd_start(&options, &callbacks, context)
        }
      }
    }

    /// Hands over an event. Safe from any thread; an event after the end has no effect.
    func post(_ event: LoopEvent) {
      let isFirst = inbox.withLock { inbox in
        inbox.append(event)
        return inbox.count == 1
      }
      guard isFirst else { return }
      var one: UInt64 = 1
      write(wakeSign, &one, MemoryLayout<UInt64>.size)
    }

    // MARK: On the thread

    /// Serves until the loop is drained.
    func run() {
      guard let daemon else { return }
      while true {
        takeEvents()
        takeLostPeers()
        expire()
        repeat {
          hasRoom = false
          MHD_run(daemon)
        } while hasRoom
        if let drainTime, exchanges.isEmpty || now >= drainTime { break }
        wait(daemon)
      }
      isEnded = true
      for exchange in exchanges.values { abandon(exchange) }
      MHD_stop_daemon(daemon)
      self.daemon = nil
    }

    private func wait(_ daemon: OpaquePointer) {
      let own = min(earliest, drainTime ?? .max)
      var timeout = coffer_mhd_timeout(daemon)
      if own < .max {
        let left = Int32(clamping: max(0, own - now))
        timeout = timeout < 0 ? left : min(timeout, left)
      }
      var signs = [coffer_mhd_descriptor(daemon), wakeSign, peers].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      poll(&signs, nfds_t(signs.count), timeout)
    }

    private func takeEvents() {
      var count: UInt64 = 0
      read(wakeSign, &count, MemoryLayout<UInt64>.size)
      let events = inbox.withLock { inbox in
        defer { inbox = [] }
        return inbox
      }
      for event in events { take(event) }
    }

    private func take(_ event: LoopEvent) {
      switch event {
      case .response(let id, let response):
        guard let exchange = exchanges[id] else { return }
        exchange.task = nil
        exchange.response = response
        enter(.answering, exchange.socket)
        resume(exchange)
      case .part(let id, let result):
        guard let exchange = exchanges[id] else { return }
        exchange.task = nil
        switch result {
        case .success([]): return produce(for: exchange)
        case .success(let part?): exchange.arrived = part
        case .success(nil): exchange.ending = .complete
        case .failure(let error): exchange.ending = .abort(error as? HTTPAbort ?? .close)
        }
        resume(exchange)
      case .drain(let milliseconds):
        if drainTime == nil, let daemon {
          let socket = MHD_quiesce_daemon(daemon)
          if socket >= 0 { close(socket) }
        }
        drainTime = min(drainTime ?? .max, now + milliseconds)
      }
    }

    /// Cancels the tasks of suspended connections whose clients have closed them.
    ///
    /// Also called before each handler is started, so that handlers are cancelled before those of later connections
    /// begin.
    private func takeLostPeers() {
      var ids = [UInt64](repeating: 0, count: 32)
      var broken = [UInt8](repeating: 0, count: 32)
      while true {
        let count = coffer_take_peers(peers, &ids, &broken, Int32(ids.count))
        guard count > 0 else { return }
        for index in 0..<Int(count) {
          guard let exchange = exchanges[ids[index]] else { continue }
          // A client that has only finished sending may still read: what a task returns nevertheless is sent.
          if broken[index] != 0 { abandon(exchange) } else { exchange.task?.cancel() }
        }
      }
    }

    /// Closes connections whose requests are overdue, and sends heartbeats.
    private func expire() {
      let now = now
      guard now >= earliest else { return }
      earliest = .max
      for (socket, connection) in connections {
        guard let time = connection.deadline else { continue }
        if time > now { earliest = min(earliest, time) } else { drop(socket) }
      }
      makeRoom()
      for exchange in exchanges.values {
        guard let time = exchange.heartbeatTime else { continue }
        if time > now {
          earliest = min(earliest, time)
        } else {
          exchange.heartbeatTime = nil
          if exchange.beat() { resume(exchange) }
        }
      }
    }

    /// The time in milliseconds of a clock that is never set.
    private var now: Int {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    // MARK: Connections

    func noteStart(of connection: OpaquePointer) {
      let time = now
      connections[coffer_mhd_socket(connection)] = Connection(
        peer: Self.peer(of: connection), started: time, since: time, deadline: time + requestTime)
      earliest = min(earliest, time + requestTime)
      makeRoom()
    }

    func noteEnd(of connection: OpaquePointer) {
      connections[coffer_mhd_socket(connection)] = nil
      hasRoom = true
    }

    /// Returns the address of a client.
    static func peer(of connection: OpaquePointer) -> String {
      var peer = [CChar](repeating: 0, count: 64)
      coffer_mhd_peer(connection, &peer, 64)
      return String(decoding: peer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func enter(_ phase: Connection.Phase, _ socket: Int32, deadline: Int? = nil) {
      guard let connection = connections[socket], connection.phase != .closing else { return }
      connections[socket] = Connection(
        peer: connection.peer, phase: phase, started: connection.started, since: now, deadline: deadline)
      if let deadline { earliest = min(earliest, deadline) }
    }

    private func drop(_ socket: Int32) {
      enter(.closing, socket)
      shutdown(socket, Int32(SHUT_RDWR))
    }

    /// Closes a connection if there is no room for another one: see ``HTTPServer/Limits/connections``.
    private func makeRoom() {
      guard connections.count >= connectionLimit, !connections.values.contains(where: { $0.phase == .closing })
      else { return }
      let counts = connections.values.reduce(into: [:]) { $0[$1.peer, default: 0] += 1 }
      let idle = connections.filter { $0.value.phase != .handling }
      guard let most = idle.values.max(by: { counts[$0.peer, default: 0] < counts[$1.peer, default: 0] }) else {
        return
      }
      let now = now
      let candidates = idle.filter { $0.value.peer == most.peer }
      let due = candidates.filter { $0.value.since + Self.grace <= now }
      let closable = due.isEmpty ? candidates.filter { $0.value.started + Self.share <= now } : due
      let waiting = closable.filter { $0.value.phase == .requesting }
      if let oldest = (waiting.isEmpty ? closable : waiting).min(by: { $0.value.since < $1.value.since }) {
        drop(oldest.key)
      } else if let next = candidates.values.map({ min($0.since + Self.grace, $0.started + Self.share) }).min() {
        earliest = min(earliest, next)
      }
    }

    func begin(_ connection: OpaquePointer, target: String) -> Exchange {
      nextID += 1
      let socket = coffer_mhd_socket(connection)
      let exchange = Exchange(id: nextID, loop: self, connection: connection, socket: socket, target: target)
      exchanges[nextID] = exchange
      return exchange
    }

    func end(_ exchange: Exchange) {
      exchange.task?.cancel()
      exchanges[exchange.id] = nil
      enter(.requesting, exchange.socket, deadline: now + idleTime + requestTime)
    }

    /// Suspends a connection while a task works for it.
    private func suspend(_ exchange: Exchange) {
      exchange.isSuspended = true
      coffer_watch_peer(peers, exchange.socket, exchange.id)
      MHD_suspend_connection(exchange.connection)
    }

    private func resume(_ exchange: Exchange) {
      guard exchange.isSuspended else { return }
      exchange.isSuspended = false
      exchange.heartbeatTime = nil
      coffer_ignore_peer(peers, exchange.socket)
      MHD_resume_connection(exchange.connection)
    }

    private func abandon(_ exchange: Exchange) {
      exchange.isAbandoned = true
      exchange.task?.cancel()
      resume(exchange)
    }

    // MARK: Tasks

    /// Starts the handler. Returns whether the loop goes on.
    func handle(_ request: HTTPRequest, for exchange: Exchange) -> Bool {
      guard !isEnded else { return false }
      enter(.handling, exchange.socket)
      takeLostPeers()
      suspend(exchange)
      work.begin()
      exchange.task = Task { [self, id = exchange.id] in
        let response = await handler(request)
        post(.response(id, response))
        work.end()
      }
      return true
    }

    /// Suspends the connection until its body has a further part. Returns whether the loop goes on.
    func awaitPart(of exchange: Exchange) -> Bool {
      guard !isEnded else { return false }
      suspend(exchange)
      if let heartbeat = exchange.stream?.heartbeat {
        let time = now + max(1, heartbeat.interval.milliseconds)
        exchange.heartbeatTime = time
        earliest = min(earliest, time)
      }
      // After a heartbeat, the task is still working at the same part.
      if exchange.task == nil { produce(for: exchange) }
      return true
    }

    private func produce(for exchange: Exchange) {
      guard let stream = exchange.stream else { return }
      work.begin()
      exchange.task = Task { [self, id = exchange.id] in
        let result: Result<[UInt8]?, any Error>
        do { result = .success(try await stream.next()) } catch { result = .failure(error) }
        post(.part(id, result))
        work.end()
      }
    }
  }
#endif
