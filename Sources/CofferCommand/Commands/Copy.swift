import Coffer
import CofferTerminal
import Foundation

/// Implements `coffer cp`, which copies every value of one store into another.
func copyStore(_ invocation: Invocation) async throws -> ExitStatus {
  let locations = try invocation.locations()
  let prefix = try invocation.options[.prefix].map(invocation.makeKey)
  guard locations.count == 2 else { throw UsageError("'cp' needs FROM and TO: \(Command.cp.usage).", .cp) }
  let passphrases = try Passphrases(invocation)
  if invocation.has(.passphraseDescriptor), locations.allSatisfy(\.mayBeSealed) {
    throw UsageError("A descriptor can be read once, and both stores are sealed: use --passphrase-file PATH.", .cp)
  }
  return try await interruptible {
    do {
      // FROM is opened first, so that TO is not created when FROM does not exist.
      return try await withStore(at: locations[0], passphrases, access: invocation.access) { from in
        try await withStore(at: locations[1], passphrases, creating: true) { to in
          guard from.description != to.description else {
            throw UsageError("FROM and TO are the same store, \(from.description.oneLine()).", .cp)
          }
          return try await copy(from, to, prefix: prefix, asJSON: invocation.has(.json))
        }
      }
    } catch let error as CommandError where error.status == .notFound {
      let store = error.store.map { " Store: \($0)." } ?? ""
      throw CommandError(
        .notFound, error.code, error.message + store, advice: "Check the path of FROM; nothing was copied.",
        store: error.store)
    } catch is CancellationError {
      throw CommandError(.interrupted, "interrupted", "Interrupted: nothing was copied.")
    }
  }
}

private func copy(
  _ from: any StorageEngine, _ to: any StorageEngine, prefix: StoreKey?, asJSON: Bool
) async throws -> ExitStatus {
  let copier = Copier(from: from, to: to, prefix: prefix, isQuiet: asJSON)
  let tally: Copier.Tally
  do {
    tally = try await copier.run()
  } catch {
    // The caller reports the error; this reports what has been copied all the same.
    if !asJSON { await copier.tellWhatIsCopied() }
    throw error
  }
  if asJSON {
    try print(tally.json(from: from.description, to: to.description))
  } else {
    ProgressLine("").note(tally.sentence)
  }
  if tally.isInterrupted { return .interrupted }
  return tally.skipped.isEmpty ? .ok : .failure
}

extension Copier.Tally {
  /// The summary, such as `Copied 1,234 values (5.6 MiB) in 0.3 s, 12 unchanged.`
  var sentence: String {
    var text = "Copied \(counted(copied, "value")) (\(byteCount(copiedBytes))) in \(seconds(elapsed))"
    if unchanged > 0 { text += ", \(grouped(unchanged)) unchanged" }
    if !skipped.isEmpty { text += ", \(grouped(skipped.count)) skipped" }
    return text + (isInterrupted ? ", then interrupted. Run the same command again to copy the rest." : ".")
  }

  fileprivate func json(from: String, to: String) -> JSON {
    .object([
      ("from", .text(from)), ("to", .text(to)), ("transaction", .optional(copied > 0 ? transaction.uuidString : nil)),
      ("copied", .number(copied)), ("copiedBytes", .number(copiedBytes)), ("unchanged", .number(unchanged)),
      ("skipped", .list(skipped.map(\.json))), ("interrupted", .flag(isInterrupted)),
    ])
  }
}
