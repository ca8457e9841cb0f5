import Coffer
import CofferTerminal
import Foundation

/// Opens the store that is meant, and closes it when `body` has ended, however it ends.
func withStore<R>(
  _ invocation: Invocation, creating: Bool = false, _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await withStore(at: StoreLocation.of(invocation), invocation, creating: creating, body)
}

/// Opens a store, and closes it when `body` has ended, however it ends.
func withStore<R>(
  at location: StoreLocation, _ invocation: Invocation, creating: Bool = false,
  _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await withStore(at: location, Passphrases(invocation), creating: creating, body)
}

/// Opens a store, and closes it when `body` has ended, however it ends.
func withStore<R>(
  at location: StoreLocation, _ passphrases: Passphrases, creating: Bool = false,
  _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  let engine = try await openStore(at: location, passphrases, creating: creating)
  let result: R
  do {
    result = try await body(engine)
  } catch {
    try? await engine.close()  // What went wrong first is what to tell.
    throw error
  }
  try await engine.close()
  return result
}

/// Tests put decorators before the engine of each store that is opened.
enum OpenedEngine {
  @TaskLocal static var decorated: @Sendable (any StorageEngine) -> any StorageEngine = { $0 }
}

/// Opens a store that its caller closes.
func openStore(
  at location: StoreLocation, _ passphrases: Passphrases, creating: Bool
) async throws -> any StorageEngine {
  do {
    return OpenedEngine.decorated(try await location.open(passphrases.options(creating: creating)))
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
  /// How the command opens stores.
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

/// Both can be said nowhere else, and the command goes on.
private var tellingSlots: SlotConfiguration {
  var configuration = SlotConfiguration()
  configuration.onRecovery = { report in
    if !report.lost.isEmpty {
      let keys = report.lost.map { "'\($0.string.oneLine())'" }.joined(separator: ", ")
      warn(
        "\(report.backend.oneLine()) has lost the newest \(report.lost.count == 1 ? "value" : "values") of \(keys): "
          + "they were damaged before they were in their places, or the copy of a damaged file is older. "
          + "'coffer verify' names those that cannot be read.")
    }
    guard report.wasRebuilt else { return }
    warn(
      "\(report.backend.oneLine()) had no journal: it was made anew from \(counted(report.edited, "value")). "
        + "Revisions start again.")
  }
  configuration.onDamage = { report in
    guard report.key == nil, report.isCopyUsed else { return }
    warn(
      "\(report.backend.oneLine()) is damaged: its bytes were kept in the quarantine, and what Coffer wrote last "
        + "is used instead. What others have written since is only in those bytes.")
  }
  return configuration
}

private func warn(_ text: String) { try? Output.error.note(text, after: "coffer:") }

/// Whether secrets may cross the session bus unencrypted: `COFFER_ALLOW_PLAIN_KEYRING=1`.
var allowsPlainKeyring: Bool { getenv("COFFER_ALLOW_PLAIN_KEYRING").map { String(cString: $0) } == "1" }

/// The only way to status 3 for a store: its place was looked at and found empty.
private func missing(_ error: StorageError) -> CommandError {
  // What the system said, such as "No such file or directory", says nothing more.
  let advice = "Check the path; 'coffer set KEY VALUE' creates it."
  var missing = CommandError(
    .notFound, error.code.description, error.message, advice: advice,
    store: error.backend.isEmpty ? nil : error.backend)
  missing.text = StorageError(error.code, error.message, advice: advice, backend: error.backend).description
  return missing
}
