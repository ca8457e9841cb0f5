import CofferCore
import Foundation

/// Derives the root keys of one store from a source, which is read at most once.
///
/// ```swift
/// let reader = RootKeyReader(source)
/// let open = try await KeyRingStore(engine).open(settings: settings) { try await reader.rootKey(for: $0) }
/// ```
package final class RootKeyReader: Sendable {
  private let source: RootKeySource
  private let surroundings: PassphraseSurroundings
  /// What the source has provided, and the last key that was derived from it.
  private let known = Locked<(secret: SecretBytes?, root: RootKey?)>((nil, nil))

  package init(_ source: RootKeySource, in surroundings: PassphraseSurroundings = .system) {
    self.source = source
    self.surroundings = surroundings
  }

  /// Returns the root key for the derivation that a key ring states, or for a new ring (`nil`).
  ///
  /// Blocking reads and derivations run on a separate thread.
  /// - Throws: `wrongPassphrase` if the ring needs a passphrase and the source has key material, or the reverse;
  ///   `unsupported` for a cost beyond the limits, before the source is read; `invalidKeyMaterial`; `unavailable` for a
  ///   provider that fails or does not answer in time; the errors of the source.
  package func rootKey(for derivation: RootKeyDerivation?) async throws -> RootKey {
    if let root = known.withLock({ $0.root }), root.derivation == derivation { return root }
    switch (source.kind, derivation?.method) {
    case (.passphrase(_, let limits, _), .passphrase(let cost)?): try cost.validate(within: limits)
    case (.passphrase(_, let limits, let cost), nil): try cost.validate(within: limits)
    case (.material, .keyMaterial?), (.material, nil), (.provider, .keyMaterial?), (.provider, nil): break
    case (.passphrase, .keyMaterial?):
      throw mismatch("with key material, not with a passphrase", "Open it with its key file, credential or provider.")
    case (.material, .passphrase?), (.provider, .passphrase?):
      throw mismatch("with a passphrase, not with key material", "Open it with its passphrase.")
    }
    let secret = try await secret(isNew: derivation == nil)
    let root = try await derive(secret, derivation)
    known.withLock { $0 = (secret, root) }
    return root
  }

  /// Returns a key for values that are kept outside of a store. It is always the same, as no ring has a salt for it.
  /// - Throws: as ``rootKey(for:)``; `unsupported` for a passphrase, which needs a salt.
  package func standaloneKey() async throws -> DataKey {
    if case .passphrase = source.kind {
      throw StorageError.unsupported(
        "single values encrypted with a passphrase", advice: "Use key material, or an encrypted store.", location: "")
    }
    let salt = Data(count: RootKeyDerivation.saltCount)
    let root = try RootKey(from: try await secret(isNew: true), RootKeyDerivation(.keyMaterial, salt: salt))
    return try root.derivedKey(for: DataKey.Purpose("single values"))
  }

  private func derive(_ secret: SecretBytes, _ derivation: RootKeyDerivation?) async throws -> RootKey {
    guard case .passphrase(_, let limits, let cost) = source.kind else {
      return try RootKey(from: secret, derivation ?? .random(.keyMaterial))
    }
    let used = try derivation ?? .random(.passphrase(cost))
    return try await runBlocking { try RootKey(from: secret, used, limits: limits) }
  }

  private func mismatch(_ what: String, _ advice: String) -> StorageError {
    StorageError(
      .wrongPassphrase, "The store is opened \(what), such as that from \(source).",
      advice: "\(advice) Nothing was changed.")
  }

  // MARK: Reading

  private func secret(isNew: Bool) async throws -> SecretBytes {
    if let secret = known.withLock({ $0.secret }) { return secret }
    switch source.kind {
    case .passphrase(let passphrase, _, _):
      return try await read { [surroundings] in try passphrase.read(confirming: isNew, in: surroundings) }
    case .material(let file):
      let material = try await read { [surroundings] in try file.readKeyMaterial(in: surroundings) }
      return try KeyMaterial.checked(material, from: source.description)
    case .provider(let provider, let name, let timeout):
      guard isNew else { return try await ask(timeout) { try await provider.keyMaterial(for: name) } }
      // A store that was created with bytes that the provider never returns again could never be opened.
      let material = try await ask(timeout) { try await provider.createKeyMaterial(for: name) }
      let repeated = try await ask(timeout) { try await provider.keyMaterial(for: name) }
      guard material == repeated else { throw isUnsteady }
      return material
    }
  }

  /// Reads on a separate thread. A cancelled task does not wait for a pipe or a terminal that provides nothing.
  private func read(_ body: @escaping @Sendable () throws -> SecretBytes) async throws -> SecretBytes {
    try await withDeadline(nil, orThrow: CancellationError()) { try await runBlocking(body) }
  }

  private func ask(
    _ timeout: Duration, _ provide: @escaping @Sendable () async throws -> Data
  ) async throws -> SecretBytes {
    let late = failure("did not answer within \(timeout)", "Try again, or allow more time.")
    do {
      let material = try await withDeadline(timeout, orThrow: late, provide)
      guard material.count <= KeyMaterial.maximumCount else {
        throw StorageError(
          .invalidKeyMaterial, "\(capitalized) returned \(material.count) bytes; up to 64 KiB are allowed.",
          advice: "Mend the provider. Nothing was changed.")
      }
      return try KeyMaterial.checked(SecretBytes(copying: material), from: source.description)
    } catch let error as StorageError {
      throw error
    } catch is CancellationError where Task.isCancelled {
      throw CancellationError()
    } catch {
      // The text of the error could contain material; its type cannot.
      throw failure(
        "threw an error", "See the provider's own messages.",
        .init(domain: String(reflecting: type(of: error)), code: (error as NSError).code, text: "no detail"))
    }
  }

  private var capitalized: String { source.description.prefix(1).uppercased() + source.description.dropFirst() }

  private func failure(
    _ what: String, _ advice: String, _ underlying: StorageError.Underlying? = nil
  ) -> StorageError {
    StorageError(
      .unavailable, "\(capitalized) \(what).", advice: "\(advice) The store was not opened and nothing was changed.",
      underlying: underlying)
  }

  private var isUnsteady: StorageError {
    StorageError(
      .invalidKeyMaterial, "\(capitalized) returned different bytes for two calls.",
      advice: "Mend the provider: a store that is created now could never be opened again. Nothing was changed.")
  }
}

extension RootKeyReader: CustomStringConvertible, CustomReflectable {
  package var description: String { source.description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
