import CofferLocks

#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// Tells of changes in the keyring until it is ended or goes.
  ///
  /// It has a connection and a thread of its own, connects again when the bus has gone and come back, and then says
  /// ``SecretServiceEvent/availability``, since nobody knows what happened in between.
  package final class SecretServiceWatch: Sendable {
    private let listener: KeyringListener

    /// - Parameters:
    ///   - address: of the bus; `nil` for the session's.
    ///   - timeout: for connecting, and for how long this waits until everything that follows will be heard.
    ///   - isAwaited: whether this waits for it at all; who does not is told ``SecretServiceEvent/availability`` then.
    ///   - callback: comes on a queue of its own, one call after the other, and may use the keyring.
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

    /// Does not wait for a callback that is under way.
    package func end() { listener.end() }
  }

  /// What the watch's thread does. It stays until that thread has ended.
  final class KeyringListener: Sendable {
    /// The longest wait between two attempts to connect.
    private static let longestPause = Duration.seconds(15)

    private let address: String?
    private let timeout: Duration
    private let callback: @Sendable (SecretServiceEvent) -> Void
    private let isEnded = Locked(false)
    /// Whether nobody has gone on believing that everything is heard, or that nothing is.
    private let isAwaited: Locked<Bool>
    /// `nil` where no bus can be listened to: what would be needed for it is not installed.
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

    /// Until the first attempt to listen has succeeded or failed.
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

    func tell(_ event: SecretServiceEvent) {
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
      guard let place = try? keyringBus(at: address) else { return nil }
      return try? BusConnection(address: place, timeout: timeout, context: context)
    }

    /// Until the bus goes or the watch ends.
    private func listen(on connection: BusConnection, _ context: MainContext, isFirst: Bool) {
      let hear = { @Sendable (signal: BusSignal) in
        if let event = signal.keyringEvent { self.tell(event) }
      }
      let keyring = connection.subscribe(sender: KeyringService.name, hear)
      let owner = connection.subscribe(
        sender: "org.freedesktop.DBus", member: "NameOwnerChanged", argument: KeyringService.name, hear)
      defer {
        connection.unsubscribe(keyring)
        connection.unsubscribe(owner)
        context.drain()  // releases what the subscriptions hold
      }
      // The bus answers in order: with this answer, it has taken note of both subscriptions.
      guard (try? connection.activatableNames()) != nil else { return }
      if isFirst, isAwaited.withLock({ $0 }) { ready.signal() } else { tell(.availability) }
      while goesOn, !connection.isClosed { context.iterate() }
      if goesOn { tell(.availability) }
    }
  }

  extension BusSignal {
    /// What a signal means to the watch, if anything.
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
        // A collection lists its items in a property that changes with each of them: that was told already.
        arguments[0]?.text == BusMethod.collection && arguments[1]?.property("Locked") != nil ? .availability : nil
      default: nil
      }
    }
  }
#endif
