package import CofferCore

/// A decorator of a store of plain values that encrypts those of some keys.
///
/// The key ring is opened, or created, when the first of these keys is used: until then the store is read and written
/// as it is, so that its plain values do not depend on the encryption key. A value that is an envelope is never
/// returned as it is stored, and a value of an encrypted key is never stored in plain, whether the ring is open or not.
package final class SelectiveEncryption: EngineDecorator {
  private typealias Opening = Task<EncryptedEngine, any Error>

  private struct State {
    var opened: EncryptedEngine?
    var opening: Opening?
    /// Whether something was committed before the ring was open, which the anchor may not cover.
    var isAhead = false
  }

  /// The engine of the store without encryption.
  package let plain: any StorageEngine
  private let configuration: EncryptedEngine.Configuration
  /// Whether the value of a key is encrypted.
  package let isEncrypted: @Sendable (KeyName) -> Bool
  private let source: @Sendable () throws -> RootKeySource
  private let state = Locked(State())

  /// - Parameters:
  ///   - engine: the engine of the store. It is closed with this one.
  ///   - configuration: the options of the encryption.
  ///   - isEncrypted: whether the value of a key is encrypted. The answer for a key may change until it is used.
  ///   - source: returns the source of the root key; called when the ring is opened.
  package init(
    _ engine: any StorageEngine, configuration: EncryptedEngine.Configuration,
    only isEncrypted: @escaping @Sendable (KeyName) -> Bool, key source: @escaping @Sendable () throws -> RootKeySource
  ) {
    plain = engine
    self.isEncrypted = isEncrypted
    self.source = source
    var configuration = configuration
    configuration.isEncrypted = isEncrypted
    self.configuration = configuration
  }

  /// The engine that encrypts, once the key ring is open; the engine of the store before.
  package var base: any StorageEngine { opened ?? plain }

  /// Those of the store, whose plain values may have its full size.
  package var capabilities: StoreCapabilities { plain.capabilities }

  // The encryption changes none of these, so asking takes no lock.
  package var isReadOnly: Bool { plain.isReadOnly }
  package var description: String { plain.description }
  package var clock: StoreClock { plain.clock }
  package var events: CofferEvents? { plain.events }
  package var latestRevision: StoreRevision { plain.latestRevision }
  package var latestPosition: JournalPosition { plain.latestPosition }

  var opened: EncryptedEngine? { state.withLock { $0.opened } }

  // MARK: The key ring

  /// Returns the engine of the store as its key ring demands: this one if only values of declared keys are encrypted,
  /// and the one that encrypts, with the ring open, if all values are, none of which may be read or written in plain.
  /// - Returns: `nil` if the store has no key ring.
  /// - Throws: as ``open()``, and `newerFormat`; `rolledBack` for a store without a ring whose anchor knows one.
  package func engineOfRing() async throws -> (any StorageEngine)? {
    let header: KeyRingHeader?
    do { header = try await KeyRingStore.inspect(plain) } catch let error as StorageError
      where error.code != .newerFormat
    {
      return self  // Plain values beside a damaged key ring can be used.
    }
    if let header { return header.coverage == .all ? try await encryption() : self }
    try await requireRing()
    return nil
  }

  /// Opens the key ring of the store, which receives one if it holds no encrypted values. A store that is open for
  /// reading only and has no ring stays as it is: the values of encrypted keys are absent there.
  /// - Throws: `keyUnavailable` if the store holds encrypted values and no ring; the errors of `EncryptedEngine.open`.
  ///   Other values can be used then, and the next call tries again.
  package func open() async throws {
    guard opened == nil else { return }
    if isReadOnly { _ = try await openIfPresent() } else { _ = try await encryption() }
  }

  /// Returns the engine that encrypts, or `nil` if the store has no key ring.
  /// - Throws: as ``open()``.
  package func openIfPresent() async throws -> EncryptedEngine? {
    if let opened { return opened }
    guard try await StoredKeyRing.load(from: plain) == nil else { return try await encryption() }
    try await requireRing()
    return nil
  }

  /// Refuses a store without a key ring whose anchor knows an encrypted one: its encrypted values would look absent.
  private func requireRing() async throws {
    try await configuration.rollbackProtection?.requireRing(in: plain, at: description)
  }

  /// Opens the key ring, and anchors the store as it is.
  /// - Throws: `busy` if the ring is open; the errors of `EncryptedEngine.acceptRollback`.
  package func acceptRollback() async throws {
    // An opening that has begun decides first.
    if state.withLock({ $0.opening != nil }) { _ = try? await encryption() }
    guard opened == nil else { throw StorageError.isOpenForAcceptance(description) }
    _ = try await encryption(acceptingRollback: true)
  }

  /// Returns the engine that encrypts, opening the ring if necessary.
  func encryption(acceptingRollback accepts: Bool = false) async throws -> EncryptedEngine {
    let task: Opening? = state.withLock { state in
      guard state.opened == nil else { return nil }
      let task =
        state.opening
        ?? Task { [self] in
          // A new ring would make the envelopes of a lost one look like values that were planted.
          if try await StoredKeyRing.load(from: plain) == nil { try await plain.refuseLostRing() }
          guard accepts else {
            return try await EncryptedEngine.open(plain, key: source(), configuration: configuration)
          }
          return try await EncryptedEngine.acceptRollback(of: plain, key: source(), configuration: configuration)
        }
      state.opening = task
      return task
    }
    let result = await task?.result
    return try state.withLock { state in
      if let opened = state.opened { return opened }
      if state.opening == task { state.opening = nil }
      guard let engine = try result?.get() else { throw StorageError.closed(description) }
      state.opened = engine
      if state.isAhead { engine.noteCommit() }
      return engine
    }
  }

  /// Returns whether the key ring is needed to read stored entries.
  /// - Throws: `keyUnavailable` if one is encrypted and the ring was lost; `notEncrypted` if one is stored in plain and
  ///   must be encrypted.
  func needsRing(_ entries: [StoreEntry?]) async throws -> Bool {
    for case let entry? in entries {
      let isSealed = entry.attributes.isSealed
      guard isSealed || isEncrypted(entry.key) else { continue }
      let hasRing = if opened != nil { true } else { try await StoredKeyRing.load(from: plain) != nil }
      guard hasRing || !isSealed else { throw StorageError.ringIsLost(location: description, key: entry.key) }
      guard isSealed else { throw StorageError.isPlain(entry.key, location: description) }
      return true
    }
    return false
  }

  /// Returns the summary of a stored value as a caller sees it before the ring is open. The size of an encrypted one is
  /// not known, since it may be padded.
  func summary(_ summary: StoreEntry.Summary) -> StoreEntry.Summary {
    guard summary.attributes.isMarked else { return summary }
    let attributes = summary.attributes.visible
    return StoreEntry.Summary(
      key: summary.key, size: nil, revision: summary.revision, date: summary.date,
      attributes: capabilities.contains(.propertyLists) ? attributes.showingType : attributes)
  }

  private func encrypts(_ batch: WriteBatch) -> Bool {
    batch.operations.contains { if case .put(let key, _, _) = $0 { isEncrypted(key) } else { false } }
  }

  // MARK: Use

  @discardableResult
  package func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    if let opened { return try await opened.commit(batch, from: origin) }
    guard !isReadOnly, encrypts(batch) else {
      let commit = try await plain.commit(batch, from: origin)
      noteCommit()
      return commit
    }
    return try await encryption().commit(batch, from: origin)
  }

  /// Notes that something was committed beside the engine that encrypts, which the anchor has to cover as well.
  private func noteCommit() {
    guard configuration.rollbackProtection != nil else { return }
    let opened = state.withLock { state in
      state.isAhead = true
      return state.opened
    }
    opened?.noteCommit()
  }

  package func entry(_ key: KeyName) async throws -> StoreEntry? {
    if let opened { return try await opened.entry(key) }
    let entry = try await plain.entry(key)
    return try await needsRing([entry]) ? encryption().entry(key) : entry
  }

  package func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    if let opened { return try await opened.entries(keys) }
    let entries = try await plain.entries(keys)
    return try await needsRing(entries) ? encryption().entries(keys) : entries
  }

  package func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    if let opened { return try await opened.summary(of: key) }
    return try await plain.summary(of: key).map(summary)
  }

  package func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    if let opened { return try await opened.withSnapshot(body) }
    return try await plain.withSnapshot { try await body(SelectiveSnapshot(base: $0, engine: self)) }
  }
}

/// A snapshot that was taken before the key ring was open, which the first encrypted value opens.
private struct SelectiveSnapshot: StorageSnapshot {
  let base: any StorageSnapshot
  let engine: SelectiveEncryption

  var revision: StoreRevision { base.revision }

  private func encrypted() async throws -> EncryptedSnapshot {
    let encryption = try await engine.encryption()
    let cipher = try await encryption.ciphers.state(at: revision) ?? encryption.cipher
    return EncryptedSnapshot(base, of: encryption, under: cipher, at: engine.clock.now())
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    let entries = try await base.entries(keys)
    return try await engine.needsRing(entries) ? encrypted().entries(keys) : entries
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    let page = try await base.page(prefix: prefix, after: after, limit: limit)
    guard try await engine.needsRing(page) else { return page }
    return try await encrypted().page(prefix: prefix, after: after, limit: limit)
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await base.summary(of: key).map(engine.summary)
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await base.summaries(prefix: prefix, after: after, limit: limit).map(engine.summary)
  }
}

/// Settings with plain values beside encrypted ones.
extension SelectiveEncryption: SynchronousEngine {
  private func synchronousPlain() throws -> any SynchronousEngine {
    guard opened?.encryptsAll != true, let plain = plain as? any SynchronousEngine else { throw refusal(nil) }
    return plain
  }

  private func refusal(_ key: KeyName?) -> StorageError {
    StorageError(
      .unsupported, "An encrypted value cannot be read or written without suspending.",
      advice: "Use reads and writes that suspend.", location: description, key: key)
  }

  package func requireSynchronousUse() throws { try synchronousPlain().requireSynchronousUse() }

  package func entryNow(_ key: KeyName) throws -> StoreEntry? {
    let entry = try synchronousPlain().entryNow(key)
    guard !isEncrypted(key), entry?.attributes.isSealed != true else { throw refusal(key) }
    return entry
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    do {
      guard !encrypts(batch) else { throw refusal(nil) }
      try synchronousPlain().submit(batch, from: origin) { [self] result in
        if case .success = result { noteCommit() }
        completion(result)
      }
    } catch {
      completion(.failure(error))
    }
  }
}
