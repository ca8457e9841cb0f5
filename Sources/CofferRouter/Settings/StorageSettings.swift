import Coffer
import CofferCore
import CofferEncryption
import Dispatch

/// Settings that are read and written without `await`, from any thread.
///
/// ```swift
/// let settings = try await router.settings(.theme, .fontSize)
/// if settings[.theme] == .system { settings[.theme] = .dark }
/// settings.remove(.fontSize)
/// ```
///
/// **Reads** come from memory. If any process has committed a change of the key since, the value is read from the store
/// first, on the caller's thread: a read returns what was committed before it. That takes microseconds in a database,
/// milliseconds in a large preferences file, and up to 0.2 s while another program is writing that file. ``get(_:)``
/// throws if the value cannot be read. The subscript cannot: it returns the last known value, or the default if there
/// is none, and passes the error to the failure handler.
///
/// **Writes** are visible to the settings at once, and are handed to the store before the call returns, with `.relaxed`
/// durability:
///
/// - A database commits on the caller's thread, so the value survives a killed process once the call returns. While
///   another commit holds the database, the call waits for its own for up to 0.1 s, and then continues in the
///   background.
/// - Files and preferences commit in the background, in the order of the writes: a process that is killed may lose the
///   last ones. ``flush()`` waits for them; call it before the process exits.
///
/// A write of a key with versions is committed only if nobody has written the key since it was looked at. Otherwise it
/// is made again, which may be after a later write of another key; while an edit by another program is being recorded,
/// it fails with `busy`.
///
/// A failed write is passed to the failure handler and thrown by ``flush()``; the next read returns what is stored. A
/// write that was to be made again and that a later one has replaced does not count as failed.
public final class StorageSettings: Sendable {
  private let router: StorageRouter
  private let onFailure: (@Sendable (StorageError) -> Void)?
  private let cells: [Name: SettingCell]
  /// The same cells by the declaration objects of their keys, which the cells retain.
  private let declared: [ObjectIdentifier: SettingCell]
  private let engines: [any SynchronousEngine]
  /// The writes that are not committed yet.
  private let pending = DispatchGroup()
  /// The error of the last write that failed since the last flush.
  private let failure = Locked<StorageError?>(nil)

  /// The name of a setting, which is unique in its store.
  fileprivate struct Name: Hashable {
    let key: KeyName
    let domain: StorageDomain
  }

  fileprivate init(
    _ router: StorageRouter, _ cells: [Name: SettingCell], _ engines: [any SynchronousEngine],
    _ onFailure: (@Sendable (StorageError) -> Void)?
  ) {
    self.router = router
    self.cells = cells
    let declared = cells.values.compactMap { cell in cell.declaration.map { (ObjectIdentifier($0), cell) } }
    self.declared = Dictionary(declared) { first, _ in first }
    self.engines = engines
    self.onFailure = onFailure
  }

  /// The value of a setting. Never throws; see the type's description for failures.
  @inlinable  // the type is known where it is called
  public subscript<K: StorageKeyWithDefault>(_ key: K) -> K.Value {
    get { unboxed(current(key.declaration)) ?? currentOrKnown(key) }
    set { write(newValue, key) }
  }

  /// Returns the value of a setting, or its default if it is proven absent.
  /// - Throws: `StorageError`: `unregisteredKey` if the key is not one of these settings; `decodingFailed` if the
  ///   stored bytes are not a value of its type; `busy` while an edit by another program is being recorded.
  public func get<K: StorageKeyWithDefault>(_ key: K) throws -> K.Value {
    try unboxed(read(key)) ?? key.valueIfAbsent
  }

  /// Returns the value of a setting from memory; `nil` if it has to be searched for by its name or read.
  @usableFromInline
  func current(_ declaration: (any AnyObject & Sendable)?) -> (any AnyObject & Sendable)? {
    guard let declaration else { return nil }
    return declared[ObjectIdentifier(declaration)]?.current
  }

  @usableFromInline
  func currentOrKnown<K: StorageKeyWithDefault>(_ key: K) -> K.Value {
    do { return try get(key) } catch {
      report(error)
      return unboxed((try? cell(of: key))?.known) ?? key.valueIfAbsent
    }
  }

  @inlinable
  func unboxed<Value: Sendable>(_ box: (any AnyObject & Sendable)?) -> Value? { TypedStore.unbox(box) }

  /// Returns whether a value is stored, regardless of the default; `false` means proven absent.
  /// - Throws: `StorageError` as ``get(_:)`` does.
  public func isStored<K: StorageKeyWithDefault>(_ key: K) throws -> Bool { try read(key) != nil }

  /// Removes the stored value, so that reads return the default.
  public func remove<K: StorageKeyWithDefault>(_ key: K) { write(nil, key) }

  /// Waits until no write is pending and all survive power loss.
  /// - Throws: The error of the last write that failed since the previous call, or of the sync.
  public func flush() async throws {
    await withCheckedContinuation { ended in pending.notify(queue: .global()) { ended.resume() } }
    let failure = failure.withLock { failure in
      defer { failure = nil }
      return failure
    }
    if let failure { throw failure }
    for engine in engines { try await engine.flush() }
  }

  private func read<K: StorageKeyWithDefault>(_ key: K) throws -> (any AnyBox)? {
    let cell = try cell(of: key)
    do { return try cell.read(key) } catch let error as StorageError where error.code == .damaged {
      router.handleSoon(error, of: key, cell.resolved)
      throw error
    } catch let error as StorageError where error.code == .migrationNeeded {
      // Another version of the application has stored it since: the migration has to suspend.
      Task { [resolved = cell.resolved] in try? await resolved.store.migrateValue(of: resolved.key) }
      throw error
    }
  }

  private func cell<K: StorageKeyWithDefault>(of key: K) throws -> SettingCell {
    let isSame = { (cell: SettingCell) in type(of: cell.fallback) == Box<K.Value>.self }
    if let declaration = key.declaration, let cell = declared[ObjectIdentifier(declaration)], isSame(cell) {
      return cell
    }
    let name = try KeyName(key.name)
    guard let cell = cells[Name(key: name, domain: key.domain)], isSame(cell) else {
      throw StorageError(
        .unregisteredKey, "The key is not one of these settings.",
        advice: "Pass it to router.settings, together with the others.", key: name)
    }
    return cell
  }

  @usableFromInline
  func write<K: StorageKeyWithDefault>(_ value: K.Value?, _ key: K) {
    do {
      let cell = try cell(of: key)
      let operation = try cell.operation(value, key, router)
      pending.enter()
      cell.submit(operation, value.map { Box($0) }) { [self] result in
        if case .failure(let error) = result { failed(error) }
        pending.leave()
      }
    } catch { failed(error) }
  }

  private func failed(_ error: any Error) {
    failure.withLock { $0 = StoredError.storage(error) }
    report(error)
  }

  private func report(_ error: any Error) { onFailure?(StoredError.storage(error)) }
}

extension StorageRouter {
  /// Opens the stores of settings and reads their values, so that they can be used without `await`.
  /// - Parameters:
  ///   - keys: the keys of the settings.
  ///   - onFailure: receives each failed write, and each failed read of the subscript, on any thread.
  /// - Throws: `unsupported` for a key whose values are encrypted, and for one whose store can block or be unavailable,
  ///   such as a keyring or a sealed file. `StorageError` when a store cannot be opened or a value cannot be read.
  public nonisolated func settings<each K: StorageKeyWithDefault>(
    _ keys: repeat each K, onFailure: (@Sendable (StorageError) -> Void)? = nil
  ) async throws -> StorageSettings {
    var cells: [StorageSettings.Name: SettingCell] = [:]
    var engines: [any SynchronousEngine] = []
    for key in repeat each keys {
      let (name, cell, engine) = try await settingCell(of: key)
      cells[StorageSettings.Name(key: name, domain: key.domain)] = cell
      if !engines.contains(where: { $0 as AnyObject === engine as AnyObject }) { engines.append(engine) }
    }
    return StorageSettings(self, cells, engines, onFailure)
  }

  private nonisolated func settingCell<K: StorageKeyWithDefault>(
    of key: K
  ) async throws -> (KeyName, SettingCell, any SynchronousEngine) {
    let resolved = try await resolve(key)
    _ = try await stored(key)
    func refusal(of subject: String, _ advice: String) -> StorageError {
      .unsupported(subject, advice: advice, location: resolved.store.engine.description)
    }
    guard resolved.store.pending == nil else {
      throw refusal(of: "settings in a store with write-back", "Use get and set of the router, or write through.")
    }
    let descriptor = resolved.record.descriptor
    guard !descriptor.isEncrypted, !descriptor.domain.isEncrypted,
      resolved.store.engine.as(EncryptedEngine.self)?.encryptsAll != true
    else {
      throw refusal(
        of: "settings whose values are encrypted",
        "Use get and set of the router, or declare the key in a store without encryption.")
    }
    guard let engine = try await resolved.store.engine.synchronous() else {
      throw refusal(of: "reads that do not suspend", "Use get and set of the router.")
    }
    let cell = SettingCell(resolved, engine, declaration: key.declaration, fallback: Box(key.valueIfAbsent))
    _ = try cell.read(key)
    return (resolved.key, cell, engine)
  }
}

extension SettingCell {
  fileprivate func read<K: StorageKeyWithDefault>(_ key: K) throws -> (any AnyBox)? {
    let coder = resolved.coder(of: key)
    return try read { Box(try coder.value(from: $0, of: resolved)) }
  }

  /// Returns the operation that stores a value, or removes it if it is `nil`.
  /// - Throws: `encodingFailed`, or `dataTooLargeForSync`.
  fileprivate func operation<K: StorageKeyWithDefault>(
    _ value: K.Value?, _ key: K, _ router: StorageRouter
  ) throws -> WriteBatch.Operation {
    guard let value else { return .delete(resolved.key) }
    let encoded = try DeclaredValue(router, key, resolved).encode(value)
    return .put(resolved.key, encoded.data, encoded.attributes)
  }
}

extension StorageEngine {
  /// Returns the engine for synchronous use, or `nil` if it has none. A decorator may transform values, so the engine
  /// behind it is used only for a store that was opened late.
  func synchronous() async throws -> (any SynchronousEngine)? {
    let engine: any StorageEngine = if let late = self as? RetryingEngine { try await late.openBase() } else { self }
    guard let engine = engine as? any SynchronousEngine else { return nil }
    try engine.requireSynchronousUse()
    return engine
  }
}
