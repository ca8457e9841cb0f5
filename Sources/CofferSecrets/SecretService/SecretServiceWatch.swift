import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import Foundation

  /// A subscription to changes in the keyring, which lasts until ``end()`` or its deallocation.
  ///
  /// It has its own connection and thread. After a restart of the bus it connects again and delivers
  /// ``SecretServiceEvent/availability``, since changes in between are unknown.
  package final class SecretServiceWatch: Sendable {
    private let listener: KeyringListener

    /// Subscribes to changes.
    /// - Parameters:
    ///   - address: the address of the bus, or `nil` for the session's.
    ///   - timeout: the timeout for connecting, and the longest time that this waits for the subscription.
    ///   - isAwaited: whether this waits for the subscription. Otherwise ``SecretServiceEvent/availability`` is
    ///     delivered once it is active.
    ///   - callback: receives the events serially on a private queue; it may use the keyring.
    package init(
      address: String? = nil, timeout: Duration = .seconds(2), isAwaited: Bool = true,
      _ callback: @escaping @Sendable (SecretServiceEvent) -> Void
    ) {
      listener = KeyringListener(address: address, timeout: timeout, isAwaited: isAwaited, callback)
      let thread = Thread { [listener] in listener.run() }
      thread.name = "coffer.keyring"
      thread.start()
      if isAwaited { listener.waitUntilReady() }
    }

    deinit { end() }

    /// Ends the subscription, without waiting for a callback in progress.
    package func end() { listener.end() }
  }

  /// The loop of the watch's thread, which retains it until the thread ends.
  final class KeyringListener: Sendable {
    /// The maximum backoff between two attempts to connect.
    private static let longestPause = Duration.seconds(15)

    private let address: String?
    private let timeout: Duration
    private let callback: @Sendable (SecretServiceEvent) -> Void
    private let isEnded = Locked(false)
    /// Whether the initializer of the watch still waits for the first subscription.
    private let isAwaited: Locked<Bool>
    /// The context that receives the signals, or `nil` if a required library is not installed.
    private let context = try? MainContext()
    private let queue = DispatchQueue(label: "coffer.keyring.watch")
    private let ended = DispatchSemaphore(value: 0)
    private let ready = DispatchSemaphore(value: 0)

    init(
      address: String?, timeout: Duration, isAwaited: Bool, _ callback: @escaping @Sendable (SecretServiceEvent) -> Void
    ) {
      self.address = address
      self.isAwaited = Locked(isAwaited)
      self.timeout = timeout
      self.callback = callback
    }

    /// Waits until the first attempt to subscribe has succeeded or failed, or the timeout has passed.
    func waitUntilReady() {
      _ = ready.wait(timeout: .now() + .milliseconds(Int(timeout.wholeMilliseconds)))
      isAwaited.withLock { $0 = false }
    }

    func end() {
      isEnded.withLock { $0 = true }
      ended.signal()
      context?.wake()
    }

    private var goesOn: Bool { !isEnded.withLock { $0 } }

    func emit(_ event: SecretServiceEvent) {
      queue.async { [self] in
        if goesOn { callback(event) }
      }
    }

    func run() {
      defer { ready.signal() }
      guard let context else { return }
      context.asDefault {
        var pause = Duration.milliseconds(250)
        var isFirst = true
        while goesOn {
          if let connection = connect(context) {
            listen(on: connection, context, isFirst: isFirst)
            pause = .milliseconds(250)
          }
          if isFirst { ready.signal() }
          isFirst = false
          guard goesOn else { break }
          _ = ended.wait(timeout: .now() + .milliseconds(Int(pause.wholeMilliseconds)))
          pause = min(pause * 2, Self.longestPause)
        }
        context.drain()
      }
    }

    private func connect(_ context: MainContext) -> BusConnection? {
      guard let location = try? keyringBus(at: address) else { return nil }
      return try? BusConnection(address: location, timeout: timeout, context: context)
    }

    /// Delivers signals until the connection or the watch ends.
    private func listen(on connection: BusConnection, _ context: MainContext, isFirst: Bool) {
      let hear = { @Sendable (signal: BusSignal) in
        if let event = signal.keyringEvent { self.emit(event) }
      }
      let keyring = connection.subscribe(sender: KeyringService.name, hear)
      let owner = connection.subscribe(
        sender: "org.freedesktop.DBus", member: "NameOwnerChanged", argument: KeyringService.name, hear)
      defer {
        connection.unsubscribe(keyring)
        connection.unsubscribe(owner)
        context.drain()  // releases what the subscriptions hold
      }
      // The bus processes calls in order, so this reply confirms both subscriptions.
      guard (try? connection.activatableNames()) != nil else { return }
      if isFirst, isAwaited.withLock({ $0 }) { ready.signal() } else { emit(.availability) }
      while goesOn, !connection.isClosed { context.iterate() }
      if goesOn { emit(.availability) }
    }
  }

  extension BusSignal {
    /// The event that a signal stands for, or `nil` if it is not relevant.
    var keyringEvent: SecretServiceEvent? {
      switch (interface, member) {
      case ("org.freedesktop.Secret.Collection", "ItemCreated"), ("org.freedesktop.Secret.Collection", "ItemChanged"),
        ("org.freedesktop.Secret.Collection", "ItemDeleted"):
        arguments[0]?.itemPath.map { .item($0) }
      case ("org.freedesktop.Secret.Service", "CollectionCreated"),
        ("org.freedesktop.Secret.Service", "CollectionChanged"),
        ("org.freedesktop.Secret.Service", "CollectionDeleted"), ("org.freedesktop.DBus", "NameOwnerChanged"):
        .availability
      case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
        // A collection's property that lists its items changes with each item, for which there are other signals.
        arguments[0]?.text == BusMethod.collection && arguments[1]?.property("Locked") != nil ? .availability : nil
      default: nil
      }
    }
  }
#endif
