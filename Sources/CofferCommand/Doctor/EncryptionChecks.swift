import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// The findings about the encryption of a store: how it is encrypted, and what its key ring waits for.
struct EncryptionChecks {
  /// The age of a data key from which a rotation is advised.
  private static let oldAge: TimeInterval = 365 * 86_400

  let store: String
  let facts: EncryptionFacts

  func all(now: Date = Date()) -> [Finding] {
    let quoted = store.quotedForShell
    var findings: [Finding] = [.ok(store, facts.sentence)]
    if facts.stored.isDegraded {
      findings.append(
        .warning(
          store, "One of the two records of its key ring is damaged, missing or older.",
          fix: "coffer keys \(quoted) repairs it, with the key."))
    }
    if facts.anchor != nil {
      findings.append(
        .ok(store, "has an anchor, which was not compared: coffer verify --anchor-file PATH --store \(quoted)"))
    }
    guard let ring = facts.ring else { return findings }
    if ring.phase != .complete {
      findings.append(.problem(store, StorageError.isUnfinished(ring.phase, location: store)))
    }
    let retired = ring.entries.filter { $0.state == .retired }.count
    if retired > 0 {
      findings.append(
        .warning(
          store, "Its key ring has \(counted(retired, "old data key")): a rotation is unfinished.",
          fix: "Finish it: coffer rotate \(quoted)"))
    }
    if let primary = ring.entries.first(where: { $0.state == .primary }),
      now.timeIntervalSince(primary.created) > Self.oldAge
    {
      findings.append(
        .warning(
          store, "Its data key is \(age(of: primary.created, at: now)) old.", fix: "coffer rotate \(quoted)"))
    }
    return findings
  }
}
