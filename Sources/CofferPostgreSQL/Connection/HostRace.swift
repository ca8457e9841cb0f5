import CofferCore

extension ServerConnection {
  /// Connects to the primary among the hosts of a target.
  /// - Throws: a `StorageError` that says why no host can be used and how to mend it; the errors of
  ///   ``HostRace/run(_:)``.
  static func open(
    _ target: ConnectionTarget, on loop: ConnectionLoop = .shared, lookup: HostLookup = .shared
  ) async throws -> ServerConnection {
    switch try await HostRace(target: target, loop: loop, lookup: lookup).run({ _ in }) {
    case .opened(let connection, _): return connection
    case .failed(let failures): throw target.error(failures)
    }
  }
}

/// The search for the primary among the hosts of a target, which are tried side by side: one that does not answer
/// delays nothing. The host that was the primary last is tried alone for a moment.
///
/// A primary that was cut off from its standbys still accepts connections and calls itself the primary. One that does
/// not confirm a commit is passed over.
struct HostRace: Sendable {
  enum Outcome<Confirmation: Sendable>: Sendable {
    case opened(ServerConnection, Confirmation)
    /// Why no host can be used.
    case failed([(host: ServerHost, failure: ConnectFailure)])
  }

  /// A confirmation of a server, such as a commit that waits for its standbys.
  typealias Confirm<Confirmation> = @Sendable (ServerConnection) async throws(ExchangeFailure) -> Confirmation

  private enum Event<Confirmation: Sendable>: Sendable {
    case headStartEnded
    case opened(Int, ServerConnection, Confirmation)
    case failed(Int, ConnectFailure)
    /// The server has refused the confirmation for a reason that may hold for every host.
    case refused(ExchangeFailure)
  }

  /// The time for which the last primary is tried alone, or others are awaited.
  private static let headStart = Duration.milliseconds(250)

  let target: ConnectionTarget
  let loop: ConnectionLoop
  var lookup = HostLookup.shared
  /// Whether the primary with the newest timeline is used among those that answer within 250 ms of the first one: where
  /// nothing is confirmed, one that was cut off is as good as its successor.
  var comparesTimelines = false

  /// Returns the first connection that is confirmed, or the newest one.
  /// - Throws: the first `ExchangeFailure` of `confirm`, if a server has refused it and no other host can be used; an
  ///   error of the source of the password; `CancellationError`.
  func run<Confirmation>(_ confirm: @escaping Confirm<Confirmation>) async throws -> Outcome<Confirmation> {
    let password = try await target.readPassword()
    let (events, continuation) = AsyncStream.makeStream(of: Event<Confirmation>.self)
    var (waiting, tasks) = (target.order[...], [Task<Void, Never>]())
    defer { for task in tasks { task.cancel() } }
    func start(_ number: Int) {
      for index in waiting.prefix(number) {
        tasks.append(Task { continuation.yield(await event(of: index, password, confirm)) })
      }
      waiting = waiting.dropFirst(number)
    }
    func startTimer() {
      tasks.append(
        Task {
          try? await Task.sleep(for: Self.headStart)
          continuation.yield(.headStartEnded)
        })
    }
    if target.hasPreferredHost, waiting.count > 1, !comparesTimelines {
      start(1)
      startTimer()
    } else {
      start(waiting.count)
    }
    var opened: [(index: Int, connection: ServerConnection, confirmation: Confirmation)] = []
    var failures: [(host: ServerHost, failure: ConnectFailure)] = []
    // A server that was cut off may know neither the tables nor the role.
    var refusals: [ExchangeFailure] = []
    var awaitsOthers = comparesTimelines
    for await event in events {
      switch event {
      case .headStartEnded: awaitsOthers = false
      case .opened(let index, let connection, let confirmation):
        opened.append((index, connection, confirmation))
        if awaitsOthers, opened.count == 1 { startTimer() }
      case .refused(let failure): refusals.append(failure)
      case .failed(let index, let failure): failures.append((target.hosts[index], failure))
      }
      let hasAll = opened.count + failures.count + refusals.count == target.hosts.count
      let newest = opened.max { $0.connection.timeline < $1.connection.timeline }
      if let newest, hasAll || !awaitsOthers {
        target.prefer(newest.index)
        return .opened(newest.connection, newest.confirmation)
      }
      start(waiting.count)
      guard hasAll else { continue }
      if let refusal = refusals.first { throw refusal }
      return .failed(failures)
    }
    throw CancellationError()
  }

  /// Connects to one host and confirms it. The connection of a task that is cancelled, since another host was faster,
  /// is given up.
  private func event<Confirmation>(
    of index: Int, _ password: SecretText?, _ confirm: Confirm<Confirmation>
  ) async -> Event<Confirmation> {
    let host = target.hosts[index]
    var result = await attempt(host, password)
    if case .failure(.refused(ConnectFailure.wrongPassword)) = result,
      let changed = await target.readChangedPassword(after: password)
    {
      result = await attempt(host, changed)
    }
    switch result {
    case .failure(let failure): return .failed(index, failure)
    case .success(let connection):
      return await withTaskCancellationHandler {
        do throws(ExchangeFailure) { return .opened(index, connection, try await confirm(connection)) } catch {
          connection.abandon()
          return ConnectFailure(unconfirmed: error).map { .failed(index, $0) } ?? .refused(error)
        }
      } onCancel: {
        connection.abandon()
      }
    }
  }

  private func attempt(_ host: ServerHost, _ password: SecretText?) async -> Result<ServerConnection, ConnectFailure> {
    let opening = HostOpening(host: host, target: target, password: password, loop: loop, lookup: lookup)
    do throws(ConnectFailure) { return .success(try await opening.run()) } catch { return .failure(error) }
  }
}

extension ServerConnection {
  /// The timeline of the server, of which a later one is larger.
  fileprivate var timeline: String { instance.timeline ?? "" }
}
