package import CofferCore

#if SecretService && os(Linux)
  import CofferBus
#endif

extension SecretServiceState {
  /// What to say to somebody who needs the keyring open.
  package func error(_ underlying: StorageError.Underlying? = nil) -> StorageError {
    let (message, advice) = words
    return StorageError(
      .unavailable, message, advice: advice, backend: keyringBackend, underlying: underlying)
  }

  private var words: (message: String, advice: String) {
    switch self {
    case .noLibrary(let reason):
      ("The keyring cannot be reached: \(reason).", "Install the library and start the program again.")
    case .noBus(let reason):
      (
        "The keyring cannot be reached: \(reason).",
        "Log in to a desktop session, or run the program with 'dbus-run-session'."
      )
    case .noService(let reason):
      (
        "The keyring cannot be reached: \(reason).",
        "Start a keyring such as gnome-keyring, KeePassXC or KWallet, which offer org.freedesktop.secrets."
      )
    case .noAnswer(let reason):
      (
        "The keyring cannot be reached: \(reason).",
        "Try again in a moment. If it stays so, log out and in, or end the keyring's process and start it again."
      )
    case .noDefaultCollection:
      (
        "The keyring has no default collection, or has not loaded it yet.",
        "Log in to the desktop, or make a default keyring in its keyring program (for GNOME: 'seahorse')."
      )
    case .locked:
      (
        "The login keyring is locked: what it holds cannot be told.",
        "Unlock it: log in to the desktop, or use its keyring program (for GNOME: 'seahorse')."
      )
    case .plainSession:
      (
        "The keyring takes secrets only unencrypted over the session bus, where other programs may be able to read "
          + "them.",
        "Use a keyring that can encrypt them (gnome-keyring, KeePassXC and KWallet do), or a sealed file. To allow it "
          + "all the same: KeychainConfiguration.allowsPlainSession, or COFFER_ALLOW_PLAIN_KEYRING=1 for the command."
      )
    case .open:
      ("The keyring's state has changed meanwhile.", "Try again.")
    }
  }
}

extension KeyringCollection {
  /// What to say when this is the default collection and another one has the values.
  func hides(_ before: KeyringCollection) -> StorageError {
    let (name, nameBefore) = (label.escapingControlCharacters, before.label.escapingControlCharacters)
    return StorageError(
      .unavailable, "The default keyring is now '\(name)', and the values are in '\(nameBefore)'.",
      advice: "In the keyring program (for GNOME: 'seahorse'), make '\(nameBefore)' the default again, or move the "
        + "secrets to '\(name)'.", backend: keyringBackend)
  }
}

/// How errors name this place.
package let keyringBackend = "keyring:org.freedesktop.secrets"

#if SecretService && os(Linux)
  /// The keyring cannot be used now.
  struct NotOpen: Error {
    let state: SecretServiceState
    var underlying: StorageError.Underlying?
  }

  extension NotOpen {
    var storageError: StorageError { state.error(underlying) }
  }

  /// Where the bus of the keyring is.
  /// - Parameter address: `nil` for the session's.
  func keyringBus(at address: String?) throws(NotOpen) -> String {
    do throws(SessionBus.Absence) {
      guard let address else { return try SessionBus.address() }
      return try SessionBus.usable(address)
    } catch {
      throw NotOpen(state: .noBus(reason: error.reason))
    }
  }

  extension BusFailure {
    private static let noSession = "org.freedesktop.Secret.Error.NoSession"

    /// There is no such object.
    var isOfNoObject: Bool { kind == .noObject || name == "org.freedesktop.Secret.Error.NoSuchObject" }

    /// The connection or the called process has gone before it answered.
    var isOfLostConnection: Bool { kind == .closed || kind == .gone }

    /// Whether the same call on a new connection or session cannot do harm and may succeed.
    var isWorthAnotherTry: Bool {
      kind == .noOwner || name == Self.noSession || (isOfLostConnection && !mayHaveHappened)
    }

    private var isOfLockedKeyring: Bool { name == "org.freedesktop.Secret.Error.IsLocked" }

    var underlying: StorageError.Underlying { .init(domain: name ?? domain, code: code, text: text) }

    /// What to say to the user.
    var storageError: StorageError {
      if mayHaveHappened {
        return StorageError(
          .outcomeUnknown, "The keyring has not confirmed the change: it may or may not have happened.",
          advice: "Read the value to see, or write it again.", backend: keyringBackend, underlying: underlying)
      }
      if isOfLockedKeyring || name == Self.noSession { return notOpen.storageError }
      switch kind {
      case .denied:
        return StorageError(
          .permissionDenied, "This program may not use the keyring.",
          advice: "In a sandbox, allow it to talk to org.freedesktop.secrets.", backend: keyringBackend,
          underlying: underlying)
      case .unreachable, .noObject, .invalid, .other:
        return StorageError(
          .inputOutput, "The keyring refused a request.", advice: "What it holds is as it was.",
          backend: keyringBackend, underlying: underlying)
      case .noLibrary, .timedOut, .closed, .gone, .noOwner: return notOpen.storageError
      }
    }

    /// What the failure of a question says of the keyring: never that there is none.
    var notOpen: NotOpen {
      switch kind {
      case _ where isOfLockedKeyring: NotOpen(state: .locked, underlying: underlying)
      case .noLibrary: NotOpen(state: .noLibrary(reason: text), underlying: underlying)
      case .timedOut: noAnswer("it does not answer")
      case .closed, .gone: noAnswer("it has ended")
      case .noOwner: noAnswer("it has ended meanwhile")
      case .unreachable, .noObject, .denied, .invalid, .other: noAnswer("it refused a request (\(underlying.text))")
      }
    }

    /// What the failure of a question to the bus itself says.
    var notOnBus: NotOpen {
      switch kind {
      case .noLibrary: notOpen
      case .timedOut: noAnswer("the session bus does not answer")
      case .closed, .gone: noAnswer("the session bus has ended")
      default: noAnswer("the session bus refused (\(underlying.text))")
      }
    }

    /// What the failure to connect to a bus says.
    func notConnected(to place: String) -> NotOpen {
      guard kind == .unreachable else { return notOnBus }
      return NotOpen(state: .noBus(reason: "no session bus answers at '\(place)'"), underlying: underlying)
    }

    private func noAnswer(_ reason: String) -> NotOpen {
      NotOpen(state: .noAnswer(reason: reason), underlying: underlying)
    }
  }

  /// Runs a request and tells failures in words for people.
  func inWords<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let failure as BusFailure { throw failure.storageError } catch let notOpen as NotOpen
    {
      throw notOpen.storageError
    }
  }
#endif
