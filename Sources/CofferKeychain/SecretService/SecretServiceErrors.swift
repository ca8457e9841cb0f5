package import CofferCore

extension SecretServiceState {
  /// What to say to somebody who needs the keyring open.
  package func error(_ underlying: StorageError.Underlying? = nil) -> StorageError {
    let (message, advice) = words
    return StorageError(
      .unavailable, message, advice: advice, backend: keyringBackend, underlying: underlying)
  }

  private var words: (message: String, advice: String) {
    switch self {
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
    case .open:
      ("The keyring's state has changed meanwhile.", "Try again.")
    }
  }
}

/// How errors name this place.
package let keyringBackend = "keyring:org.freedesktop.secrets"

#if SecretService && os(Linux)
  extension NotOpen {
    var storageError: StorageError { state.error(underlying) }
  }

  extension BusFailure {
    /// What to say to the user.
    var storageError: StorageError {
      if mayHaveHappened {
        return StorageError(
          .outcomeUnknown, "The keyring has not confirmed the change: it may or may not have happened.",
          advice: "Read the value to see, or write it again.", backend: keyringBackend, underlying: underlying)
      }
      switch kind {
      case .locked: return SecretServiceState.locked.error(underlying)
      case .denied:
        return StorageError(
          .permissionDenied, "This program may not use the keyring.",
          advice: "In a sandbox, allow it to talk to org.freedesktop.secrets.", backend: keyringBackend,
          underlying: underlying)
      case .noObject, .other:
        return StorageError(
          .inputOutput, "The keyring refused a request.", advice: "What it holds is as it was.",
          backend: keyringBackend, underlying: underlying)
      case .timedOut, .disconnected, .noOwner, .noSession: return notOpen.storageError
      }
    }

    /// What the failure of a question says of the keyring.
    var notOpen: NotOpen {
      switch kind {
      case .locked: NotOpen(state: .locked, underlying: underlying)
      case .timedOut: NotOpen(state: .noService(reason: "it does not answer"), underlying: underlying)
      case .disconnected: NotOpen(state: .noService(reason: "it has ended"), underlying: underlying)
      case .noOwner: NotOpen(state: .noService(reason: "it does not run"), underlying: underlying)
      case .noSession, .noObject, .denied, .other:
        NotOpen(state: .noService(reason: "it refused a request (\(underlying.text))"), underlying: underlying)
      }
    }

    /// What the failure of a question to the bus itself says.
    var noBus: NotOpen {
      switch kind {
      case .timedOut: NotOpen(state: .noBus(reason: "the session bus does not answer"), underlying: underlying)
      case .disconnected: NotOpen(state: .noBus(reason: "the session bus has ended"), underlying: underlying)
      default: NotOpen(state: .noBus(reason: "the session bus refused (\(underlying.text))"), underlying: underlying)
      }
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
