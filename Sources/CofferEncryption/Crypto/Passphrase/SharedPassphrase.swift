import CofferCore

/// A source that is read once, for uses one after the other: a descriptor, a pipe and a prompt provide what they have
/// only once.
final class SharedPassphrase: Sendable {
  let source: PassphraseSource
  private let known = Locked<(passphrase: SecretBytes?, keyMaterial: SecretBytes?)>((nil, nil))

  init(_ source: PassphraseSource) { self.source = source }

  // Reading blocks, so it is not done under the lock.

  func passphrase(confirming: Bool, in surroundings: PassphraseSurroundings) throws -> SecretBytes {
    if let passphrase = known.withLock({ $0.passphrase }) { return passphrase }
    let passphrase = try source.read(confirming: confirming, in: surroundings)
    known.withLock { $0.passphrase = passphrase }
    return passphrase
  }

  func keyMaterial(in surroundings: PassphraseSurroundings) throws -> SecretBytes {
    if let material = known.withLock({ $0.keyMaterial }) { return material }
    let material = try source.readKeyMaterial(in: surroundings)
    known.withLock { $0.keyMaterial = material }
    return material
  }
}

extension PassphraseSource {
  /// Returns a source that reads this one when it is first used, and keeps what it provides for further uses. A failure
  /// is not kept.
  package func readOnce() -> PassphraseSource { PassphraseSource(kind: .shared(SharedPassphrase(self))) }
}
