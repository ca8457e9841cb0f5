#if os(Linux)
  import WatchifyCMicrohttpd

  // Called by libmicrohttpd within MHD_run and MHD_stop_daemon, hence on the thread of a loop. The context is the loop,
  // which outlives its daemon.

  /// Notes that a connection has begun or ended.
  nonisolated func noteConnection(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_ConnectionNotificationCode
  ) {
    guard let context, let connection else { return }
    let loop = Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
    if code == .CONNECTION_NOTIFY_STARTED { loop.noteStart(of: connection) } else { loop.noteEnd(of: connection) }
  }

  /// Creates the exchange when a request line has arrived. `endExchange` releases it.
  nonisolated func beginExchange(
    context: UnsafeMutableRawPointer?, uri: UnsafePointer<CChar>?, connection: OpaquePointer?
  ) -> UnsafeMutableRawPointer? {
    guard let context, let uri, let connection else { return nil }
    let loop = Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue()
    let exchange = loop.begin(connection, target: String(cString: uri))
    exchange.targetStart = UInt(bitPattern: uri)
    exchange.targetEnd = exchange.targetStart + UInt(strlen(uri))
    coffer_mhd_drop_query(uri)
    return Unmanaged.passRetained(exchange).toOpaque()
  }

  /// Handles a request: called after the head, for each part of the body, after the body, and after the connection was
  /// resumed.
  nonisolated func handleAccess(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?,
    uploadSize: UnsafeMutablePointer<Int>?, state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) -> MHD_Result {
    guard let method, let uploadSize, let object = state?.pointee else { return .NO }
    let exchange = Unmanaged<Exchange>.fromOpaque(object).takeUnretainedValue()
    guard exchange.hasBegun else {
      let text = version.map { String(cString: $0) } ?? ""
      exchange.headStart = UInt(bitPattern: method)
      exchange.lineEnd = version.map { UInt(bitPattern: $0) + UInt(text.utf8.count) } ?? 0
      // A zero byte would end a part of the line before the blank after it.
      if let version, !text.isEmpty {
        exchange.hasOddLines =
          exchange.headStart + UInt(strlen(method)) + 1 != exchange.targetStart
          || exchange.targetEnd + 1 != UInt(bitPattern: version)
      }
      return exchange.begin(method: String(cString: method), version: text)
    }
    guard uploadSize.pointee > 0 else { return exchange.proceed() }
    defer { uploadSize.pointee = 0 }
    return exchange.receive(UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee))
  }

  nonisolated func endExchange(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_RequestTerminationCode
  ) {
    guard let context, let object = state?.pointee else { return }
    state?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(object).takeRetainedValue()
    Unmanaged<ServerLoop>.fromOpaque(context).takeUnretainedValue().end(exchange)
  }

  /// Appends a header field to the exchange that is the context.
  nonisolated func collectHeader(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameSize: Int,
    value: UnsafePointer<CChar>?, valueSize: Int
  ) -> MHD_Result {
    guard let context else { return .NO }
    func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String {
      String(decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size), as: UTF8.self)
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    exchange.headers.append((text(name, nameSize), text(value, valueSize)))
    // The head is parsed in place: CR LF has become two bytes. A folded line is copied elsewhere.
    if UInt(bitPattern: name) != exchange.lineEnd + 2 { exchange.hasOddLines = true }
    exchange.lineEnd = UInt(bitPattern: value) + UInt(valueSize)
    return .YES
  }

  nonisolated func readBody(
    context: UnsafeMutableRawPointer?, position: UInt64, buffer: UnsafeMutablePointer<CChar>?, capacity: Int
  ) -> Int {
    guard let context, let buffer else { return -2 }  // MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    return exchange.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
  }

  nonisolated func releaseBody(context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<Exchange>.fromOpaque(context).release() }
  }

  /// The body of the thread of a loop, whose context is the start of one.
  nonisolated func runLoop(context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let start = Unmanaged<LoopStart>.fromOpaque(context).takeRetainedValue()
    start.loop.run()
    start.loop.thread.end()
    return nil
  }

  /// What a new thread takes over.
  final class LoopStart: Sendable {
    let loop: ServerLoop
    init(loop: ServerLoop) { self.loop = loop }
  }
#endif
