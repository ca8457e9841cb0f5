import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Implements `coffer cp`, which copies every value of one store into another.
func copyStore(_ invocation: Invocation) async throws -> ExitStatus {
  let locations = try invocation.locations()
  let prefix = try invocation.options[.prefix].map(invocation.makeKey)
  guard locations.count == 2 else { throw Command.mistake("'cp' needs FROM and TO: \(Command.cp.usage).", .cp) }
  let sources = try KeySources(invocation, forSeveralStores: true)
  let second = try KeySources(invocation, .second)
  let settings = try invocation.encryptionSettings()
  guard settings == nil || locations[1].isEncrypted else {
    throw Command.mistake("--hide-names, --pad and --cipher are for a new encrypted store: encrypted:TO.", .cp)
  }
  return try await interruptible {
    do {
      // FROM is opened first, so that TO is not created when FROM does not exist.
      return try await withStore(at: locations[0], sources, access: invocation.accessForReading(locations[0])) { from in
        let isEncrypted = from.as(EncryptedEngine.self) != nil
        let protects = !invocation.has(.decrypt) && (isEncrypted || from.capabilities.contains(.secrecy))
        if protects { try refusePlainCopy(to: locations[1]) }
        // A key that FROM does not need is meant for TO.
        let ring = isEncrypted ? try await StoredKeyRingFacts(from) : nil
        let isKeyForTarget =
          second.areNamed
          || sources.areLeft(
            usesMaterial: ring?.needsPassphrase == false,
            usesPassphrase: ring?.needsPassphrase ?? locations[0].mayBeSealed)
        var targetSources = second.areNamed ? second : sources
        targetSources.label = second.label
        let target = try await openStore(
          at: locations[1], targetSources, creating: true, for: .target, requiringRing: isKeyForTarget,
          settings: settings ?? EncryptionSettings())
        return try await closing(target) { to in
          guard from.description != to.description else {
            throw Command.mistake("FROM and TO are the same store, \(from.description.oneLine()).", .cp)
          }
          guard to.as(KeylessEngine.self) == nil, to.as(EncryptedEngine.self)?.encryptsAll != false else {
            throw encryptsSome(locations[1])
          }
          let isProtected = to.as(EncryptedEngine.self) != nil || to.capabilities.contains(.secrecy)
          guard !protects || isProtected || to.as(MemoryEngine.self) != nil else { throw isPlain(locations[1]) }
          try to.requireSettings(settings)
          let copier = Copier(from: from, to: to, prefix: prefix, isQuiet: invocation.has(.json))
          return try await copy(with: copier, from, to, asJSON: invocation.has(.json))
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

/// Refuses to create a plain store for the values of one that protects them.
private func refusePlainCopy(to location: StoreLocation) throws {
  if case .memory = location { return }
  guard !location.keepsSecrets, try !location.expandingTilde.exists() else { return }
  throw isPlain(location)
}

private func isPlain(_ location: StoreLocation) -> CommandError {
  CommandError(
    .failure, StorageError.Code.notEncrypted.description,
    "FROM protects its values, and TO does not: the copy would be stored in plain.",
    advice: "Write encrypted:TO for an encrypted copy, or --decrypt for a plain one. Nothing was copied.",
    store: location.description)
}

/// Returns the error for a TO of which only its program knows what it has to encrypt.
private func encryptsSome(_ location: StoreLocation) -> CommandError {
  CommandError(
    .failure, StorageError.Code.unsupported.description, "TO encrypts only the values that its program declares.",
    advice: "Write encrypted:TO for a new store, or restore a backup. Nothing was copied.", store: location.description)
}

private func copy(
  with copier: Copier, _ from: any StorageEngine, _ to: any StorageEngine, asJSON: Bool
) async throws -> ExitStatus {
  let tally: Copier.Tally
  do {
    tally = try await copier.run()
  } catch {
    // The caller reports the error; this reports what has been copied all the same.
    if asJSON {
      try print(await copier.partial.json(from: from.description, to: to.description, hasFailed: true))
    } else {
      await copier.tellWhatIsCopied()
    }
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

  /// What remains of a copy that has failed.
  var remainder: String {
    guard copied > 0 || unchanged > 0 || unknown > 0 else { return "Nothing was copied." }
    var text = "\(counted(copied, "value")) had been copied. Run the same command again to copy the rest."
    if let through, skipped.isEmpty {
      text = "TO has all values up to '\(through.string.oneLine())': " + text
    }
    guard unknown > 0 else { return text }
    return text + " Whether \(copied > 0 ? "the next " : "")\(counted(unknown, "value")) were copied is unknown."
  }

  fileprivate func json(from: String, to: String, hasFailed: Bool = false) -> JSON {
    .object([
      ("from", .text(from)), ("to", .text(to)),
      ("transaction", .optional(copied + unknown > 0 ? transaction.uuidString : nil)),
      ("copied", .number(copied)), ("copiedBytes", .number(copiedBytes)), ("unchanged", .number(unchanged)),
      ("skipped", .list(skipped.map(\.json))), ("interrupted", .flag(isInterrupted)), ("failed", .flag(hasFailed)),
      ("through", .optional(through?.string)), ("unknown", .number(unknown)),
    ])
  }
}
