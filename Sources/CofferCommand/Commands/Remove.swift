import Coffer
import CofferCore
import CofferTerminal
import Foundation

/// Implements `coffer rm`, which removes keys, or all keys that start with a prefix.
func removeKeys(_ invocation: Invocation) async throws -> ExitStatus {
  let keys = try invocation.keys()
  guard let text = invocation.options[.prefix] else {
    guard !keys.isEmpty else { throw Command.mistake("'rm' needs a KEY or --prefix PREFIX: \(Command.rm.usage).", .rm) }
    return try await withStore(invocation, for: .removal) {
      try await remove(keys, from: $0, asJSON: invocation.has(.json))
    }
  }
  guard keys.isEmpty else { throw Command.mistake("'rm' takes keys or --prefix PREFIX, not both.", .rm) }
  let prefix = try invocation.makeKey(text)
  try invocation.requireTerminalOrConsent("rm --prefix")
  return try await withStore(invocation, for: .removal) { engine in
    try await remove(prefix, from: engine, invocation)
  }
}

private func remove(_ keys: [KeyName], from engine: any StorageEngine, asJSON: Bool) async throws -> ExitStatus {
  let deletions = keys.map(WriteBatch.Operation.delete)
  try await engine.requireShownNames(of: keys)
  guard asJSON else {
    try await engine.commit(WriteBatch(deletions), from: StoreOrigin())
    return .ok
  }
  // The commit requires that the keys are unchanged since they were read, so that the report is exact.
  var attempts = 0
  while true {
    let found = try await lookUp(keys, in: engine)
    do {
      let commit = try await engine.commit(WriteBatch(found.requirements + deletions), from: StoreOrigin())
      try print(
        .object(
          commit.members + [
            ("removed", .list(found.present.map { .text($0.string) })),
            ("missing", .list(found.missing.map { .text($0.string) })),
          ]))
      return .ok
    } catch let error as StorageError where error.code == .preconditionFailed && attempts < 100 {
      attempts += 1
    }
  }
}

private struct Found {
  var present: [KeyName] = []
  var missing: [KeyName] = []
  var requirements: [WriteBatch.Operation] = []
}

private func lookUp(_ keys: [KeyName], in engine: any StorageEngine) async throws -> Found {
  var found = Found()
  var seen: Set<KeyName> = []
  for key in keys where seen.insert(key).inserted {
    do {
      let summary = try await engine.summary(of: key)
      if summary == nil { found.missing.append(key) } else { found.present.append(key) }
      found.requirements.append(.require(key, summary?.revision))
    } catch let error as StorageError where [.damaged, .unfinished].contains(error.code) && error.key == key {
      // A damaged value exists, and so does one whose removal is unfinished: no precondition is needed.
      found.present.append(key)
    }
  }
  return found
}

private func remove(
  _ prefix: KeyName, from engine: any StorageEngine, _ invocation: Invocation
) async throws -> ExitStatus {
  let (asking, asJSON) = (!invocation.has(.yes), invocation.has(.json))
  let listing = Listing(engine, of: StoreEntry.Summary.self, prefix: prefix)
  let count = asking || asJSON ? try await listing.count().all : 0
  if asking {
    let question = "Remove \(counted(count, "key")) starting with '\(prefix.string.oneLine())'?"
    guard count > 0 else { return try sayNothingStarts(with: prefix, in: engine, asJSON: asJSON) }
    try await invocation.askForConsent(question, otherwise: "Nothing was removed.")
  }
  var batch = WriteBatch()
  batch.clear(prefix: prefix)
  let commit = try await engine.commit(batch, from: StoreOrigin())
  if asJSON { try print(.object(commit.members + [("prefix", .text(prefix.string)), ("removed", .number(count))])) }
  return .ok
}

/// Reports success without a question when no key starts with the prefix.
private func sayNothingStarts(
  with prefix: KeyName, in engine: any StorageEngine, asJSON: Bool
) throws -> ExitStatus {
  guard asJSON else {
    try Output.error.note("No key starts with '\(prefix.string.oneLine())'.")
    return .ok
  }
  try print(
    .object([
      ("revision", .number(engine.latestRevision.rawValue)), ("transaction", .none), ("prefix", .text(prefix.string)),
      ("removed", .number(0)),
    ]))
  return .ok
}
