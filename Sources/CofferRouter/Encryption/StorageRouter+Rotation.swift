public import CofferCore
public import CofferEncryption

extension StorageRouter {
  /// Encrypts all values of the router's encrypted stores under new keys, one store after the other, and then removes
  /// the old keys.
  ///
  /// ```swift
  /// let rotation = router.rotateKeys()
  /// bar.observedProgress = rotation.progress
  /// let report = try await rotation.result()
  /// if !report.isComplete { log(report.failures) }
  /// ```
  ///
  /// The stores are those of all keys that are registered or were used; those that do not exist are not created. They
  /// can be read and written meanwhile, by any process. One that cannot be rotated does not keep the others from it.
  /// - Returns: the running rotations, counted in values, whose result throws nothing. Cancelling them ends the run
  ///   after the present commit.
  public nonisolated func rotateKeys() -> ObservedTask<KeyRotation.State, RotationReport> {
    ObservedTask(KeyRotation.State()) { (completed: $0.values, total: $0.totalValues) }.start { [self] task in
      var (report, before) = (RotationReport(), KeyRotation.State())
      for (name, domain, _) in groupedByStore(registry.all.filter(mayBeEncrypted)) {
        do {
          guard let engine = try await existingEncryption(of: domain.get()) else { continue }
          try Task.checkCancellation()
          let rotation = try await engine.rotate()
          let outcome = try await withTaskCancellationHandler {
            var last = KeyRotation.State()
            for await state in rotation.updates {
              last = state
              task.update { [before] in $0 = before + state }
            }
            before = before + last
            return try await rotation.result()
          } onCancel: {
            rotation.cancel()
          }
          report.stores.append(.init(store: name, outcome: .success(outcome)))
        } catch {
          report.stores.append(.init(store: name, outcome: .failure(StoredError.storage(error))))
        }
      }
      let isComplete = report.isComplete
      task.update { $0.isFinished = isComplete }
      return report
    }
  }

  /// Encrypts all encrypted values of a domain's store under a new key, and then removes the old keys.
  ///
  /// ```swift
  /// let rotation = try await router.rotateKeys(in: .database())
  /// for await state in rotation.updates { show(state.values, of: state.totalValues) }
  /// let report = try await rotation.result()
  /// ```
  /// - Returns: the running rotation.
  /// - Throws: `StorageError`: `unsupported` if the store does not exist or holds nothing encrypted; `readOnly`; the
  ///   errors of opening the store and its key ring.
  public nonisolated func rotateKeys(in domain: StorageDomain) async throws -> KeyRotation.Run {
    try await encryption(of: domain).rotate()
  }

  /// Whether the store of a key may have a key ring, which a store of secrets has only if it is an encrypted one.
  private nonisolated func mayBeEncrypted(_ record: KeyRegistry.Record) -> Bool {
    if record.descriptor.isEncrypted { return true }
    guard case .located(let location) = record.location else { return false }
    guard case .store(let store) = location else { return configuration.engine(at: location) != nil }
    return !store.keepsSecrets
  }

  /// Returns the encryption of a domain's store, or `nil` if there is none. Creates neither a store nor a key ring.
  nonisolated func existingEncryption(of domain: StorageDomain) async throws -> EncryptedEngine? {
    guard let engine = try await existingStore(of: domain)?.engine else { return nil }
    if let selective = engine.as(SelectiveEncryption.self) { return try await selective.openIfPresent() }
    return engine.as(EncryptedEngine.self)
  }

  /// Returns the encryption of a domain's store.
  /// - Throws: `unsupported` with the name of the operation if there is none.
  nonisolated func encryption(
    of domain: StorageDomain, for operation: String = "the rotation of keys"
  ) async throws -> EncryptedEngine {
    if let engine = try await existingEncryption(of: domain) { return engine }
    throw StorageError.holdsNothingEncrypted(domain, operation)
  }
}

extension StorageError {
  /// Returns the error for an operation that needs an encrypted store.
  static func holdsNothingEncrypted(_ domain: StorageDomain, _ operation: String) -> StorageError {
    .unsupported(
      "\(operation), since it does not exist or holds nothing encrypted",
      advice: "Declare encrypted keys, or an encrypted store. Nothing was changed.", location: domain.description)
  }
}
