import Coffer
import CofferEncryption
import CofferTerminal

/// Implements `coffer encrypt`, which encrypts the values of a store.
func encryptStore(_ invocation: Invocation) async throws -> ExitStatus {
  let (location, sources) = (try invocation.onlyLocation(), try KeySources(invocation))
  let (settings, anchor) = (try invocation.encryptionSettings(), try AnchorFile(invocation))
  let base = try await openStoredForm(of: location, sources.passphrases, creating: false)
  return try await closing(base) { base in
    let ring = try await StoredKeyRingFacts(base)
    let source = try sources.source(for: ring, of: base.description)
    var configuration = EncryptedEngine.Configuration(settings: settings ?? EncryptionSettings())
    configuration.label = sources.label
    configuration.rollbackProtection = try anchor?.settings(mayCreate: true, of: base.description)
    let accepts = anchor?.acceptsRollback == true
    if let ring, settings != nil || accepts {
      let open = try await sources.openRing(ring, of: base, with: source)
      // An interrupted encryption is continued by the command that began it.
      guard !accepts || open.phase != .complete else { throw isAcceptedByVerify(base.description) }
      // The manner of an encrypted store never changes; it is compared before anything else does.
      if let settings { try open.requireSettings(settings, of: base.description) }
    }
    let rotation = try await EncryptedEngine.encrypt(
      base, key: source, configuration: configuration, acceptingRollback: accepts)
    return try await RotationCommand(invocation, base, label: "Encrypting").follow(rotation)
  }
}

private func isAcceptedByVerify(_ store: String) -> CommandError {
  CommandError(
    .failure, StorageError.Code.unsupported.description, "The store is encrypted already.",
    advice:
      "Accept it as it is: coffer verify --accept-rollback --anchor-file PATH --store STORE. Nothing was changed.",
    store: store)
}

/// Implements `coffer decrypt`, which stores the values of an encrypted store in plain.
func decryptStore(_ invocation: Invocation) async throws -> ExitStatus {
  let question = "Store every value of \(try invocation.onlyLocation().description.oneLine()) in plain?"
  try await invocation.askForConsent(question, otherwise: "Nothing was decrypted.")
  let (location, sources) = (try invocation.onlyLocation(), try KeySources(invocation))
  let anchor = try AnchorFile(invocation)
  let base = try await openStoredForm(of: location, sources.passphrases, creating: false)
  return try await closing(base) { base in
    guard let ring = try await StoredKeyRingFacts(base) else {
      try await base.refuseLostRing()
      throw isNotEncrypted(base.description)
    }
    var configuration = EncryptedEngine.Configuration()
    configuration.acceptsDeclared = true
    configuration.label = sources.label
    configuration.rollbackProtection = try anchor?.settings(mayCreate: false, of: base.description)
    let rotation = try await EncryptedEngine.decrypt(
      base, key: sources.source(for: ring, of: base.description), configuration: configuration)
    return try await RotationCommand(invocation, base, label: "Decrypting").follow(rotation)
  }
}

/// Implements `coffer rotate`, which encrypts every value under a new data key.
func rotateStore(_ invocation: Invocation) async throws -> ExitStatus {
  if invocation.has(.scrub) {
    return try await withKeyRing(invocation) { try await scrub($0, asJSON: invocation.has(.json)) }
  }
  return try await withKeyRing(invocation) { engine in
    try await RotationCommand(invocation, engine, label: "Rotating").follow(engine.rotate())
  }
}

private func scrub(_ engine: EncryptedEngine, asJSON: Bool) async throws -> ExitStatus {
  try await engine.scrub()
  if asJSON {
    try print(.object([("store", .text(engine.description)), ("scrubbed", .flag(true))]))
  } else {
    try? Output.error.note("The files were rewritten: they hold no removed keys and values.")
  }
  return .ok
}

/// Opens the encrypted store of the only operand with its key.
func withKeyRing<R>(
  _ invocation: Invocation, access: StoreAccess = .readWriteOrReadOnly, _ body: (EncryptedEngine) async throws -> R
) async throws -> R {
  try await withStore(
    at: invocation.onlyLocation(), KeySources(invocation), access: access, for: .everything,
    anchor: AnchorFile(invocation)
  ) { engine in
    guard let encrypted = engine.as(EncryptedEngine.self) else {
      try await engine.refuseLostRing()
      throw isNotEncrypted(engine.description)
    }
    return try await body(encrypted)
  }
}

/// Returns the error for a store without a key ring.
func isNotEncrypted(_ store: String) -> CommandError {
  CommandError(
    .failure, StorageError.Code.notEncrypted.description, "The store is not encrypted.",
    advice: "Encrypt it: coffer encrypt STORE.", store: store)
}

/// Shows the progress and the outcome of a rotation.
private struct RotationCommand: Sendable {
  private let invocation: Invocation
  private let label: String
  private let store: String

  init(_ invocation: Invocation, _ engine: any StorageEngine, label: String) {
    self.invocation = invocation
    self.label = label
    store = engine.description
  }

  /// Waits for the end of a rotation. SIGINT and SIGTERM end it after the present commit.
  ///
  /// Before, while a passphrase is asked for, they end the process.
  func follow(_ rotation: KeyRotation.Run) async throws -> ExitStatus {
    let following = Following(
      label: label, advice: "No value is lost. Run the same command again to continue.", store: store)
    let (report, elapsed) = try await following.end(of: rotation)
    try tell(report, elapsed)
    return report.isComplete ? .ok : .failure
  }

  private func tell(_ report: KeyRotation.Report, _ elapsed: Duration) throws {
    if invocation.has(.json) { return try print(report.json(store)) }
    for failure in report.failures {
      let name = failure.key.map { "'\($0.string.oneLine())'" } ?? "A value whose name is hidden"
      try? Output.error.note("\(name) stays as it is: \(failure.error.message)", after: "coffer:")
    }
    let extent = "\(counted(report.changedValues, "value")) (\(byteCount(report.changedBytes))) in \(seconds(elapsed))"
    var text =
      switch report.goal {
      case .encryption where report.changedValues == 0 && report.isComplete: "Every value is encrypted."
      case .encryption: "Encrypted \(extent)."
      case .decryption: "Decrypted \(extent)."
      case .newKey: "Encrypted \(extent) under the key \(report.primaryKey ?? "-"). " + oldKeys(report)
      }
    text += unexpected(report)
    if report.isFinished, !report.isComplete {
      text += " \(counted(report.failures.count, "value")) cannot be read; the store is encrypted."
    } else if !report.isComplete {
      text += " \(counted(report.failures.count, "value")) could not be changed, so it is not finished."
    } else if report.goal == .encryption {
      text += remains(report)
    }
    try? Output.error.note(text)
  }

  /// Says which values somebody else may have put into the store in plain.
  private func unexpected(_ report: KeyRotation.Report) -> String {
    guard let number = report.unexpectedValues else {
      return " Values that somebody else has written in plain before this run cannot be told from the others."
    }
    guard number > 0 else { return "" }
    return " \(counted(number, "value")) had been in plain although the store was encrypted, and anybody who can write "
      + "its files may have written them: check that they are yours."
  }

  /// Says where plain values may remain after a whole encryption.
  private func remains(_ report: KeyRotation.Report) -> String {
    guard report.isScrubbed else {
      return " The files may still hold plain values: run 'coffer rotate --scrub' with the same store and key. So may "
        + "backups, snapshots and the quarantine."
    }
    return report.changedValues == 0 ? "" : " Backups, snapshots and the quarantine may still hold the plain values."
  }

  private func oldKeys(_ report: KeyRotation.Report) -> String {
    guard report.isComplete else { return "The old keys stay, as those values need them." }
    let removed = counted(report.removedKeys.count, "old key") + (report.removedKeys.count == 1 ? " was" : " were")
    guard !report.isScrubbed, !report.removedKeys.isEmpty else { return "\(removed) removed." }
    return "\(removed) removed from the key ring. The files may still hold what it was before: run 'coffer rotate "
      + "--scrub' with the same store and key."
  }
}

extension KeyRotation.Report {
  fileprivate func json(_ store: String) -> JSON {
    .object([
      ("store", .text(store)), ("goal", .text(goal.rawValue)), ("values", .number(values)),
      ("changed", .number(changedValues)), ("changedBytes", .number(changedBytes)),
      ("unexpected", unexpectedValues.map { .number($0) } ?? .none),
      ("primaryKey", .optional(primaryKey)), ("removedKeys", .list(removedKeys.map(JSON.text))),
      ("scrubbed", .flag(isScrubbed)),
      (
        "failures",
        .list(
          failures.map { failure in
            .object([
              ("key", .optional(failure.key?.string)), ("code", .text(failure.error.code.description)),
              ("message", .text(failure.error.message)),
            ])
          })
      ),
    ])
  }
}
