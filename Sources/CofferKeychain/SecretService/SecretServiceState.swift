/// Whether the desktop's keyring can be used now, and why not.
package enum SecretServiceState: Hashable, Sendable {
  /// A library through which keyrings are spoken to is not installed: there may be a keyring, but not for this process.
  case noLibrary(reason: String)
  /// There is no session bus to ask: nobody listens.
  case noBus(reason: String)
  /// Nobody on the bus keeps secrets, and the bus can start nobody who does.
  case noService(reason: String)
  /// The bus, or the keyring on it, gives no answer that tells: a keyring may be there.
  case noAnswer(reason: String)
  /// The keyring has no default collection yet, or has not loaded it.
  case noDefaultCollection
  /// The default collection is locked: nothing can be told about what it holds.
  case locked
  /// The keyring encrypts nothing on the bus, and that was not allowed.
  case plainSession
  /// Everything can be read and written.
  case open

  /// Whether asking again would wait as long in vain.
  package var isSilent: Bool { if case .noAnswer = self { true } else { false } }
}

/// What a watch has noticed.
package enum SecretServiceEvent: Hashable, Sendable {
  /// This item was made, changed or deleted; collections other than the default one are told of, too.
  case item(KeyringItemPath)
  /// Ask for the state again and look at everything: signals may have been missed.
  case availability
}
