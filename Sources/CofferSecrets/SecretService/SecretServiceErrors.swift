package import CofferCore

#if SecretService && os(Linux)
  import CofferBus
#endif

extension SecretServiceState {
  /// Returns the error for an operation that requires an open keyring.
  /// - Parameter provider: the name of the program that offers the keyring; `nil` if it is unknown.
  package func error(_ underlying: StorageError.Underlying? = nil, provider: String? = nil) -> StorageError {
    let (message, advice) = provider.flatMap(words(about:)) ?? words
    return StorageError(
      .unavailable, message, advice: advice, location: keyringLocation, underlying: underlying)
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
        "Try again in a moment. If the problem persists, log out and in, or restart the keyring's process."
      )
    case .noDefaultCollection:
      (
        "The keyring has no default collection, or has not loaded it yet.",
        "Log in to the desktop, or create a default keyring in its keyring program (for GNOME: 'seahorse')."
      )
    case .locked:
      (
        "The login keyring is locked, so its contents cannot be read.",
        "Unlock it: log in to the desktop, or use its keyring program (for GNOME: 'seahorse')."
      )
    case .prompting:
      (
        "The keyring asks the user before it does what was requested, and nobody has allowed it.",
        "Allow it in the settings of the keyring's program, or let its prompts wait for the user: "
          + "\(Self.promptAdvice). Nothing was changed."
      )
    case .plainSession:
      (
        "The keyring accepts secrets only unencrypted over the session bus, where other programs may be able to read "
          + "them.",
        "Use a keyring that can encrypt them (gnome-keyring, KeePassXC and KWallet do), or a sealed file. To allow it "
          + "anyway, set KeychainConfiguration.allowsPlainSession, or COFFER_ALLOW_PLAIN_KEYRING=1 for the command."
      )
    case .open:
      ("The keyring's state changed in the meantime.", "Try again.")
    }
  }
}

extension SecretServiceState {
  private static let promptAdvice =
    "KeychainConfiguration.allowsPrompts, or COFFER_ALLOW_KEYRING_PROMPTS=1 for the command"

  /// Whether the program that offers the keyring is the one to act on.
  var isOfProvider: Bool {
    switch self {
    case .noDefaultCollection, .locked, .prompting, .plainSession: true
    case .noLibrary, .noBus, .noService, .noAnswer, .open: false
    }
  }

  /// Returns the words for a keyring other than gnome-keyring, by its name.
  private func words(about name: String) -> (message: String, advice: String)? {
    guard name != KeyringProvider.gnome else { return nil }
    return switch self {
    case .noDefaultCollection:
      (
        "\(name) offers no default collection, or has not loaded it yet.",
        "Open a database in \(name), and let it offer one to other programs (KeePassXC: Database Settings, Secret "
          + "Service Integration)."
      )
    case .locked:
      (
        "The keyring of \(name) is locked, or \(name) asks before it shows an item, so it cannot be read.",
        "Unlock it in \(name), and let this program use its items there. \(name) may ask the user with "
          + "\(Self.promptAdvice)."
      )
    case .prompting:
      (
        "\(name) asks the user before it does what was requested, and nobody has allowed it.",
        "Allow it in the settings of \(name), or let its prompts wait for the user: \(Self.promptAdvice). Nothing was "
          + "changed."
      )
    case .plainSession:
      ("\(name) accepts" + words.message.dropFirst("The keyring accepts".count), words.advice)
    case .noLibrary, .noBus, .noService, .noAnswer, .open: nil
    }
  }
}

/// The programs that offer keyrings.
enum KeyringProvider {
  static let gnome = "gnome-keyring"

  /// Returns the name for messages of a program, whose name Linux truncates to 15 bytes.
  static func name(ofProgram program: String) -> String {
    let program = program.split(separator: "\n").first.map(String.init) ?? ""
    if program.hasPrefix("gnome-keyring") { return gnome }
    if program.hasPrefix("keepassxc") { return "KeePassXC" }
    if program.hasPrefix("kwalletd") || program.hasPrefix("ksecretd") { return "KWallet" }
    return program.isEmpty ? "the keyring's program" : program.escapingControlCharacters
  }
}

extension KeyringCollection {
  /// Returns the error for the case that this collection is locked and is not the default one.
  /// - Parameter isNoted: whether values are recorded to be in it; otherwise it may have them.
  func lockedError(isNoted: Bool) -> StorageError {
    StorageError(
      .unavailable,
      "The values \(isNoted ? "are" : "may be") in the keyring '\(label.escapingControlCharacters)', which is locked "
        + "and is not the default one.",
      advice: "Unlock it in the keyring program (for GNOME: 'seahorse').", location: keyringLocation)
  }
}

/// The location in errors of the keyring.
package let keyringLocation = "keyring:org.freedesktop.secrets"

#if SecretService && os(Linux)
  /// An error that reports that the keyring cannot be used now.
  struct NotOpen: Error {
    let state: SecretServiceState
    var underlying: StorageError.Underlying?
  }

  /// Returns the address of the keyring's bus.
  /// - Parameter address: the address of a bus, or `nil` for the session's.
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

    /// Whether the called object does not exist.
    var isOfNoObject: Bool { kind == .noObject || name == "org.freedesktop.Secret.Error.NoSuchObject" }

    /// Whether the called process has no such method or interface.
    var isOfNoMethod: Bool { kind == .noObject || name == "org.freedesktop.DBus.Error.UnknownInterface" }

    /// Whether the connection or the called process ended before it replied.
    var isOfLostConnection: Bool { kind == .closed || kind == .gone }

    /// Whether the same call on a new connection or session is safe and may succeed.
    var isWorthAnotherTry: Bool {
      kind == .noOwner || name == Self.noSession || (isOfLostConnection && !mayHaveHappened)
    }

    private var isOfLockedKeyring: Bool { name == "org.freedesktop.Secret.Error.IsLocked" }

    var underlying: StorageError.Underlying { .init(domain: name ?? domain, code: code, text: text) }

    /// The failure as the error of a keyring operation.
    var storageError: StorageError {
      if mayHaveHappened {
        return StorageError(
          .outcomeUnknown, "The keyring has not confirmed the change: it may or may not have happened.",
          advice: "Read the value to see, or write it again.", location: keyringLocation, underlying: underlying)
      }
      if isOfLockedKeyring || name == Self.noSession { return notOpen.state.error(notOpen.underlying) }
      switch kind {
      case .denied:
        return StorageError(
          .permissionDenied, "This program is not allowed to use the keyring.",
          advice: "In a sandbox, allow it to talk to org.freedesktop.secrets.", location: keyringLocation,
          underlying: underlying)
      case .unreachable, .noObject, .invalid, .other:
        return StorageError(
          .inputOutput, "The keyring refused a request.", advice: "Its contents are unchanged.",
          location: keyringLocation, underlying: underlying)
      case .noLibrary, .timedOut, .closed, .gone, .noOwner: return notOpen.state.error(notOpen.underlying)
      }
    }

    /// The state of the keyring that the failure of a query implies, which is never that there is none.
    var notOpen: NotOpen {
      switch kind {
      case _ where isOfLockedKeyring: NotOpen(state: .locked, underlying: underlying)
      case .noLibrary: NotOpen(state: .noLibrary(reason: text), underlying: underlying)
      case .timedOut: noAnswer("it does not answer")
      case .closed, .gone: noAnswer("it has ended")
      case .noOwner: noAnswer("it ended in the meantime")
      case .unreachable, .noObject, .denied, .invalid, .other: noAnswer("it refused a request (\(underlying.text))")
      }
    }

    /// The state of the keyring that the failure of a query to the bus itself implies.
    var notOnBus: NotOpen {
      switch kind {
      case .noLibrary: notOpen
      case .timedOut: noAnswer("the session bus does not answer")
      case .closed, .gone: noAnswer("the session bus has ended")
      default: noAnswer("the session bus refused (\(underlying.text))")
      }
    }

    /// Returns the state of the keyring that a failure to connect to the bus implies.
    func notConnected(to location: String) -> NotOpen {
      guard kind == .unreachable else { return notOnBus }
      return NotOpen(state: .noBus(reason: "no session bus answers at '\(location)'"), underlying: underlying)
    }

    private func noAnswer(_ reason: String) -> NotOpen {
      NotOpen(state: .noAnswer(reason: reason), underlying: underlying)
    }
  }
#endif
