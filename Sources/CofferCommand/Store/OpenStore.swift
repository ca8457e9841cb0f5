import Coffer
import CofferTerminal
import Foundation

/// Opens the store that the invocation selects, calls `body`, and closes the store even when `body` throws.
func withStore<R>(
  _ invocation: Invocation, creating: Bool = false, _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await withStore(at: StoreLocation.of(invocation), invocation, creating: creating, body)
}

/// Opens the store at `location`, calls `body`, and closes the store even when `body` throws.
func withStore<R>(
  at location: StoreLocation, _ invocation: Invocation, creating: Bool = false,
  _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await withStore(at: location, Passphrases(invocation), creating: creating, access: invocation.access, body)
}

extension Invocation {
  /// The access to the store that a command reads.
  var access: StoreAccess { has(.readOnly) ? .readOnly : .readWriteOrReadOnly }
}

/// Opens the store at `location`, calls `body`, and closes the store even when `body` throws.
/// - Throws: The error of `body` rather than one of closing, when both fail.
func withStore<R>(
  at location: StoreLocation, _ passphrases: Passphrases, creating: Bool = false,
  access: StoreAccess = .readWriteOrReadOnly, _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  let engine = try await openStore(at: location, passphrases, creating: creating, access: access)
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

/// A hook for tests, which wrap the engine of each opened store in decorators.
enum OpenedEngine {
  @TaskLocal static var decorated: @Sendable (any StorageEngine) -> any StorageEngine = { $0 }
}

/// Opens a store; the caller closes it.
func openStore(
  at location: StoreLocation, _ passphrases: Passphrases, creating: Bool, access: StoreAccess = .readWriteOrReadOnly
) async throws -> any StorageEngine {
  do {
    var options = passphrases.options(creating: creating)
    options.access = access
    return OpenedEngine.decorated(try await location.open(options))
  } catch let error as StorageError where error.code == .notAStore {
    guard case .sqlite(let path) = location, isStoreOfFiles(path) else { throw error }
    throw UsageError("The path is a store of files: write file:\(path.oneLine()).")
  } catch let error as StorageError where error.code == .notFound {
    guard !creating, try location.isAbsent() else { throw error }
    throw missing(error)
  } catch let error as StorageError where error.code == .unavailable {
    try passphrases.refuseMissingFile()
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
    options.passphrase = { try source(for: $0) }
    options.createsIfMissing = creating
    return options
  }
}

/// A configuration that prints recovery and damage reports as warnings, since the command continues after them.
private var tellingSlots: SlotConfiguration {
  var configuration = SlotConfiguration()
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
    warn(
      "\(report.location.oneLine()) is damaged: it was moved to the quarantine, and the last copy that Coffer wrote "
        + "is used instead. Later changes by other programs are only in the quarantined bytes.")
  }
  return configuration
}

private func warn(_ text: String) { try? Output.error.note(text, after: "coffer:") }

/// Whether secrets may cross the session bus unencrypted: `COFFER_ALLOW_PLAIN_KEYRING=1`.
var allowsPlainKeyring: Bool { getenv("COFFER_ALLOW_PLAIN_KEYRING").map { String(cString: $0) } == "1" }

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
