import Coffer
import CofferCore
import CofferEncryption

/// The engine of a store that does not exist, in a router that may not create it, or of an encrypted one that is empty
/// and has no key ring yet. The store reads as an empty one, and as what it holds as soon as another process has
/// created it.
final class MissingStoreEngine: EngineDecorator {
  let base: any StorageEngine
  private let location: StoreLocation
  private let options: StoreOptions

  init(_ location: StoreLocation, _ options: StoreOptions, _ error: StorageError) {
    self.location = location
    self.options = options
    // Without `immediateRevisions`, so that no cache takes the absence for lasting.
    let capabilities = StoreCapabilities([.snapshots, .listing, .systemRecords], maximumValueSize: .max)
    base = RetryingEngine(error, description: location.description, capabilities: capabilities) {
      try await location.open(options)
    }
  }

  var isReadOnly: Bool { true }

  /// That of the store once it is open, on which its default label depends; until then its location.
  var description: String { (base as? RetryingEngine)?.base.description ?? base.description }

  /// The anchor of the store, if its values can be encrypted.
  private var anchor: RollbackProtection? {
    switch location {
    case .encrypted(let base): options.encryption.rollbackProtection?(base.description)
    default: options.encryption.rollbackProtection?(location.description)
    }
  }

  /// Reads from the store, or returns `empty` while it is proven that there is none, and that no anchor knows one.
  private func read<R>(_ body: () async throws -> R, orIfMissing empty: () async throws -> R) async throws -> R {
    do { return try await body() } catch let error as StorageError {
      guard try location.isMissing(accordingTo: error, options) else { throw error }
      try await anchor?.requireRing(in: nil, at: description)
      return try await empty()
    }
  }

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    try await read({ try await base.entry(key) }, orIfMissing: { nil })
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await read({ try await base.entries(keys) }, orIfMissing: { keys.map { _ in nil } })
  }

  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    try await read({ try await base.record(name) }, orIfMissing: { nil })
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await read({ try await base.summary(of: key) }, orIfMissing: { nil })
  }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    // Opened first, so that an error of `body` is not taken for a missing store.
    let engine = try await read({ try await openBase() }, orIfMissing: { MemoryEngine(name: description) })
    return try await engine.withSnapshot(body)
  }

  func openBase() async throws -> any StorageEngine {
    guard let base = base as? RetryingEngine else { return base }
    return try await base.openBase()
  }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    throw StorageError.readOnly(because: StorageError.readOnlyRequest, location: description)
  }

  func flush() async throws {}

  /// A missing store can be read; while it exists, its own availability is reported.
  func availability() -> AsyncStream<StoreAvailability> {
    let states = base.availability()
    return AsyncStream { [self] in
      guard let state = await states.first(where: { _ in true }) else { return nil }
      guard !state.isUsable else { return state }
      let isMissing = try? await read({ try await openBase() }, orIfMissing: { nil }) == nil
      return isMissing == true ? .available : state
    }
  }
}

extension MissingStoreEngine: SynchronousEngine {
  func entryNow(_ key: KeyName) throws -> StoreEntry? {
    if let opened = base.as(RetryingEngine.self)?.base as? any SynchronousEngine {
      try opened.requireSynchronousUse()
      return try opened.entryNow(key)
    }
    if try location.exists(options) {
      Task { try? await openBase() }
      throw StorageError(
        .busy, "The store has just been created, and is being opened.", advice: "Read it again.",
        location: description)
    }
    guard anchor == nil else {
      throw StorageError.unsupported(
        "reading a missing store at once, whose anchor may know one", advice: "Use a read that suspends.",
        location: description)
    }
    return nil
  }

  func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    completion(.failure(StorageError.readOnly(because: StorageError.readOnlyRequest, location: description)))
  }
}

extension StoreLocation {
  /// Returns whether the error of opening a store for reading only proves that there is nothing to read in it.
  func isMissing(accordingTo error: StorageError, _ options: StoreOptions) throws -> Bool {
    guard error.key == nil else { return false }
    if case .encrypted = self, error.code == .readOnly { return true }  // empty, without a key ring
    return try error.code == .notFound && !exists(options)
  }
}
