extension HTTPServer {
  /// Where a server listens, and its limits.
  public struct Configuration: Sendable {
    /// The numeric address to listen at, such as "127.0.0.1", "::1" or "0.0.0.0". The default is "127.0.0.1".
    public var host: String
    /// The port; 0, the default, selects any free one.
    public var port: UInt16
    /// A listening socket to use instead of `host` and `port`, as systemd passes it; `nil`, the default, for none.
    ///
    /// The server uses a duplicate: the caller keeps the descriptor, and clients that connect after `stop` wait in its
    /// queue for the next server.
    public var listeningDescriptor: Int32?
    /// The identity for TLS 1.3, and 1.2 with forward secrecy; `nil`, the default, for plain HTTP.
    public var tls: TLSIdentity?
    /// The limits on what clients may use.
    public var limits: Limits

    /// Creates a configuration.
    public init(
      host: String = "127.0.0.1", port: UInt16 = 0, listeningDescriptor: Int32? = nil, tls: TLSIdentity? = nil,
      limits: Limits = Limits()
    ) {
      self.host = host
      self.port = port
      self.listeningDescriptor = listeningDescriptor
      self.tls = tls
      self.limits = limits
    }
  }

  /// What clients of a server may use at most.
  public struct Limits: Sendable {
    /// The size of a request's body in bytes. Larger ones are answered with 413. The default is 1 MiB.
    public var bodyBytes = 1 << 20
    /// The memory of a connection in bytes for the head of a request and for buffers; at least 4,096. A longer request
    /// line is answered with 414, longer header fields with 431. The default is 16 KiB.
    public var connectionBytes = 16 << 10
    /// The number of connections, at least 2. The default is 1,000.
    ///
    /// Nobody can keep others out: the last one makes room for another. Of the address with the most connections, the
    /// one is closed that has waited longest for a request, or else the one whose response takes longest, such as a
    /// stream of events. One that has done so for less than a second, or whose handler runs, stays; one whose client
    /// keeps asking may stay for five seconds.
    public var connections = 1_000
    /// The time after which a connection is closed that neither sends nor takes anything, rounded up to whole seconds.
    /// The time in which a handler or body stream is awaited does not count. The default is 30 s.
    public var idleTimeout = Duration.seconds(30)
    /// The time in which a whole request must arrive, however slowly it is sent. The default is 60 s.
    ///
    /// It begins with the connection. After a response, the next request has the idle timeout in addition.
    public var requestTimeout = Duration.seconds(60)

    /// Creates the default limits.
    public init() {}
  }
}

extension Duration {
  /// The whole milliseconds, rounded up, from 0 to a year.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let year = 366 * 86_400
    return Int(min(seconds, Int64(year))) * 1_000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
