public import Observation

/// An observable object that mirrors a stored value, for user interfaces.
///
/// ```swift
/// let theme = StoredValue(.theme, in: router, initially: .system)
/// theme.value = .dark       // visible at once, written in the background
/// ```
///
/// The first value comes from the router's cache if it is there. Otherwise the value is the initial one and ``state``
/// is `loading`, until the stored value has been read. An edit before that overrides the stored value: await ``load()``
/// before changing a part of a value, or use `StorageRouter.update`.
///
/// Edits are committed one after the other with `.relaxed` durability; edits made within 0.1 s share one sync to the
/// device. Once the value is loaded, an edit of a value in a database is committed before the assignment returns, and
/// survives a process that exits or is killed right after it. While another commit holds the database, the assignment
/// waits for up to 0.1 s and the edit is then committed in the background. In all other stores, and before the value is
/// loaded, edits are committed in the background: await ``flush()`` before the process exits. Changes by other writers
/// appear once no own edits are pending.
@MainActor @Observable
public final class StoredValue<Key: StorageKey> {
  /// The relation of the value to the store.
  public enum State: Sendable {
    /// The stored value has not been read yet.
    case loading
    /// The value is what the store holds, or will hold once the pending edits are written.
    case loaded
    /// The last read or write failed; the value is unchanged.
    case failed(StorageError)
  }

  /// The current value. Setting it updates the property immediately and saves the value in the background.
  public var value: Key.Value {
    get { present }
    set { edit(newValue) }
  }

  /// The relation of the value to the store: loading, loaded or failed.
  public private(set) var state: State

  private var present: Key.Value
  @ObservationIgnored private let key: Key
  @ObservationIgnored private let router: StorageRouter
  @ObservationIgnored private let initial: Key.Value
  @ObservationIgnored private var following: Task<Void, Never>?
  /// The last pending write, which awaits the one before it.
  @ObservationIgnored private var writing: Task<Void, Never>?
  @ObservationIgnored private var edits = 0
  /// The number of values shown so far.
  @ObservationIgnored private var shown = 0
  /// The number of edits so far.
  @ObservationIgnored private var edited = 0
  /// The number of edits that wait for their turn in a task, instead of being submitted to the engine at once.
  @ObservationIgnored private var waiting = 0
  /// Whether a value that is delivered may be older than the last edit, or than the value that is being read again.
  @ObservationIgnored private var isAhead = false
  /// Whether such a value was delivered, so that the store must be read again.
  @ObservationIgnored private var mustReload = false
  @ObservationIgnored private var isReloading = false
  /// The error of the last edit, if it could not be written.
  @ObservationIgnored private var writeFailure: StorageError?
  @ObservationIgnored private var flushing: Task<Void, Never>?
  /// The pause before a failed read of ``reload()`` is repeated.
  @ObservationIgnored private var pause: Task<Void, Never>?
  @ObservationIgnored private var listeners: [Int: AsyncStream<Key.Value>.Continuation] = [:]
  @ObservationIgnored private var nextListener = 0

  /// Creates a stored value and begins to load it.
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - router: the router that stores the value.
  ///   - initial: the value while the stored one is unknown or absent, regardless of the key's default.
  public init(_ key: Key, in router: StorageRouter = .current, initially initial: Key.Value) {
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
        self?.delivered(result)
      }
    }
  }

  deinit {
    following?.cancel()
    for listener in listeners.values { listener.finish() }
  }

  /// The values from now on, including own edits. Each access returns a new stream. A slow consumer may skip
  /// intermediate values but always receives the latest one.
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

  /// Waits until all edits so far are written and survive power loss.
  /// - Throws: The error of the last edit, or of the sync.
  public func flush() async throws {
    while let task = writing {
      await task.value
      if writing == task { writing = nil }
    }
    if let writeFailure { throw writeFailure }
    let resolved = try await router.resolve(key)
    try await resolved.flushedEngine(for: resolved.key).flush()
  }

  /// Returns the stored value, and reads it from the store if necessary. Edits that are made meanwhile override it.
  /// - Throws: `StorageError` when the value cannot be read.
  @discardableResult
  public func load() async throws -> Key.Value {
    if case .loaded = state { return present }
    let before = shown
    let stored = try await router.stored(key)
    // What was shown meanwhile, an edit or a later value, is newer than what was read.
    if edits == 0, before == shown { show(stored ?? initial, .loaded) }
    return present
  }

  // MARK: Own edits

  private func edit(_ value: Key.Value) {
    show(value, .loaded)
    edits += 1
    edited += 1
    isAhead = true
    let before = writing
    let submitted = waiting == 0 ? router.submit(value, for: key) : nil
    if submitted == nil { waiting += 1 }
    writing = Task { [key, router] in
      await before?.value
      do {
        if let submitted {
          try await submitted.value()
        } else {
          defer { waiting -= 1 }
          try await router.set(value, for: key, durability: .relaxed)
        }
        writeFailure = nil
        flushSoon()
      } catch {
        writeFailure = StoredError.storage(error)
        state = .failed(StoredError.storage(error))
      }
      edits -= 1
      if mustReload { Task { await reload() } }  // Not awaited: others may write again as often as it reads.
    }
  }

  /// Reads the value again once all edits are written, since other writers may have been later.
  private func reload() async {
    guard !isReloading else { return }
    isReloading = true
    defer { isReloading = false }
    while mustReload, edits == 0 {
      (mustReload, isAhead) = (false, true)
      let number = edited
      let result: Result<Key.Value?, StorageError>
      do { result = .success(try await router.stored(key)) } catch { result = .failure(StoredError.storage(error)) }
      guard number == edited else {  // It was read before the last edit.
        mustReload = true
        continue
      }
      if case .failure(let error) = result, error.isWorthRepeating { return lookLater(error) }
      isAhead = false
      receive(result)
    }
  }

  /// Shows that the value could not be read, and reads it again a second later: it was delivered before, and is not
  /// delivered again.
  private func lookLater(_ error: StorageError) {
    state = .failed(error)
    mustReload = true
    guard pause == nil else { return }
    pause = Task { [weak self] in
      try? await Task.sleep(for: .seconds(1))
      self?.pause = nil
      await self?.reload()
    }
  }

  /// Schedules one sync to the device for all edits made within 0.1 s.
  private func flushSoon() {
    guard flushing == nil else { return }
    flushing = Task { [key, router] in
      try? await Task.sleep(for: .milliseconds(100))
      flushing = nil
      do {
        let resolved = try await router.resolve(key)
        try await resolved.flushedEngine(for: resolved.key).flush()
      } catch {
        state = .failed(StoredError.storage(error))
      }
    }
  }

  // MARK: What is stored

  private func delivered(_ result: Result<Key.Value?, StorageError>) {
    // What is being read may be older than a failure.
    if isReloading, case .failure = result { mustReload = true }
    receive(result)
  }

  private func receive(_ result: Result<Key.Value?, StorageError>) {
    switch result {
    case .success(let stored) where !isAhead: show(stored ?? initial, .loaded)
    case .success:
      mustReload = true
      if edits == 0 { Task { await reload() } }
    case .failure(let error): state = .failed(error)
    }
  }

  private func show(_ value: Key.Value, _ state: State) {
    present = value
    shown += 1
    self.state = state
    for listener in listeners.values { listener.yield(value) }
  }

  /// Delivers every stored value and every failure, until the task is cancelled, the value is released or the store is
  /// closed. A declaration that is refused is tried again each second, since its catalog may be registered later.
  private static func follow(
    _ key: Key, _ router: StorageRouter, isWanted: @escaping @MainActor () -> Bool,
    heard: @escaping @MainActor (Result<Key.Value?, StorageError>) -> Void
  ) async {
    while !Task.isCancelled, isWanted() {
      do {
        for await value in try await router.storedValues(of: key) { heard(value) }
        return
      } catch is CancellationError {
        return
      } catch {
        heard(.failure(StoredError.storage(error)))
      }
      try? await Task.sleep(for: .seconds(1))
    }
  }
}
