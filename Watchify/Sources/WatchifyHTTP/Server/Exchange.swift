#if os(Linux)
  import WatchifyCMicrohttpd

  /// One request and its response. Only used on the thread of its loop.
  ///
  /// The connection is suspended while a task runs the handler or produces the next part of a body.
  final class Exchange {
    /// The end of a streamed body.
    enum Ending {
      case complete
      case abort(HTTPAbort)
    }

    /// The identifier by which tasks, which cannot refer to this object, name it.
    let id: UInt64
    unowned let loop: ServerLoop
    let connection: OpaquePointer
    let socket: Int32
    let target: String

    // The request
    var hasBegun = false
    var method = ""
    var headers: [(name: String, value: String)] = []
    /// The address of the head.
    var headStart: UInt = 0
    /// The address after the line of the head that was read last.
    var lineEnd: UInt = 0
    /// The addresses of the request target and of its end.
    var targetStart: UInt = 0
    var targetEnd: UInt = 0
    /// Whether a line of the head is folded, contains a zero byte or does not end with CR LF.
    var hasOddLines = false
    var body: [UInt8] = []
    /// The number of bytes of the body that arrived beyond the limit and were dropped.
    var excess = 0

    // The state of the connection
    var isSuspended = false
    /// Whether the connection is to be closed without a further byte.
    var isAbandoned = false
    /// The task that runs the handler or produces a part.
    var task: Task<Void, Never>?

    // The response
    var response: HTTPResponse?
    var stream: HTTPBodyStream?
    private var part: [UInt8] = []
    private var offset = 0
    var arrived: [UInt8]?
    var ending: Ending?
    /// When a heartbeat is due, in milliseconds of the loop's clock.
    var heartbeatTime: Int?

    init(id: UInt64, loop: ServerLoop, connection: OpaquePointer, socket: Int32, target: String) {
      self.id = id
      self.loop = loop
      self.connection = connection
      self.socket = socket
      self.target = target
    }

    /// Makes the heartbeat the next part, unless one is being sent. Returns whether it did.
    func beat() -> Bool {
      guard let heartbeat = stream?.heartbeat, isSuspended, arrived == nil, ending == nil else { return false }
      part = heartbeat.bytes
      offset = 0
      return true
    }

    /// Fills the buffer with the next bytes of the body. Returns their number, -1 at the end, -2 to close the
    /// connection, and 0 after the connection was suspended.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard !isAbandoned else { return close() }
      if offset >= part.count, let next = arrived {
        part = next
        offset = 0
        arrived = nil
      }
      let count = min(buffer.count, part.count - offset)
      if count > 0 {
        part[offset..<(offset + count)].withUnsafeBytes { buffer.copyMemory(from: $0) }
        offset += count
        return count
      }
      part = []
      offset = 0
      switch ending {
      case .complete: return -1
      case .abort(let abort):
        if abort == .reset { coffer_reset(socket) }
        return close()
      case nil: return loop.awaitPart(of: self) ? 0 : close()
      }
    }

    /// Returns the number that closes the connection, which libmicrohttpd then forgets at once.
    private func close() -> Int {
      coffer_mhd_look_always(connection, UInt32(loop.idleTime / 1_000 + 1))
      return -2
    }
  }
#endif
