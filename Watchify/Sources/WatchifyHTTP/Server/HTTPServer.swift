#if os(Linux)
  import WatchifyCMicrohttpd
  import CofferCore
  import Dispatch
  import Glibc

  /// A server that answers HTTP/1.1 requests with an asynchronous function.
  ///
  /// ```swift
  /// let server = HTTPServer { request in
  ///   switch (request.method, request.path) {
  ///   case ("GET", []): HTTPResponse(200, "text/plain; charset=utf-8", "Hello")
  ///   case ("GET", ["time"]): ServerSentEvents.response(ticks)
  ///   default: HTTPResponse(404, "text/plain; charset=utf-8", "Nothing here")
  ///   }
  /// }
  /// let port = try server.start()  // http://127.0.0.1:port
  /// await server.stop()
  /// ```
  ///
  /// The handler receives requests with their whole bodies. It runs in a task of its own, which is cancelled when the
  /// client closes the connection or the server stops. Meanwhile the connection costs a few kilobytes and no thread:
  /// the server has one thread, on which it waits for all connections.
  ///
  /// The server answers `HEAD` with the header fields of the handler's response, which it does not distinguish
  /// otherwise, and itself refuses what is malformed (400) or too large (413, 414, 431). It sets `Date`,
  /// `Content-Length`, `Transfer-Encoding` and `Connection`. A response whose header fields contain line breaks or
  /// other control characters is replaced by status 500.
  ///
  /// Put no proxy in front of it that forwards header fields without a name: libmicrohttpd takes one for the end of the
  /// head, and so another end of the request than the proxy.
  ///
  /// A client that half-closes its connection after the request counts as gone, although it receives what the handler
  /// returns nevertheless.
  ///
  /// A server whose last reference is dropped ends as by `terminate()`.
  public final class HTTPServer: Sendable {
    private let configuration: Configuration
    private let handler: @Sendable (HTTPRequest) async -> HTTPResponse
    private let running = Locked<ServerLoop?>(nil)

    /// Creates a server, which serves after `start()`.
    public init(
      configuration: Configuration = .init(), handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) {
      self.configuration = configuration
      self.handler = handler
    }

    deinit { terminate() }

    /// Starts the server and returns its port. A server that has stopped can be started again.
    /// - Throws: when it is running, or the address or the identity cannot be used. Nothing listens then.
    @discardableResult
    public func start() throws(HTTPServerError) -> UInt16 { try start(port: configuration.port) }

    /// Starts the server at another port than the configuration's, and returns it; see ``start()``.
    /// - Parameter port: a port, or 0 for any free one.
    @discardableResult
    public func start(port: UInt16) throws(HTTPServerError) -> UInt16 {
      try running.withLock { (running) throws(HTTPServerError) in
        guard running == nil else { throw .isRunning }
        let loop = try ServerLoop(socket: listen(port: port), configuration: configuration, handler: handler)
        let start = Unmanaged.passRetained(LoopStart(loop: loop))
        loop.thread.begin()
        guard coffer_start_thread(runLoop, start.toOpaque()) == 0 else {
          start.release()
          throw .exhausted
        }
        running = loop
        return loop.port
      }
    }

    private func listen(port: UInt16) throws(HTTPServerError) -> Int32 {
      func reason(_ number: Int32) -> String { String(cString: strerror(-number)) }
      if let descriptor = configuration.listeningDescriptor {
        let copy = coffer_adopt(descriptor)
        guard copy >= 0 else { throw .notListening(descriptor: descriptor, reason: reason(copy)) }
        return copy
      }
      let socket = coffer_listen(configuration.host, port)
      guard socket >= 0 else { throw .cannotListen(host: configuration.host, port: port, reason: reason(socket)) }
      return socket
    }

    /// The port; `nil` unless the server is running. 0 for a Unix socket.
    public var port: UInt16? { running.withLock { $0?.port } }

    /// Stops gracefully, and returns when all connections, handlers and body streams have ended.
    ///
    /// No further connection is accepted and further requests are refused. Running responses are sent to their ends
    /// within the time of grace; then their tasks are cancelled and their connections closed. A handler that ignores
    /// the cancellation delays the return. Does nothing if the server is not running.
    /// - Parameter grace: the time for running responses. Endless ones, such as events, always take all of it.
    public func stop(grace: Duration = .seconds(2)) async {
      guard let loop = running.withLock({ $0 }) else { return }
      loop.post(.drain(grace.milliseconds))
      await withCheckedContinuation { ended in loop.thread.whenIdle { ended.resume() } }
      forget(loop)
      await withCheckedContinuation { ended in loop.work.whenIdle { ended.resume() } }
    }

    /// Stops at once: closes all connections, cancels all tasks, and returns when nothing is served any more, without
    /// waiting for the tasks. Does nothing if the server is not running.
    ///
    /// Blocks the calling thread for about a millisecond.
    public func terminate() {
      guard let loop = running.withLock({ $0 }) else { return }
      loop.post(.drain(0))
      let ended = DispatchSemaphore(value: 0)
      loop.thread.whenIdle { ended.signal() }
      ended.wait()
      forget(loop)
    }

    private func forget(_ loop: ServerLoop) {
      running.withLock { if $0 === loop { $0 = nil } }
    }
  }
#endif
