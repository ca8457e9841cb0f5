import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// Implements `coffer watch`, which prints commits until a signal, `--count` events, or the end of the reading process.
func watchStore(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.prefix()
  let limit = try invocation.number(.count, minimum: 1)
  // A position also has the epoch of its history, in which alone its revision means the same commits.
  let position = invocation.options[.since].flatMap(JournalPosition.init)
  let since = try position?.revision ?? invocation.number(.since, minimum: 0).map(StoreRevision.init)
  let asJSON = invocation.has(.json)
  return try await withStore(invocation, for: .values([])) { engine in
    try await requireRing(of: engine)
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    let signals = Signals([SIGINT, SIGTERM]) { stop.finish() }
    defer { withExtendedLifetime(signals) {} }
    whenReaderLeaves { stop.finish() }
    let latest = engine.latestRevision
    if let since, since > latest, position == nil {
      try Output.error.note("The store is at revision \(latest); it has no revision \(since) yet.")
    }
    let start = since.map { JournalPosition(epoch: engine.latestPosition.epoch, revision: min($0, latest)) }
    let changes = engine.changes(since: position ?? start)
    let printer = WatchPrinter(engine: engine, prefix: prefix, limit: limit, asJSON: asJSON)
    // The watch runs in its own task, so that it can be cancelled wherever it waits.
    let task = Task {
      try await printer.begin()
      let states = Task {
        // What follows the end of the watch is its own closing of the store.
        for await state in engine.availability() where !Task.isCancelled { try await printer.print(state) }
      }
      defer { states.cancel() }
      do {
        for await change in changes where try await printer.print(change) { return true }
      } catch is CancellationError {  // A signal arrived while a value was being read.
      } catch let error as StorageError where error.code == .closed {}  // The stream ends, too.
      return Task.isCancelled
    }
    Task {
      for await _ in stops {}
      task.cancel()
    }
    guard try await task.value else {
      let reason = await reasonOfEnd(of: engine) ?? "It was closed."
      try await printer.print(.unavailable(reason: reason))
      throw CommandError(
        .failure, StorageError.Code.closed.description, "The store can no longer be watched: \(reason.oneLine())",
        advice: "Watch what is there now with the same command; coffer verify checks it.", store: engine.description)
    }
    return .ok
  }
}

/// Throws `keyUnavailable` if the store has lost its key ring, so that its changes are those of envelopes. Other errors
/// are reported by the watch itself.
private func requireRing(of engine: any StorageEngine) async throws {
  do { try await engine.requireShownNames() } catch let error as StorageError where error.code != .keyUnavailable {}
}

/// Returns the reason why a stream of changes has ended, if the engine states one within a second.
private func reasonOfEnd(of engine: any StorageEngine) async -> String? {
  let states = engine.availability()
  return await withTaskGroup(of: String?.self) { group in
    group.addTask {
      for await case .unavailable(let reason) in states { return reason }
      return nil
    }
    group.addTask {
      try? await Task.sleep(for: .seconds(1))
      return nil
    }
    defer { group.cancelAll() }
    return await group.next() ?? nil
  }
}

/// The kind of a change, as far as a read of the key can show.
private enum Event: String {
  case put, deleted, cleared, damaged, unreadable, reload
  /// A key that exists after a reload.
  case present
}

private actor WatchPrinter {
  private static let eventWidth = 7
  /// The number of failed reads of a key after which it is reported as unreadable, or of the keys after which the
  /// listing ends, one second apart.
  private static let attempts = 3

  private let engine: any StorageEngine
  private let prefix: KeyName?
  private let limit: UInt64?
  private let asJSON: Bool
  private let output = Output.standard
  private var printed: UInt64 = 0
  private var wasUsable = true

  init(engine: any StorageEngine, prefix: KeyName?, limit: UInt64?, asJSON: Bool) {
    self.engine = engine
    self.prefix = prefix
    self.limit = limit
    self.asJSON = asJSON
  }

  /// Whether encrypted values cannot be read, which is no failure: the event is the same.
  private var isKeyless: Bool { engine.as(KeylessEngine.self) != nil }

  /// Prints a notice on a terminal, so that the absence of output is not taken for a failure.
  func begin() throws {
    guard output.isTerminal, !asJSON else { return }
    let notice = Output.error
    try notice.writeLine(notice.style.dim("Watching \(engine.description.oneLine()). Ctrl-C ends."))
    try notice.flush()
  }

  /// Prints the changes that match the prefix. Returns whether the limit has been reached.
  func print(_ change: StoreChange) async throws -> Bool {
    switch change {
    case .reload(let revision):
      return try await reload(at: revision)
    case .commit(let commit):
      if commit.changed.isEverything {
        // Without a transaction nobody removed anything: the history of the store is another one from here on.
        guard let transaction = commit.transaction else { return try await reload(at: commit.revision) }
        return try print(.cleared, nil, commit.revision, transaction)
      }
      for cleared in commit.changed.prefixes where overlaps(cleared) {
        if try print(.cleared, cleared, commit.revision, commit.transaction) { return true }
      }
      var seen: Set<KeyName> = []
      for key in commit.changed.keys where prefix.map(key.hasPrefix) ?? true && seen.insert(key).inserted {
        let (event, error) = try await event(of: key)
        if let error, !asJSON { try Output.error.note(error.description) }
        if try print(event, key, commit.revision, commit.transaction, error) { return true }
      }
      return false
    }
  }

  /// Prints that the changes up to a revision are unknown, and each key that is there now.
  private func reload(at revision: StoreRevision) async throws -> Bool {
    if try print(.reload, nil, revision, nil) { return true }
    try await requireRing(of: engine)
    var last: KeyName?
    while let items = try await page(after: last), let end = items.last {
      for item in items {
        var event = Event.present
        if case .skipped = item { event = .damaged }
        if try print(event, item.key, revision, nil) { return true }
      }
      last = end.key
    }
    return false
  }

  /// Returns the next keys, once the store can be read; `nil` if it cannot list them, after some attempts.
  private func page(after last: KeyName?) async throws -> [Listing<StoreEntry.Summary>.Item]? {
    let page = try await patiently {
      try await engine.withSnapshot { [prefix] snapshot in
        try await Listing<StoreEntry.Summary>.page(of: snapshot, prefix: prefix, after: last)
      }
    }
    switch page {
    case .success(let items): return items
    case .failure(let error):
      try Output.error.note(error.description)
      return nil
    }
  }

  /// Reads from the store. Waits while it is unavailable, so that nothing is missed: later commits are printed
  /// afterwards. Returns the error of a store that can be used, after some attempts.
  /// - Throws: `closed`, `keyUnavailable` of a store that is shown as it is stored, `CancellationError`.
  private func patiently<R: Sendable>(_ read: () async throws -> R) async throws -> Result<R, StorageError> {
    var failed = 0
    while true {
      do { return .success(try await read()) } catch let error as StorageError where error.code != .closed {
        try Task.checkCancellation()
        if error.code == .keyUnavailable, engine.showsStoredForm { throw error }
        if await engine.currentAvailability.isUsable {
          failed += 1
          guard failed < Self.attempts else { return .failure(error) }
          try await Task.sleep(for: .seconds(1))
        } else {
          try await waitUntilUsable()
        }
      }
    }
  }

  /// Waits until the store can be used.
  /// - Throws: `closed` if its stream of changes ends before, so that it never can.
  private func waitUntilUsable() async throws {
    let (states, changes) = (engine.availability(), engine.changes(since: nil))
    let isUsable = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await state in states where state.isUsable { return true }
        return false
      }
      group.addTask {
        for await _ in changes {}
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
    try Task.checkCancellation()
    if !isUsable { throw StorageError.closed(engine.description) }
  }

  private func overlaps(_ cleared: KeyName) -> Bool {
    guard let prefix else { return true }
    return cleared.hasPrefix(prefix) || prefix.hasPrefix(cleared)
  }

  /// Prints that the store has become unavailable, or available again. Neither counts as an event.
  func print(_ state: StoreAvailability) throws {
    guard state.isUsable != wasUsable else { return }
    wasUsable = state.isUsable
    var reason: String?
    if case .unavailable(let text) = state { reason = text }
    guard asJSON else {
      return try Output.error.note(
        reason.map { "The store is unavailable: \($0.oneLine())" } ?? "The store is available again.")
    }
    try output.writeLine(
      JSON.object([
        ("time", .text(Self.time(Date()))), ("event", .text(reason == nil ? "available" : "unavailable")),
        ("message", .optional(reason)),
      ]).line)
    try output.flush()
  }

  /// Reads a changed key to determine the event: the journal holds only which keys changed.
  private func event(of key: KeyName) async throws -> (Event, StorageError?) {
    switch try await patiently({ try await present(key) }) {
    case .success(let event): (event, nil)
    case .failure(let error): (.unreadable, error)
    }
  }

  private func present(_ key: KeyName) async throws -> Event {
    do {
      guard let entry = try await engine.entry(key) else { return .deleted }
      if entry.attributes.isSealed { try await requireRing(of: engine) }
      return .put
    } catch let error as StorageError where error.code == .damaged && error.key == key {
      return .damaged
    } catch let error as StorageError where error.code == .unfinished && error.key == key {
      return .deleted  // The removal is committed but not yet published.
    } catch let error as StorageError where error.isAboutQuestion || isKeyless && error.code == .keyUnavailable {
      return try await engine.contains(key) ? .put : .deleted
    }
  }

  private func print(
    _ event: Event, _ key: KeyName?, _ revision: StoreRevision, _ transaction: TransactionID?,
    _ error: StorageError? = nil
  ) throws -> Bool {
    let now = Date()
    if asJSON {
      let name: StaticString = event == .cleared ? "prefix" : "key"
      try output.writeLine(
        JSON.object(
          [
            ("time", .text(Self.time(now))),
            ("event", .text(event.rawValue)), (name, .optional(key?.string)), ("revision", .number(revision.rawValue)),
            ("transaction", .optional(transaction?.uuidString)),
            ("position", .text(JournalPosition(epoch: engine.latestPosition.epoch, revision: revision).description)),
          ] + (error.map { [("message", .text($0.message))] } ?? [])
        ).line)
    } else {
      let style = output.style
      let id = transaction.map { String($0.uuidString.prefix(8)).lowercased() } ?? "-"
      let columns = [
        style.dim(localTime(now)), colored(event, style), style.dim(id.padded(to: 8)), subject(event, key, revision),
      ]
      try output.writeLine(columns.joined(separator: "  "))
    }
    try output.flush()
    printed += 1
    return printed == limit
  }

  private static func time(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  private func colored(_ event: Event, _ style: Style) -> String {
    let name = event.rawValue.padded(to: Self.eventWidth)
    return switch event {
    case .put, .present: style.green(name)
    case .deleted, .cleared: style.red(name)
    case .damaged, .unreadable, .reload: style.yellow(name)
    }
  }

  private func subject(_ event: Event, _ key: KeyName?, _ revision: StoreRevision) -> String {
    switch event {
    case .reload: "what changed up to revision \(revision) is not known; the present keys follow"
    case .cleared: key.map { "all keys starting with '\($0.string.oneLine())'" } ?? "all keys"
    case .put, .present, .deleted, .damaged, .unreadable: key?.string.oneLine() ?? ""
    }
  }
}

/// Returns the time of day in the local time zone with milliseconds, such as `09:05:07.042`.
private func localTime(_ date: Date) -> String {
  let milliseconds = Int((date.timeIntervalSince1970 * 1_000).rounded(.down))
  var seconds = time_t(milliseconds / 1_000)
  var parts = tm()
  localtime_r(&seconds, &parts)
  func digits(_ number: some BinaryInteger, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
  return [digits(parts.tm_hour, 2), digits(parts.tm_min, 2), digits(parts.tm_sec, 2)].joined(separator: ":") + "."
    + digits(milliseconds % 1_000, 3)
}
