import Coffer
import CofferEncryption
import CofferTerminal

/// Implements `coffer shred`, which erases the values of an encrypted store by destroying their keys.
func shredStore(_ invocation: Invocation) async throws -> ExitStatus {
  let (isDryRun, continues) = (invocation.has(.dryRun), invocation.has(.continue))
  guard !isDryRun || !continues else {
    throw Command.mistake("'shred' takes --dry-run or --continue, not both.", .shred)
  }
  // What is continued was confirmed before, and nothing else is erased.
  if !isDryRun, !continues {
    let store = try invocation.onlyLocation().description.oneLine()
    try await invocation.askForConsent(
      "Erase all encrypted values of \(store) for good?", otherwise: "Nothing was erased.")
  }
  // What is only forecast must not continue an earlier erasure, as opening for writing does.
  return try await withKeyRing(invocation, access: isDryRun ? .readOnly : .readWriteOrReadOnly) { engine in
    let report = try await continues ? engine.continueShredding() : engine.shred(dryRun: isDryRun)
    if invocation.has(.json) {
      try print(report.json(engine.description))
    } else {
      for obstacle in report.obstacles {
        try? Output.error.note(
          "The files may still hold the destroyed keys: \(obstacle.message) Finish it with 'coffer shred --continue' "
            + "and the same store and key, which erases nothing else.",
          after: "coffer:")
      }
      let isIdle = continues && report.destroyedKeys.isEmpty
      try? Output.error.note(isIdle ? "There is nothing to continue." : report.sentence)
    }
    return report.isComplete ? .ok : .failure
  }
}

extension ShredReport {
  fileprivate var sentence: String {
    let quarantined = quarantinedValues == 0 ? "" : ", \(counted(quarantinedValues, "value")) in the quarantine"
    let extent =
      "\(counted(values, "value")) (\(byteCount(bytes)))\(quarantined) and \(counted(destroyedKeys.count, "key"))"
    return isDryRun ? "This would erase \(extent). Nothing was changed." : "Erased \(extent). \(Self.limits)"
  }

  fileprivate func json(_ store: String) -> JSON {
    .object([
      ("store", .text(store)), ("dryRun", .flag(isDryRun)), ("values", .number(values)), ("bytes", .number(bytes)),
      ("quarantined", .number(quarantinedValues)), ("destroyedKeys", .list(destroyedKeys.map(JSON.text))),
      (
        "obstacles",
        .list(
          obstacles.map { .object([("code", .text($0.code.description)), ("message", .text($0.message))]) })
      ),
    ])
  }
}
