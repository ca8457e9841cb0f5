#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// One verification of a finger by fprintd (`net.reactivated.Fprint.Device`).
  final class FingerVerification: Sendable {
    private enum Event: Sendable {
      case status(String, isDone: Bool)
      case serviceEnded
    }

    private struct State {
      var isCancelled = false
      var isOverdue = false
      var context: MainContext?
      var events: [Event] = []
    }

    private static let manager = "net.reactivated.Fprint.Manager"
    private static let device = "net.reactivated.Fprint.Device"

    private let service: QuestionService
    private let attempts: Int
    private let deadline: ContinuousClock.Instant
    private let timeout: Duration
    private let reason: String
    private let onPrompt: (@Sendable (FprintAuthenticator.Prompt) -> Void)?
    private let state = Locked(State())

    init(
      _ service: QuestionService, attempts: Int, deadline: ContinuousClock.Instant, reason: String,
      _ onPrompt: (@Sendable (FprintAuthenticator.Prompt) -> Void)?
    ) {
      self.service = service
      self.attempts = attempts
      self.deadline = deadline
      timeout = ContinuousClock.now.duration(to: deadline)
      self.reason = reason
      self.onPrompt = onPrompt
    }

    /// Ends the verification, also one that has not begun.
    func cancel() {
      let context = state.withLock { state in
        state.isCancelled = true
        return state.context
      }
      context?.wake()
    }

    /// Blocks until the finger is recognized or refused, the deadline has passed or the verification was cancelled.
    func run() throws -> AuthenticationOutcome {
      do {
        let context = try MainContext()
        state.withLock { $0.context = context }
        let alarm = DispatchWorkItem { [self] in
          state.withLock { $0.isOverdue = true }
          context.wake()
        }
        DispatchQueue.global().asyncAfter(
          deadline: .now() + .milliseconds(Int(timeout.wholeMilliseconds)), execute: alarm)
        defer {
          alarm.cancel()
          context.drain()  // releases what the subscriptions hold
        }
        return try context.asDefault { try verify(context) }
      } catch {
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
        throw service.unavailable(explain(error), deadline: deadline, timeout: timeout)
      }
    }

    private func verify(_ context: MainContext) throws -> AuthenticationOutcome {
      try checkTime()
      let (bus, owner) = try service.connect(until: deadline, context)
      let device = try findDevice(bus, owner)
      let subscriptions = subscribe(to: device, of: owner, on: bus, context)
      defer { subscriptions.forEach(bus.unsubscribe) }
      let call = { (name: String, arguments: [BusValue]) throws(BusFailure) in
        _ = try bus.call(BusMethod(Self.device, name, reply: "()"), of: owner, at: device, arguments)
      }
      try checkTime()
      // The reader is released whatever happens after it may have been claimed, even if the reply was lost.
      defer { try? call("Release", []) }
      try call("Claim", [.string("")])
      defer { onPrompt?(.ended) }
      onPrompt?(.touchSensor(reason: reason))
      for attempt in 1...attempts {
        defer { try? call("VerifyStop", []) }
        state.withLock { $0.events.removeAll { if case .status = $0 { true } else { false } } }
        try call("VerifyStart", [.string("any")])
        if try isMatch(bus, context) { return .confirmed }
        if attempt < attempts { onPrompt?(.touchAgain) }
      }
      return .refused
    }

    /// Returns the path of the default reader, for which the user has enrolled a finger.
    private func findDevice(_ bus: BusConnection, _ owner: String) throws -> String {
      let reply = try bus.call(
        BusMethod(Self.manager, "GetDefaultDevice", reply: "(o)"), of: owner, at: "/net/reactivated/Fprint/Manager")
      let device = reply[0]?.text ?? "/"
      let fingers = try bus.call(
        BusMethod(Self.device, "ListEnrolledFingers", reply: "(as)"), of: owner, at: device, [.string("")])
      guard fingers[0]?.texts.isEmpty == false else { throw noFingers }
      return device
    }

    private func subscribe(
      to device: String, of owner: String, on bus: BusConnection, _ context: MainContext
    ) -> [CUnsignedInt] {
      let status = bus.subscribe(sender: owner, member: "VerifyStatus") { [self] signal in
        guard signal.interface == Self.device, signal.path == device, let result = signal.arguments[0]?.text else {
          return
        }
        state.withLock { $0.events.append(.status(result, isDone: signal.arguments[1]?.bool ?? true)) }
      }
      let end = bus.subscribe(
        sender: "org.freedesktop.DBus", member: "NameOwnerChanged", argument: service.name
      ) { [self] signal in
        state.withLock { $0.events.append(.serviceEnded) }
      }
      return [status, end]
    }

    /// Waits for the result of one finger.
    private func isMatch(_ bus: BusConnection, _ context: MainContext) throws -> Bool {
      while true {
        try checkTime()
        switch state.withLock({ $0.events.isEmpty ? nil : $0.events.removeFirst() }) {
        case .status("verify-match", _): return true
        case .status("verify-no-match", _): return false
        case .status("verify-retry-scan", false), .status("verify-swipe-too-short", false),
          .status("verify-finger-not-centered", false), .status("verify-remove-and-retry", false):
          onPrompt?(.touchAgain)
        case .status("verify-disconnected", _):
          throw service.unavailable("The fingerprint reader was disconnected.", advice: "Connect it and try again.")
        case .status(_, false): break
        case .status(let result, true):
          throw service.unavailable(
            "The fingerprint reader failed: \(result.escapingControlCharacters).", advice: "Try again.")
        case .serviceEnded: throw BusFailure(.gone, "the owner of the name has changed")
        case nil:
          guard !bus.isClosed else { throw BusFailure(.closed, "the connection is closed") }
          context.iterate()
        }
      }
    }

    /// Throws once the deadline has passed or the verification was cancelled.
    private func checkTime() throws {
      let (isCancelled, isOverdue) = state.withLock { ($0.isCancelled, $0.isOverdue) }
      if isCancelled { throw CancellationError() }
      guard !isOverdue, ContinuousClock.now < deadline else { throw StorageError.unanswered(within: timeout) }
    }

    private var noFingers: StorageError {
      service.unavailable("No finger is enrolled for this user.", advice: "Enroll one (fprintd-enroll).")
    }

    /// Returns a better error for one of fprintd's own.
    private func explain(_ error: any Error) -> any Error {
      switch (error as? BusFailure)?.name {
      case "net.reactivated.Fprint.Error.NoSuchDevice":
        service.unavailable("There is no fingerprint reader.", advice: "Connect one, or use another authenticator.")
      case "net.reactivated.Fprint.Error.NoEnrolledPrints": noFingers
      case "net.reactivated.Fprint.Error.AlreadyInUse":
        service.unavailable("Another program uses the fingerprint reader.", advice: "Try again when it has finished.")
      case "net.reactivated.Fprint.Error.PermissionDenied":
        service.unavailable(
          "This user may not use the fingerprint reader.", advice: "Use it from a session at the machine itself.")
      default: error
      }
    }
  }
#endif
