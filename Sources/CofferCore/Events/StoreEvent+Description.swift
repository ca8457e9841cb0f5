extension StoreEvent: CustomStringConvertible {
  public var description: String { "\(location): \(kind)" }
}

extension StoreEvent.Kind: CustomStringConvertible {
  /// A lower-case clause, such as `committed revision 17 (2 operations, 340 bytes) in 1.204 ms`.
  public var description: String {
    switch self {
    case .opened(let opening):
      "opened at revision \(opening.revision)\(opening.isReadOnly ? " for reading only" : "")"
        + " in \(opening.duration.inMilliseconds)"
    case .closed: "closed"
    case .committed(let commit): commit.text
    case .failed(let failure):
      "\(failure.operation) failed (\(failure.code?.description ?? "other error"))"
        + " in \(failure.duration.inMilliseconds)"
    case .checkpointed(let checkpoint):
      "checkpointed \(counted(checkpoint.pages, "page")) in \(checkpoint.duration.inMilliseconds)"
        + (checkpoint.delayedCommits ? ", delaying commits" : "")
    case .damaged(let report): report.text
    case .recovered(let report): report.text
    case .retried(let retry): "\(retry.subject) repeated (\(retry.code)), attempt \(retry.attempt)"
    case .availabilityChanged(let availability): availability.text
    case .rolledBack(let rollback):
      "is an older copy: at revision \(rollback.found), and its anchor at \(rollback.anchored)"
    case .keysReplaced(let replacement): replacement.text
    }
  }
}

extension StoreEvent.Commit {
  fileprivate var text: String {
    let size = bytes.map { ", \(counted($0, "byte"))" } ?? ""
    let group = groupSize.map { $0 > 1 ? ", in a group of \($0)" : "" } ?? ""
    let what = isSweep ? "swept expired values in" : "committed"
    return
      "\(what) revision \(revision) (\(counted(operations, "operation"))\(size)\(group)) in \(duration.inMilliseconds)"
  }
}

extension DamageReport {
  fileprivate var text: String {
    let subject = key.map { "the value of '\($0.string.escapingControlCharacters)' (revision \(revision))" } ?? "a file"
    return "found \(subject) damaged\(isCopyUsed ? ", and uses its copy" : "")"
  }
}

extension StoreEvent.KeyReplacement {
  fileprivate var text: String {
    let what =
      switch reason {
      case .rotation: "wrote \(counted(values, "value")) anew and removed \(counted(removedKeys.count, "key"))"
      case .shredding: "destroyed \(counted(removedKeys.count, "key")) and erased \(counted(values, "value"))"
      }
    return what + (primaryKey.map { "; the primary key is \($0)" } ?? "") + " (\(duration.inMilliseconds))"
  }
}

extension RecoveryReport {
  fileprivate var text: String {
    "recovered: \(completed) completed, \(edited) edited, \(quarantined) quarantined, \(lost.count) lost"
      + (wasRebuilt ? ", journal rebuilt" : "")
  }
}

extension StoreAvailability {
  fileprivate var text: String {
    switch self {
    case .available: "is available"
    case .recovered(let reason): "is available: \(reason)"
    case .unavailable(let reason): "is unavailable: \(reason)"
    }
  }
}

extension Duration {
  /// The duration in milliseconds with up to three decimals, such as `1.204 ms`.
  fileprivate var inMilliseconds: String {
    let (seconds, attoseconds) = components
    let microseconds = Double(seconds) * 1_000_000 + Double(attoseconds) / 1e12
    return "\(microseconds.rounded() / 1_000) ms"
  }
}

private func counted(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
