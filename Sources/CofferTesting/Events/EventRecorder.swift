public import CofferCore

/// A recorder of the events and spans of stores, for tests.
///
/// ```swift
/// let recorder = EventRecorder()
/// let store = TypedStore(engine: MemoryEngine(events: recorder.events))
/// try await store.save("Ada", for: "name")
/// #expect(recorder.commits.map(\.operations) == [1])
/// ```
///
/// Commits of a caller are recorded when they return. Events that are told later, such as damage, are awaited with
/// ``first(within:where:)``.
public final class EventRecorder: Sendable {
  /// The hook to give to a store. Several stores may share it.
  public let events: CofferEvents
  private let recording: Recording

  /// Creates a recorder.
  /// - Parameter handler: called for each event after it was recorded; does nothing by default.
  public init(_ handler: @escaping @Sendable (StoreEvent) -> Void = { _ in }) {
    let recording = Recording()
    self.recording = recording
    events = CofferEvents(tracer: recording) { event in
      recording.add(event)
      handler(event)
    }
  }

  /// The events so far, in the order in which they were told.
  public var all: [StoreEvent] { recording.state.withLock { $0.events } }

  /// The commits among the events.
  public var commits: [StoreEvent.Commit] {
    all.compactMap { if case .committed(let commit) = $0.kind { commit } else { nil } }
  }

  /// The failures among the events.
  public var failures: [StoreEvent.Failure] {
    all.compactMap { if case .failed(let failure) = $0.kind { failure } else { nil } }
  }

  /// The spans that have begun, each with its events and whether it has ended.
  public var spans: [RecordedSpan] { recording.state.withLock { $0.spans } }

  /// A span of a recorder.
  public struct RecordedSpan: Sendable {
    /// The operation with its location.
    public let span: StoreSpan
    /// The events within the span.
    public internal(set) var events: [StoreEvent] = []
    /// Whether the span has ended.
    public internal(set) var hasEnded = false
  }

  /// Returns the first event that satisfies a condition, and waits for it if necessary.
  /// - Parameters:
  ///   - limit: the maximum time to wait, 10 s by default.
  ///   - condition: the condition.
  /// - Throws: ``Missing`` when the time is over; `CancellationError`.
  @discardableResult
  public func first(
    within limit: Duration = .seconds(10), where condition: (StoreEvent) -> Bool
  ) async throws -> StoreEvent {
    let end = ContinuousClock.now + limit
    while true {
      if let event = all.first(where: condition) { return event }
      guard ContinuousClock.now < end else { throw Missing(all: all) }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// The error of a wait for an event that did not come.
  public struct Missing: Error, CustomStringConvertible {
    /// The events that were recorded instead.
    public let all: [StoreEvent]

    public var description: String {
      "No such event was told. Recorded: \(all.map(\.description).joined(separator: "; "))."
    }
  }
}

/// The record, apart from its owner, so that the hook does not retain the recorder.
private final class Recording: StoreTracer {
  struct State {
    var events: [StoreEvent] = []
    var spans: [EventRecorder.RecordedSpan] = []
  }

  let state = Locked(State())

  func add(_ event: StoreEvent) { state.withLock { $0.events.append(event) } }

  func begin(_ span: StoreSpan) { state.withLock { $0.spans.append(EventRecorder.RecordedSpan(span: span)) } }

  func event(_ event: StoreEvent, in span: StoreSpan) { change(span) { $0.events.append(event) } }

  func end(_ span: StoreSpan) { change(span) { $0.hasEnded = true } }

  private func change(_ span: StoreSpan, _ change: @Sendable (inout EventRecorder.RecordedSpan) -> Void) {
    state.withLock { state in
      guard let index = state.spans.lastIndex(where: { $0.span == span }) else { return }
      change(&state.spans[index])
    }
  }
}
