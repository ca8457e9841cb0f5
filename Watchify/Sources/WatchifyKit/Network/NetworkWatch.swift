#if !canImport(Network)
  import CofferCore
  import Foundation

  /// Reads the state of the network whenever the kernel announces a change, and at regular intervals.
  ///
  /// The kernel's messages are only hints: some changes are announced twice, and the loss of an IPv4 route over an
  /// interface that was set down is not announced.
  final class NetworkWatch: Sendable {
    /// The state read last.
    var state: NetworkState { seen.withLock { $0 } }
    /// A group that becomes empty once all descriptors are closed, some time after ``stop()``.
    let open = DispatchGroup()

    private let reader: NetworkReader
    private let pause: DispatchTimeInterval
    private let seen: Locked<NetworkState>
    private let queue = DispatchQueue(label: "watchify.network")
    private let sources = Locked<[WatchedSource]>([])
    private let isHinted = Locked(false)
    private let onChange: @Sendable () -> Void

    /// Reads the state once, then watches it on a private queue until ``stop()``.
    /// - Parameters:
    ///   - pause: the delay between a message of the kernel and the read: changes come in bursts.
    ///   - poll: the interval between reads without a message.
    ///   - onChange: called on the private queue after ``state`` has changed.
    init(reader: NetworkReader, pause: Duration, poll: Duration, onChange: @escaping @Sendable () -> Void) {
      self.reader = reader
      self.pause = .nanoseconds(pause.nanoseconds)
      self.onChange = onChange
      // Opened before the first read, so that no later change is missed.
      let descriptor = Self.routeSocket()
      seen = Locked(reader.read())
      if descriptor >= 0 { listen(to: descriptor) }
      startPolling(every: .nanoseconds(poll.nanoseconds))
    }

    deinit { stop() }

    /// Stops watching. No call of `onChange` begins after this method returns; one may still be running.
    func stop() {
      let ended = sources.withLock { sources in
        defer { sources = [] }
        return sources
      }
      for ended in ended { ended.source.cancel() }
    }

    private var isStopped: Bool { sources.withLock { $0.isEmpty } }

    private func keep(_ source: WatchedSource) { sources.withLock { $0.append(source) } }

    /// Opens a non-blocking socket to which the kernel sends a message for each change of links, addresses and routes
    /// in this network namespace (rtnetlink(7)). Returns -1 on failure.
    private static func routeSocket() -> CInt {
      let kind = CInt(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let descriptor = socket(AF_NETLINK, kind, 0)  // 0: NETLINK_ROUTE
      guard descriptor >= 0 else { return -1 }
      var address = NetlinkAddress()
      let bound = withUnsafeBytes(of: &address) { bytes in
        bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
      guard bound == 0 else {
        close(descriptor)
        return -1
      }
      return descriptor
    }

    private func listen(to descriptor: CInt) {
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        Self.empty(descriptor)
        self?.hint()
      }
      open.enter()
      source.setCancelHandler { [open] in
        close(descriptor)
        open.leave()
      }
      keep(WatchedSource(source: source))
      source.resume()
    }

    private func startPolling(every interval: DispatchTimeInterval) {
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .seconds(1))
      timer.setEventHandler { [weak self] in self?.look() }
      keep(WatchedSource(source: timer))
      timer.resume()
    }

    /// Discards all messages. Their contents do not matter, nor whether some were lost (`ENOBUFS`): the state is read
    /// again.
    private static func empty(_ descriptor: CInt) {
      var byte: UInt8 = 0
      while true {
        let count = recv(descriptor, &byte, 1, 0)  // consumes a whole message, whatever the buffer's size
        guard count >= 0 || errno == EINTR || errno == ENOBUFS else { return }
      }
    }

    /// Schedules a read after the delay. Further hints within the delay do not extend it, so a burst cannot postpone
    /// the read.
    func hint() {
      let isFirst = isHinted.withLock { isHinted in
        defer { isHinted = true }
        return !isHinted
      }
      guard isFirst else { return }
      queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.look() }
    }

    private func look() {
      isHinted.withLock { $0 = false }
      guard !isStopped else { return }
      let state = reader.read()
      let isNew = seen.withLock { seen in
        defer { seen = state }
        return seen != state
      }
      if isNew { onChange() }
    }
  }

  /// `struct sockaddr_nl` of <linux/netlink.h>, which Swift does not import.
  private struct NetlinkAddress {
    var family = UInt16(AF_NETLINK)
    var padding: UInt16 = 0
    var process: UInt32 = 0
    // RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE
    var groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
  }

  /// A dispatch source that is cancelled by its owner.
  // Safe: a source may be cancelled from any thread, and the reference never changes.
  private struct WatchedSource: @unchecked Sendable {
    let source: any DispatchSourceProtocol
  }

  extension Duration {
    fileprivate var nanoseconds: Int {
      let (seconds, attoseconds) = components
      return Int(max(0, min(seconds, 1_000_000_000)) * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
  }
#endif
