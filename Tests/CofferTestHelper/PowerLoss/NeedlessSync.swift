import CofferTestSupport
import Foundation

/// Why a replay need not notice that a sync is missing or late. Each row is about changes that may then be lost.
struct NeedlessSync {
  /// A regular expression for the path of the synced file and ` first` before anything is acknowledged or ` checkpoint`
  /// before one, `:`, the kind of the change and the path that it changes.
  private let change: String
  private var isLate = false
  /// Whether it applies only if another sync makes the change durable before anything is acknowledged.
  private var isCovered = true
  private let reason: String

  private static let table = [
    NeedlessSync(
      change: "-wal first( checkpoint)?:|-wal:(header|truncate) ",
      reason: "The header of a log and the tables of a new database have no values."),
    NeedlessSync(
      change: "-wal( first)? checkpoint:", isCovered: false,
      reason: "Without a sync, a log has only records of finished work, and the checkpoint follows at once."),
    NeedlessSync(
      change: "-journal( first)?( checkpoint)?:", isCovered: false,
      reason: "The journal for a new database, or for one that is put aside, has no values."),
    NeedlessSync(
      change: ":(create .*-journal|unlink .*-restore-journal|(create|unlink) .*(-(wal|shm|wake|lock)|/owners/[^/]*))$",
      isCovered: false, reason: "SQLite's files are created again, as are locks, counters and the marks of processes."),
    NeedlessSync(change: "copy\\.db-wal", reason: "What is copied is whole only when it is acknowledged."),
    NeedlessSync(change: ":mkdir ", reason: "A new store has directories before it has values."),
    NeedlessSync(
      change: ":(create|unlink|link) .*(\\.tmp|secrets\\.sealed|copy\\.db|coffer-restore|coffer-new)$",
      reason: "A new file is empty, or renamed only after a further sync."),
    NeedlessSync(
      change: ":((rename|unlink) (?!.*-journal$)|link .*/retained/)",
      reason: "The journal repeats what was published until that is synced once more."),
    NeedlessSync(
      change: ":.* .*\\.coffer/(names/|staged/.*\\.new$)", isCovered: false,
      reason: "The name of a long key is read only if the journal is lost."),
    NeedlessSync(
      change: ":((create|rename|exchange) .*/(copy|seal)(\\.new)?|unlink .*/(staged/[^/]*|copy\\.new))$",
      isCovered: false,
      reason: "The copy may be an earlier one, the seal missing, and a published value still staged."),
    NeedlessSync(
      change: "/names/.*:create .*/staged/[^/]*$", isCovered: false,
      reason: "A staged value counts once the journal names it, after a sync of its own."),
    NeedlessSync(
      change: "/copy:(write|truncate) ", isLate: true, reason: "A copy that is not whole is not used."),
    NeedlessSync(
      change: "/emoji.*:(create .*/staged/|truncate )", isCovered: false, reason: "An empty value has no content."),
  ]

  /// Returns the reason for each change that may be lost; `nil` if there is one that a replay must notice.
  static func reasons(
    for program: DeviceRecording, _ exposures: [PowerLoss.Exposure]
  ) -> Set<String>? {
    guard let delay = program.delay else { return nil }
    let count = program.count("ack", before: delay.sync)
    let acknowledgement = program.operations[delay.sync...].firstIndex { $0.kind == .say && $0.text == "ack\n" }
    let isCovered = acknowledgement.map { PowerLoss.Exposure.isNone(of: program, before: $0 + 1) } ?? true
    let next = program.operations[delay.sync...].firstIndex { !$0.isSync && $0.kind != .create }
    let isCheckpoint = next.map(program.path)?.hasSuffix(".db") == true
    let stage = (count == 0 ? " first" : "") + (isCheckpoint ? " checkpoint" : "")
    var reasons: Set<String> = []
    for index in Set(exposures.flatMap(\.operations)) {
      let operation = program.operations[index]
      let change = "\(program.path(delay.sync))\(stage):\(kind(operation)) \(program.path(index))"
      let row = table.first { row in
        (isCovered || !row.isCovered) && (delay.until != .max || !row.isLate)
          && change.range(of: row.change, options: .regularExpression) != nil
      }
      guard let row else { return nil }
      reasons.insert(row.reason)
    }
    return reasons
  }

  private static func kind(_ operation: DeviceOperation) -> String {
    switch operation.kind {
    case .create where operation.offset == 1: "mkdir"
    // The header of a write-ahead log has 32 bytes.
    case .write where operation.offset == 0 && operation.bytes.count == 32: "header"
    default: "\(operation.kind)"
    }
  }
}
