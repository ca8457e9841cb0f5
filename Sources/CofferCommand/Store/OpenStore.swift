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

/// Opens a store that its caller closes.
func openStore(
  at location: StoreLocation, _ passphrases: Passphrases, creating: Bool
) async throws -> any StorageEngine {
  do {
    switch location {
    case .sqlite(let path): return try await openSQLite(path, creating: creating)
    case .memory(let name): return MemoryEngine(name: name)
    case .files(let directory):
      return try await SlotEngine.files(
        in: URL(fileURLWithPath: directory, isDirectory: true), configuration: slots(creating))
    case .preferences(let suite):
      return try await SlotEngine.preferences(suite: suite, configuration: slots(creating))
    case .keychain(let service, let group):
      return try await SlotEngine.keychain(service: service, accessGroup: group, configuration: keychain(creating))
    case .sealed(let path):
      return try await SlotEngine.sealed(
        at: URL(fileURLWithPath: path), passphrase: try passphrases.source(for: path), configuration: slots(creating))
    case .chain(let links):
      guard let chain = try SecretChain(links.compactMap(passphrases.link)) else {
        throw UsageError("The chain of stores is empty.")
      }
      return try await chain.open(configuration: keychain(creating))
    }
  } catch let error as StorageError where error.code == .notFound {
    guard !creating, try location.isAbsent() else { throw error }
    throw missing(error)
  } catch let error as StorageError where error.code == .unavailable {
    try passphrases.refuseMissingFile()
    if location.mayBeSealed { try passphrases.refuseToAskNobody() }
    throw error
  }
}

private func openSQLite(_ path: String, creating: Bool) async throws -> any StorageEngine {
  var configuration = SQLiteConfiguration()
  configuration.createsIfMissing = creating
  do {
    return try await SQLiteEngine.open(at: path, configuration: configuration)
  } catch let error as StorageError where error.code == .notAStore && isStoreOfFiles(path) {
    throw UsageError("The path is a store of files: write file:\(path.oneLine()).")
  }
}

private func isStoreOfFiles(_ path: String) -> Bool {
  FileManager.default.fileExists(atPath: URL(fileURLWithPath: path).appendingPathComponent(".coffer/journal.db").path)
}

private func slots(_ creating: Bool) -> SlotConfiguration {
  var configuration = SlotConfiguration()
  configuration.createsIfMissing = creating
  // Both can be said nowhere else, and the command goes on.
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

private func keychain(_ creating: Bool) -> KeychainConfiguration {
  var configuration = KeychainConfiguration()
  configuration.store = slots(creating)
  configuration.allowsPlainSession = allowsPlainKeyring
  return configuration
}

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
