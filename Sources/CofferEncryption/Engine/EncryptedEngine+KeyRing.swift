extension EncryptedEngine {
  /// The newest known state of the key ring, for tools that describe it.
  package var keyRing: KeyRing { cipher.ring }
}
