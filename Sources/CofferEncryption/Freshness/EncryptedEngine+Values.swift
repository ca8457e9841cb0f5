import CofferCore

extension EncryptedEngine {
  /// Compares the store with its anchor again, as when it was opened. In a store that covers its values
  /// (``FreshnessSettings/coversValues``) the attributes of all values are read.
  /// - Throws: `rolledBack` for an older store, ring or value and for a removed one; `damaged`, `notFound` and
  ///   `unavailable` for the anchor and its records; `unsupported` without an anchor. Nothing is changed by a
  ///   difference, and the store can be used.
  public func verifyFreshness() async throws {
    guard let freshness else {
      throw StorageError.unsupported(
        "comparing a store with an anchor that has none", advice: "Set EncryptionConfiguration.freshness.",
        location: description)
    }
    try await freshness.check(freshness.reader.bytes(), cipher.open, in: ciphers.store)
    _ = try await ciphers.reload(after: cipher)
    try await checkValues()
  }

  /// Compares the values with their record, if the store covers them.
  func checkValues() async throws {
    guard cipher.tracking != nil, let freshness else { return }
    try await freshness.checkValues(with: tracker, isComplete: cipher.ring.phase == .complete)
  }

  /// Lets the store cover its values from now on. Every commit depends on the key ring, which states it, so that no
  /// handle that was opened before writes a value unnoticed.
  func coverValues() async throws {
    guard cipher.ring.coverage == .all else { throw StorageError.cannotCoverValues(description) }
    guard !isReadOnly else { return }
    if cipher.tracking == nil {
      guard cipher.ring.phase == .complete else { return }
      let keys = try FreshnessKeys(cipher.ring)
      let first = {
        let known = try await self.freshness?.record()
        let record = try ValuesRecord(sequence: known?.content.sequence ?? 0, digest: nil).sealed(under: keys)
        return [
          WriteBatch.Operation.requireRecord(FreshnessRecord.name, known?.revision),
          .putRecord(ValuesRecord.name, record),
        ]
      }
      do {
        try await ciphers.update(with: first) { ring in
          guard !ring.tracksValues, ring.phase == .complete else { throw IsNotFirst() }
          ring.tracksValues = true
        }
      } catch is IsNotFirst {
        // Another process covers them already, or decrypts the store.
        _ = try await ciphers.reload(after: cipher)
      }
    }
    try await countValues()
    try await freshness?.anchor(cipher.ring.generation)
  }

  private func countValues() async throws {
    while true {
      let cipher = cipher
      do { return try await tracker.complete(under: cipher) } catch let error as StorageError
        where error.code == .preconditionFailed
      {
        // Another process has changed the ring, or decrypted the store.
        guard try await ciphers.reload(after: cipher) !== cipher else { throw error }
      }
    }
  }

  private struct IsNotFirst: Error {}
}

extension StorageError {
  /// Returns the error for a store whose values cannot be covered.
  static func cannotCoverValues(_ location: String) -> StorageError {
    .unsupported(
      "noticing older copies of single values in a store that has no listings or of which only declared keys are "
        + "encrypted", advice: "Set FreshnessSettings.coversValues to false, or encrypt all values.", location: location
    )
  }

  /// Returns the error for values that are not those of the anchor.
  static func valuesAreOlder(_ what: String, location: String) -> StorageError {
    StorageError(
      .rolledBack, "The store has older values than its anchor: \(what). It is not known which value it is.",
      advice: acceptance, location: location)
  }
}
