#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// One check of an authorization by polkit (`org.freedesktop.PolicyKit1.Authority`).
  final class PolkitQuestion: Sendable {
    private static let path = "/org/freedesktop/PolicyKit1/Authority"
    private static let interface = "org.freedesktop.PolicyKit1.Authority"
    private static let check = BusMethod(interface, "CheckAuthorization", reply: "((bba{ss}))")
    private static let cancelCheck = BusMethod(interface, "CancelCheckAuthorization", reply: "()")
    private static let allowsUserInteraction: UInt32 = 1

    private struct State {
      var isCancelled = false
      var call: CallDeadline?
    }

    private let action: String
    private let service: QuestionService
    private let deadline: ContinuousClock.Instant
    private let timeout: Duration
    private let identifier = UUID().uuidString
    private let state = Locked(State())

    init(_ action: String, _ service: QuestionService, _ deadline: ContinuousClock.Instant) {
      self.action = action
      self.service = service
      self.deadline = deadline
      timeout = ContinuousClock.now.duration(to: deadline)
    }

    /// Ends the check, also one that has not begun.
    func cancel() {
      let call = state.withLock { state in
        state.isCancelled = true
        return state.call
      }
      call?.expire()
    }

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Blocks until the user has answered, the deadline has passed or the check was cancelled.
    func ask() throws -> AuthenticationOutcome {
      do {
        return try askOverBus()
      } catch {
        if isCancelled { throw CancellationError() }
        throw service.unavailable(error, deadline: deadline, timeout: timeout)
      }
    }

    private func askOverBus() throws -> AuthenticationOutcome {
      let (bus, owner) = try service.connect(until: deadline, MainContext())
      let call = try CallDeadline(ContinuousClock.now.duration(to: deadline))
      defer { call.cancel() }
      let isCancelled = state.withLock { state in
        state.call = call
        return state.isCancelled
      }
      guard !isCancelled else { throw CancellationError() }
      // Polkit accepts details, such as a message, from trusted callers only, and refuses all others that pass any.
      let subject = BusValue.structure([
        .string("system-bus-name"), .properties([("name", .string(bus.uniqueName ?? ""))]),
      ])
      do {
        let reply = try bus.call(
          Self.check, of: owner, at: Self.path,
          [
            subject, .string(action), .array(of: "{ss}", []), .uint32(Self.allowsUserInteraction),
            .string(identifier),
          ], until: call)
        return try outcome(of: reply)
      } catch let failure as BusFailure where failure.kind == .timedOut {
        _ = try? bus.call(Self.cancelCheck, of: owner, at: Self.path, [.string(identifier)])
        throw StorageError.unanswered(within: timeout)
      } catch let failure as BusFailure where failure.name == "org.freedesktop.PolicyKit1.Error.Cancelled" {
        return .cancelled
      } catch let failure as BusFailure where failure.name == "org.freedesktop.PolicyKit1.Error.Failed" {
        throw service.unavailable(
          "Polkit cannot check the action '\(action.escapingControlCharacters)'.",
          advice: "Install its policy file in /usr/share/polkit-1/actions.",
          StorageError.Underlying(
            domain: "polkit", code: failure.code, text: failure.text.escapingControlCharacters))
      }
    }

    private func outcome(of reply: BusValue) throws -> AuthenticationOutcome {
      guard let isAuthorized = reply[0]?[0]?.bool, let isChallenge = reply[0]?[1]?.bool else {
        throw BusFailure(.other, "the reply has another type than documented")
      }
      if isAuthorized { return .confirmed }
      let details = reply[0]?[2]?.children ?? []
      if details.contains(where: { $0[0]?.text == "polkit.dismissed" }) { return .cancelled }
      guard isChallenge else { return .refused }
      throw service.unavailable(
        "Polkit has no agent that could ask the user.",
        advice: "Run the program in a session with an authentication agent, such as that of the desktop.")
    }
  }
#endif
