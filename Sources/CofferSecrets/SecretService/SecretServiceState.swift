/// Whether the desktop's keyring can be used now, and why not.
package enum SecretServiceState: Hashable, Sendable {
  /// A library that keyrings are reached with is not installed. A keyring may exist, but this process cannot use it.
  case noLibrary(reason: String)
  /// There is no session bus, or no process listens at its address.
  case noBus(reason: String)
  /// No keyring is running on the bus, and the bus cannot activate one.
  case noService(reason: String)
  /// The bus, or the keyring on it, gives no conclusive reply. A keyring may exist.
  case noAnswer(reason: String)
  /// The keyring has no default collection yet, or has not loaded it.
  case noDefaultCollection
  /// The default collection is locked, so its contents are unknown.
  case locked
  /// The keyring asks the user before it does what was requested, and nobody has answered, or prompts are not allowed.
  case prompting
  /// The keyring supports no encryption on the bus, and unencrypted sessions are not allowed.
  case plainSession
  /// The keyring can be read and written.
  case open

  /// Whether another call would probably time out as well.
  package var isSilent: Bool { if case .noAnswer = self { true } else { false } }
}

/// An event that a watch delivers.
package enum SecretServiceEvent: Hashable, Sendable {
  /// An item was created, changed or deleted, in the default collection or in another one.
  case item(KeyringItemPath)
  /// The state may have changed and signals may have been missed: query the state and read everything again.
  case availability
}
