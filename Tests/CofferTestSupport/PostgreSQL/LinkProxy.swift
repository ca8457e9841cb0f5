import CofferCore
import CofferTesting
import Foundation

/// A TCP link on 127.0.0.1 that a test can cut, stall and delay.
package final class LinkProxy: Sendable {
  /// What the link does with bytes.
  package enum Mode: Sendable {
    /// Passes everything on.
    case open
    /// Resets all connections, and each new one at once.
    case cut
    /// Accepts connections and passes nothing on.
    case stalled
    /// Passes on only what clients send.
    case deaf
  }

  /// The direction of what passes.
  package enum Way: Int, Sendable, CaseIterable {
    case toServer
    case toClient
  }

  /// What is done with the connection whose client sends a sign next.
  fileprivate struct Order {
    let sign: Data
    let way: Way
    /// The number of bytes that may pass in the direction before the connection is ended; `nil` to record them.
    var bytes: Int?
    var recorded: [UInt8] = []
    /// The connection, once it is known.
    var client: Int32?

    /// Whether it concerns what a connection passes in a direction.
    mutating func concerns(_ client: Int32, _ number: Int, _ pending: [UInt8]) -> Bool {
      let isSent = number == Way.toServer.rawValue
      if self.client == nil, isSent, Data(pending).range(of: sign) != nil { self.client = client }
      return self.client == client && way.rawValue == number
    }
  }

  private struct State {
    var mode = Mode.open
    var order: Order?
    var delay: Int32 = 0
    var isEnded = false
  }

  /// The port of the link.
  package let port: Int
  private let target: Int
  private let listener: Int32
  private let state = Locked(State())

  /// Opens a link to a port of 127.0.0.1.
  package init(to target: Int) throws {
    self.target = target
    (listener, port) = try Self.listen()
    let thread = Thread { [state, listener] in LinkThread(listener, target, state).run() }
    thread.name = "coffer.link"
    thread.start()
  }

  deinit { state.withLock { $0.isEnded = true } }

  package var mode: Mode {
    get { state.withLock { $0.mode } }
    set { state.withLock { $0.mode = newValue } }
  }

  /// Delays everything that passes by a number of milliseconds.
  package var delay: Int32 {
    get { state.withLock { $0.delay } }
    set { state.withLock { $0.delay = newValue } }
  }

  /// Ends the connection whose client sends a sign next, once, after a number of bytes in one direction.
  package func cut(_ way: Way, after bytes: Int, sign: String) {
    state.withLock { $0.order = Order(sign: Data(sign.utf8), way: way, bytes: bytes) }
  }

  /// Takes the order of ``cut(_:after:)`` back. Returns whether a connection was cut already.
  package func takeBackCut() -> Bool {
    state.withLock { state in
      defer { state.order = nil }
      return state.order == nil
    }
  }

  /// Records what passes in one direction on the connection whose client sends a sign next, from the sign on.
  package func record(_ way: Way, sign: String) {
    state.withLock { $0.order = Order(sign: Data(sign.utf8), way: way) }
  }

  /// Ends the recording, and returns what has passed; nothing if nothing is recorded.
  package func takeRecorded() -> [UInt8] {
    state.withLock { state in
      guard let order = state.order, order.bytes == nil else { return [] }
      state.order = nil
      return order.recorded
    }
  }

  fileprivate static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return address
  }

  fileprivate static func withAddress<R>(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = address(port)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Opens a listening socket at a free port.
  private static func listen() throws -> (Int32, Int) {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = address(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isReady = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && Glibc.listen(socket, 64) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    guard isReady else { throw TestFailure("no socket for a link") }
    return (socket, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// The thread of a link.
  private final class LinkThread {
    /// One direction of a connection.
    private struct Direction {
      let from, to: Int32
      /// What has been received and not passed on.
      var pending: [UInt8] = []
      var hasEnded = false

      /// Whether more may be received: nothing waits to be passed on.
      var receives: Bool { pending.isEmpty && !hasEnded }
    }

    private struct Pair {
      /// From the client to the server, and back.
      var directions: [Direction]
      var isBroken = false
      /// Whether it is ended as planned, after what was passed on.
      var isCut = false

      var isOver: Bool { isBroken || isCut || directions.allSatisfy { $0.hasEnded && $0.pending.isEmpty } }
    }

    private let listener: Int32
    private let target: Int
    private let state: Locked<State>
    private var pairs: [Pair] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(_ listener: Int32, _ target: Int, _ state: Locked<State>) {
      (self.listener, self.target, self.state) = (listener, target, state)
    }

    func run() {
      while true {
        let (mode, delay, isEnded) = state.withLock { ($0.mode, $0.delay, $0.isEnded) }
        if isEnded || mode == .cut { endAll() }
        if isEnded { break }
        turn(mode, delay)
      }
      close(listener)
    }

    private func endAll() {
      for pair in pairs { end(pair, resets: true) }
      pairs = []
    }

    /// Closes both sides, with a reset or with a farewell.
    private func end(_ pair: Pair, resets: Bool) {
      for direction in pair.directions {
        var linger = linger(l_onoff: 1, l_linger: 0)
        if resets {
          setsockopt(direction.from, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        }
        close(direction.from)
      }
    }

    private func turn(_ mode: Mode, _ delay: Int32) {
      let passes = mode == .stalled ? [] : mode == .deaf ? [0] : [0, 1]
      var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
      for pair in pairs {
        for (number, direction) in pair.directions.enumerated() {
          let isPassing = passes.contains(number)
          // A negative descriptor is not polled.
          let (from, to) = (isPassing && direction.receives, isPassing && !direction.pending.isEmpty)
          polled.append(pollfd(fd: from ? direction.from : -1, events: Int16(POLLIN), revents: 0))
          polled.append(pollfd(fd: to ? direction.to : -1, events: Int16(POLLOUT), revents: 0))
        }
      }
      // What arrives after the test has changed the mode is treated by the new one.
      guard poll(&polled, nfds_t(polled.count), 10) > 0, mode == state.withLock({ $0.mode }) else { return }
      if delay > 0 { usleep(UInt32(delay) * 1_000) }  // time passes: the link is slow
      for index in pairs.indices {
        var pair = pairs[index]
        for number in 0...1 {
          let at = 1 + 4 * index + 2 * number
          if polled[at].revents != 0 { receive(&pair, number) }
          if polled[at].revents != 0 || polled[at + 1].revents != 0 { send(&pair, number) }
        }
        pairs[index] = pair
      }
      for pair in pairs where pair.isOver { end(pair, resets: pair.isBroken) }
      pairs.removeAll(where: \.isOver)
      if polled[0].revents != 0 { acceptClient(mode) }
    }

    private func receive(_ pair: inout Pair, _ number: Int) {
      let count = recv(pair.directions[number].from, &buffer, buffer.count, 0)
      if count > 0 {
        pair.directions[number].pending = Array(buffer[..<count])
        record(pair, number)
      }
      if count == 0 {
        pair.directions[number].hasEnded = true
        shutdown(pair.directions[number].to, Int32(SHUT_WR))
      }
      if count < 0, errno != EAGAIN { pair.isBroken = true }
    }

    /// Before it is passed on, so that who has received it can look.
    private func record(_ pair: Pair, _ number: Int) {
      let pending = pair.directions[number].pending
      state.withLock { state in
        guard state.order?.concerns(pair.directions[0].from, number, pending) == true, state.order?.bytes == nil
        else { return }
        state.order?.recorded += pending
      }
    }

    private func send(_ pair: inout Pair, _ number: Int) {
      let direction = pair.directions[number]
      guard !direction.pending.isEmpty else { return }
      let client = pair.directions[0].from
      let (isConcerned, limit) = state.withLock { state -> (Bool, Int) in
        guard state.order?.concerns(client, number, direction.pending) == true, let bytes = state.order?.bytes
        else { return (false, .max) }
        return (true, bytes)
      }
      let count = Glibc.send(
        direction.to, direction.pending, min(limit, direction.pending.count), Int32(MSG_NOSIGNAL))
      if count < 0, errno != EAGAIN { pair.isBroken = true }
      guard count >= 0 else { return }
      pair.directions[number].pending.removeFirst(count)
      guard isConcerned else { return }
      pair.isCut = count == limit
      state.withLock { state in
        if pair.isCut { state.order = nil } else { state.order?.bytes = limit - count }
      }
    }

    private func acceptClient(_ mode: Mode) {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      let isConnected = LinkProxy.withAddress(target) { connect(server, $0, $1) == 0 }
      var isOn: Int32 = 1
      for socket in [client, server] {
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        // Otherwise small messages wait for the acknowledgement of those before, up to 40 ms.
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
      }
      let pair = Pair(directions: [Direction(from: client, to: server), Direction(from: server, to: client)])
      guard mode != .cut, isConnected else { return end(pair, resets: true) }
      pairs.append(pair)
    }
  }
}
