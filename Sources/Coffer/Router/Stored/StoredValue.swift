public import Observation

/// A stored value that a user interface can be bound to.
///
/// ```swift
/// let theme = StoredValue(.theme, in: router, initially: .system)
/// theme.value = .dark       // seen at once, written in the background
/// ```
///
/// The first value comes from the router's memory if it is there; until then the value is what it was given, and
/// ``state`` says `loading`. An edit before the value was loaded wins over it: wait for ``load()`` before you change a
/// part of a value, or use `StorageRouter.update`. Every edit is handed to the store at
/// once, so that a killed process loses none; syncing to the device is shared by those of a moment.
///
/// What others write is seen soon after, unless there are own edits under way.
@MainActor @Observable
public final class StoredValue<Key: StorageKey> {
  /// How far the value can be relied on.
  public enum State: Sendable {
    /// The stored value is not known yet.
    case loading
    /// It is what the home holds, or will hold once the edits under way are written.
    case loaded
    /// The last attempt to read or write failed; the value is what it was.
    case failed(StorageError)
  }

  /// The value. Setting it shows it at once and writes it in the background.
  public var value: Key.Value {
    get { present }
    set { edit(newValue) }
  }

  /// How far the value can be relied on.
  public private(set) var state: State

  private var present: Key.Value
  @ObservationIgnored private let key: Key
  @ObservationIgnored private let router: StorageRouter
  @ObservationIgnored private let initial: Key.Value
  @ObservationIgnored private var following: Task<Void, Never>?
  /// The writes under way, each after the one before it.
  @ObservationIgnored private var writing: Task<Void, Never>?
  @ObservationIgnored private var edits = 0
  /// How many edits there were, and how many of them what was heard last knew of.
  @ObservationIgnored private var edited = 0
  @ObservationIgnored private var heardOf = 0
  /// Whether something was stored meanwhile, perhaps by others.
  @ObservationIgnored private var mustLook = false
  /// Why the last edit could not be written.
  @ObservationIgnored private var writeFailure: StorageError?
  @ObservationIgnored private var flushing: Task<Void, Never>?
  @ObservationIgnored private var listeners: [Int: AsyncStream<Key.Value>.Continuation] = [:]
  @ObservationIgnored private var nextListener = 0

  /// - Parameters:
  ///   - key: which value it is.
  ///   - router: where it is stored.
  ///   - initial: what it is while it is not known, and while there is none, whatever the key's default.
  public init(_ key: Key, in router: StorageRouter = .shared, initially initial: Key.Value) {
    self.key = key
    self.router = router
    self.initial = initial
    let cached = router.cached(key)
    present = cached ?? initial
    state = cached == nil ? .loading : .loaded
    following = Task { [weak self, key, router] in
      await Self.follow(key, router) {
        self != nil
      } heard: { [weak self] result in
        self?.hear(result)
      }
    }
  }

  deinit {
    following?.cancel()
    for listener in listeners.values { listener.finish() }
  }

  /// The values from now on, own edits included; every caller gets a stream of its own. Who is slow skips states, never
  /// the last one.
  public var changes: AsyncStream<Key.Value> {
    let (stream, listener) = AsyncStream.makeStream(of: Key.Value.self, bufferingPolicy: .bufferingNewest(1))
    let number = nextListener
    nextListener += 1
    listeners[number] = listener
    listener.onTermination = { [weak self] _ in
      Task { @MainActor in self?.listeners[number] = nil }
    }
    return stream
  }

  /// Returns when all edits so far are written and have survived power loss.
  /// - Throws: Why the last of them could not be.
  public func flush() async throws {
    while let task = writing {
      await task.value
      if writing == task { writing = nil }
    }
    if let writeFailure { throw writeFailure }
    try await router.place(of: key).store.engine.flush()
  }

  /// The stored value, once it is known; edits that are made meanwhile win over it.
  /// - Throws: Why nobody can tell.
  @discardableResult
  public func load() async throws -> Key.Value {
    if case .loaded = state { return present }
    let number = edited
    let stored = try await router.stored(key)
    if number == edited { show(stored ?? initial, .loaded) }
    return present
  }

  // MARK: Own edits

  private func edit(_ value: Key.Value) {
    show(value, .loaded)
    edits += 1
    edited += 1
    let before = writing
    writing = Task { [key, router] in
      await before?.value
      do {
        try await router.set(value, for: key, durability: .relaxed)
        writeFailure = nil
        flushSoon()
      } catch {
        writeFailure = StoredError.storage(error)
        state = .failed(StoredError.storage(error))
      }
      edits -= 1
      if edits == 0, mustLook { await look() }
    }
  }

  /// What is stored after all edits: others may have been later.
  private func look() async {
    mustLook = false
    while edits == 0 {
      let number = edited
      let result: Result<Key.Value?, any Error>
      do { result = .success(try await router.stored(key)) } catch { result = .failure(error) }
      guard number == edited else { continue }  // It was read before the last edit.
      heardOf = number
      return hear(result)
    }
    mustLook = true
  }

  /// One sync to the device for the edits of a moment.
  private func flushSoon() {
    guard flushing == nil else { return }
    flushing = Task { [key, router] in
      try? await Task.sleep(for: .milliseconds(100))
      flushing = nil
      do {
        try await router.place(of: key).store.engine.flush()
      } catch {
        state = .failed(StoredError.storage(error))
      }
    }
  }

  // MARK: What is stored

  private func hear(_ result: Result<Key.Value?, any Error>) {
    switch result {
    case .success(let stored):
      guard edits == 0 else {
        mustLook = true
        return
      }
      guard heardOf == edited else {
        Task { await look() }  // It may have been read before the last edit.
        return
      }
      show(stored ?? initial, .loaded)
    case .failure(let error): state = .failed(StoredError.storage(error))
    }
  }

  private func show(_ value: Key.Value, _ state: State) {
    present = value
    self.state = state
    for listener in listeners.values { listener.yield(value) }
  }

  /// Tells of every value, and tries again after a failure, as long as somebody is there.
  private static func follow(
    _ key: Key, _ router: StorageRouter, isWanted: @escaping @MainActor () -> Bool,
    heard: @escaping @MainActor (Result<Key.Value?, any Error>) -> Void
  ) async {
    while !Task.isCancelled, isWanted() {
      do {
        for try await value in try await router.storedValues(of: key) { heard(.success(value)) }
        return  // The store was closed.
      } catch is CancellationError {
        return
      } catch {
        heard(.failure(error))
      }
      try? await Task.sleep(for: .seconds(1))
    }
  }
}

enum StoredError {
  /// Any error as one of storage.
  static func storage(_ error: any Error) -> StorageError {
    error as? StorageError
      ?? StorageError(
        .inputOutput, "The value could not be read or written.",
        underlying: .init(domain: String(reflecting: type(of: error)), code: 0, text: ""))
  }
}
