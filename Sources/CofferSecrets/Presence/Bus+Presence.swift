#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import Foundation

  /// Runs a closure that may block on a thread of its own: a question can outlast all threads of a pool.
  func runOnThread<R: Sendable>(
    named name: String, _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread { continuation.resume(with: Result { try body() }) }
      thread.name = name
      thread.start()
    }
  }

  /// A service of the system that asks the user.
  struct QuestionService: Sendable {
    /// The bus name of the service.
    let name: String
    /// The name of the service in messages.
    let title: String
    /// The name of the Debian package that contains it.
    let package: String
    /// The address of the bus, or `nil` for the system's.
    let address: String?

    /// The timeout for replies that do not depend on the user.
    static let patience = Duration.seconds(5)

    /// Connects to the bus and starts the service unless it is running.
    /// - Returns: The connection, and the unique name of the service.
    /// - Throws: `BusFailure`; `SessionBus.Absence`.
    func connect(
      until deadline: ContinuousClock.Instant, _ context: MainContext
    ) throws -> (bus: BusConnection, owner: String) {
      let bus = try BusConnection(
        address: try address ?? SystemBus.address(),
        timeout: min(Self.patience, ContinuousClock.now.duration(to: deadline)),
        context: context)
      if let owner = try bus.owner(of: name) { return (bus, owner) }
      try bus.start(name)
      guard let owner = try bus.owner(of: name) else { throw BusFailure(.noOwner, "\(title) has ended") }
      return (bus, owner)
    }

    /// Returns the error for a failure of the bus or the service, which means that there is no answer.
    /// - Parameters:
    ///   - deadline: when the question had to be answered.
    ///   - timeout: the time that was left for it at first.
    func unavailable(
      _ error: any Error, deadline: ContinuousClock.Instant, timeout: Duration
    ) -> any Error {
      if (error as? BusFailure)?.kind == .timedOut, ContinuousClock.now >= deadline {
        return StorageError.unanswered(within: timeout)
      }
      return unavailable(error)
    }

    private func unavailable(_ error: any Error) -> any Error {
      guard let failure = error as? BusFailure else {
        guard let absence = error as? SessionBus.Absence else { return error }
        return unavailable("The system bus cannot be reached: \(absence.reason).", advice: "Set its address.")
      }
      let underlying = StorageError.Underlying(
        domain: failure.name ?? "D-Bus", code: failure.code, text: failure.text.escapingControlCharacters)
      switch failure.kind {
      case .noLibrary, .unreachable:
        return unavailable(
          "The system bus cannot be reached.", advice: "Check that it runs and that GLib is installed.", underlying)
      case .noOwner:
        return unavailable(
          "\(title) is not running and cannot be started.", advice: "Install it (Debian: \(package)).", underlying)
      case .closed, .gone:
        return unavailable("\(title) or the bus ended before the user answered.", advice: "Try again.", underlying)
      case .timedOut: return unavailable("\(title) does not answer.", advice: "Try again.", underlying)
      case .denied, .invalid, .noObject, .other:
        return unavailable("\(title) cannot ask the user.", advice: "Check its configuration.", underlying)
      }
    }

    func unavailable(
      _ message: String, advice: String, _ underlying: StorageError.Underlying? = nil
    ) -> StorageError {
      StorageError(.unavailable, message, advice: advice + " The value was not read.", underlying: underlying)
    }
  }
#endif
