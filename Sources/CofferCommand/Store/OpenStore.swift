import Coffer
import CofferEncryption
import CofferSecrets
import CofferTerminal
import Foundation

/// Opens the store that the invocation selects, calls `body`, and closes the store even when `body` throws.
func withStore<R>(
  _ invocation: Invocation, creating: Bool = false, requiringRing: Bool = false, for need: KeyNeed = .everything,
  _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  let (sources, anchor) = (try KeySources(invocation), try AnchorFile(invocation))
  let location = try StoreLocation.of(invocation)
  let onlyReads = [.get, .ls, .watch].contains(invocation.command)
  let engine = try await openStore(
    at: location, sources, creating: creating,
    access: onlyReads ? invocation.accessForReading(location) : invocation.access, for: need,
    requiringRing: requiringRing || creating && (sources.areNamed || anchor != nil), anchor: anchor)
  return try await closing(engine, after: body)
}

extension Invocation {
  /// The access to the store that a command reads.
  var access: StoreAccess { has(.readOnly) ? .readOnly : .readWriteOrReadOnly }

  /// The access to a store from which the command only reads values. A server that need not confirm a commit answers
  /// while its standbys are away.
  func accessForReading(_ location: StoreLocation) -> StoreAccess {
    if case .other("postgresql", _) = location.unencrypted { .readOnly } else { access }
  }
}

/// Opens the store at `location`, calls `body`, and closes the store even when `body` throws.
/// - Throws: The error of `body` rather than one of closing, when both fail.
func withStore<R>(
  at location: StoreLocation, _ sources: KeySources, access: StoreAccess = .readWriteOrReadOnly,
  for need: KeyNeed = .everything, anchor: AnchorFile? = nil,
  _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await closing(
    try await openStore(at: location, sources, creating: false, access: access, for: need, anchor: anchor), after: body)
}

/// Calls `body` with an engine, and closes the engine even when `body` throws.
/// - Throws: The error of `body` rather than one of closing, when both fail.
func closing<Engine, R>(_ engine: Engine, after body: (Engine) async throws -> R) async throws -> R
where Engine: StorageEngine {
  let result: R
  do {
    result = try await body(engine)
  } catch {
    try? await engine.close()  // The first error is the one to report.
    throw error
  }
  try await engine.close()
  return result
}

/// Opens a store, as an encrypted one if it has a key ring; the caller closes it.
/// - Parameter requiringRing: whether a store is refused, and not created, that neither is encrypted nor keeps secrets.
func openStore(
  at location: StoreLocation, _ sources: KeySources, creating: Bool, access: StoreAccess = .readWriteOrReadOnly,
  for need: KeyNeed = .everything, requiringRing: Bool = false, settings: EncryptionSettings = EncryptionSettings(),
  anchor: AnchorFile? = nil
) async throws -> any StorageEngine {
  var opening = EncryptedOpening(
    location, sources, isCreating: creating, requiresRing: requiringRing, settings, anchor)
  try await opening.prepare()
  let base = try await openStoredForm(of: location, sources.passphrases, creating: creating, access: access)
  do { return try await opening.open(base, for: need) } catch {
    try? await base.close()
    throw error
  }
}

/// Opens a store as it is stored: encrypted values are envelopes. The caller closes it.
func openStoredForm(
  of location: StoreLocation, _ passphrases: Passphrases, creating: Bool,
  access: StoreAccess = .readWriteOrReadOnly
) async throws -> any StorageEngine {
  let location = location.unencrypted
  do {
    var options = passphrases.options(creating: creating)
    options.access = access
    return try await location.open(options)
  } catch let error as StorageError where error.code == .notAStore {
    guard case .sqlite(let path) = location, isStoreOfFiles(path) else { throw error }
    throw Command.mistake("The path is a store of files: write file:\(path.oneLine()).")
  } catch let error as StorageError where error.code == .notFound {
    guard !creating, try location.isAbsent() else { throw error }
    throw missing(error)
  } catch let error as StorageError where error.code == .unavailable {
    if location.mayBeSealed { try passphrases.refuseToAskNobody() }
    throw error
  }
}

private func isStoreOfFiles(_ path: String) -> Bool {
  FileManager.default.fileExists(atPath: URL(fileURLWithPath: path).appendingPathComponent(".coffer/journal.db").path)
}

extension Passphrases {
  /// Returns the options with which the command opens stores.
  func options(creating: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.slots = tellingSlots
    options.keychain.store = tellingSlots
    options.keychain.allowsPlainSession = allowsPlainKeyring
    options.keychain.allowsPrompts = allowsKeyringPrompts
    options.passphrase = { try source(for: $0) }
    options.createsIfMissing = creating
    options.foreignData = foreignData
    return options
  }
}

/// A configuration that prints recovery and damage reports as warnings, since the command continues after them.
private var tellingSlots: SlotEngine.Configuration {
  var configuration = SlotEngine.Configuration()
  configuration.onRecovery = { report in
    if !report.lost.isEmpty {
      let keys = report.lost.map { "'\($0.string.oneLine())'" }.joined(separator: ", ")
      warn(
        "\(report.location.oneLine()) has lost the newest \(report.lost.count == 1 ? "value" : "values") of \(keys): "
          + "they were damaged before they were published, or the copy of a damaged file is older. "
          + "'coffer verify' lists those that cannot be read.")
    }
    guard report.wasRebuilt else { return }
    warn(
      "\(report.location.oneLine()) had no journal: it was rebuilt from \(counted(report.edited, "value")). "
        + "Revisions start again.")
  }
  configuration.onDamage = { report in
    guard report.key == nil, report.isCopyUsed else { return }
    let kept = report.quarantineID.map { "the quarantine, as \($0)" } ?? "the damaged file"
    warn(
      "\(report.location.oneLine()) is damaged: the last copy that Coffer wrote is used instead. Later changes by "
        + "other programs are only in \(kept).")
  }
  return configuration
}

private func warn(_ text: String) { try? Output.error.note(text, after: "coffer:") }

/// Whether secrets may cross the session bus unencrypted: `COFFER_ALLOW_PLAIN_KEYRING=1`.
var allowsPlainKeyring: Bool { getenv("COFFER_ALLOW_PLAIN_KEYRING").map { String(cString: $0) } == "1" }

/// Whether the keyring may ask the user: `COFFER_ALLOW_KEYRING_PROMPTS=1`.
var allowsKeyringPrompts: Bool { getenv("COFFER_ALLOW_KEYRING_PROMPTS").map { String(cString: $0) } == "1" }

/// Returns the error with status 3 for a location that was inspected and holds no store.
private func missing(_ error: StorageError) -> CommandError {
  // The underlying error, such as "No such file or directory", is left out: it adds nothing.
  let advice = "Check the path; 'coffer set KEY VALUE' creates it."
  var missing = CommandError(
    .notFound, error.code.description, error.message, advice: advice,
    store: error.location.isEmpty ? nil : error.location)
  missing.text = StorageError(error.code, error.message, advice: advice, location: error.location).description
  return missing
}
