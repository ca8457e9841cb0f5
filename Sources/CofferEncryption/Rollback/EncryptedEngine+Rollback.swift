public import CofferCore

extension EncryptedEngine {
  /// Opens an encrypted store as it is and anchors this state, although its anchor knows a newer one or another store:
  /// after a backup was restored, the store was moved, or the anchor was lost.
  ///
  /// Call it once, when somebody has decided so. The newer copy that the anchor knew is refused from then on.
  /// - Parameters:
  ///   - base: the engine of the store. It is closed with the encrypted one.
  ///   - key: the source of the root key.
  ///   - configuration: the options, with ``EncryptedEngine/Configuration/rollbackProtection``.
  /// - Throws: `unsupported` without an anchor; `readOnly`; `newerFormat` for an anchor of a later version;
  ///   `unavailable` for an anchor that cannot be read or written, which may still be updated soon after; the errors of
  ///   ``open(_:key:configuration:)``. The anchor is unchanged otherwise.
  public static func acceptRollback(
    of base: any StorageEngine, key: RootKeySource, configuration: EncryptedEngine.Configuration
  ) async throws -> EncryptedEngine {
    let reader = RootKeyReader(key)
    return try await open(base, configuration: configuration, acceptingRollback: true) {
      try await reader.rootKey(for: $0)
    }
  }

  static func checkAcceptance(of base: any StorageEngine, _ configuration: EncryptedEngine.Configuration) throws {
    guard configuration.rollbackProtection != nil else {
      throw StorageError.unsupported(
        "accepting an older copy without an anchor", advice: "Set EncryptedEngine.Configuration.rollbackProtection.",
        location: base.description)
    }
    guard !base.isReadOnly else {
      throw StorageError(
        .readOnly, "The store is open for reading only, and accepting an older copy writes to it.",
        advice: "Open it for writing. Nothing was changed.", location: base.description)
    }
  }

  /// Whether the store was opened with its anchor.
  package var comparesAnchor: Bool { rollback != nil }

  /// Makes every earlier commit of this process survive power loss, and its anchor cover them, if it has one.
  /// - Throws: also the errors of the anchor, `rolledBack` if an older copy was put back while the store was open, and
  ///   `notFound` if its key ring or its anchor was removed. The commits are durable then.
  public func flush() async throws {
    try await base.flush()
    try await rollback?.anchor(cipher.ring.generation)
  }
}
