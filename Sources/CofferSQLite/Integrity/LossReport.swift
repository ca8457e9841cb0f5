public import CofferCore
public import Foundation

/// A report of acknowledged commits that a store no longer has, because the end of its log was cut or damaged, or
/// because the store was replaced by an older copy.
///
/// The loss is detected by the wake-up file beside the store, which contains the newest announced revision. The store
/// opens and reports the loss until it is accepted with `coffer verify --accept-loss` or ``SQLiteEngine/acceptLoss()``.
public struct LossReport: Hashable, Sendable {
  /// The revision of the newest commit before the lost ones.
  public let after: StoreRevision
  /// The revision of the newest commit that was announced, which is the last lost one.
  public let upTo: StoreRevision
  /// The revision of the newest commit that had been synced.
  ///
  /// If it is not greater than `after`, only `.relaxed` commits were lost, which power loss can cause.
  public let durableUpTo: StoreRevision
  /// The time at which the loss was detected.
  public let foundAt: Date

  init(after: StoreRevision, upTo: StoreRevision, durableUpTo: StoreRevision, foundAt: Date) {
    (self.after, self.upTo, self.durableUpTo, self.foundAt) = (after, upTo, durableUpTo, foundAt)
  }

  /// Whether commits were lost that had been acknowledged as surviving power loss.
  public var includesDurable: Bool { durableUpTo > after }

  /// A description of the loss, as a sentence.
  public var message: String {
    let range = after.next == upTo ? "revision \(upTo)" : "revisions \(after.next) to \(upTo)"
    return includesDurable
      ? "Acknowledged commits were lost: \(range); those up to \(durableUpTo) had been synced to disk."
      : "The latest relaxed commits were lost, as after a power failure: \(range)."
  }

  /// Returns the union with a later loss that was detected before this one was accepted.
  func joined(_ later: LossReport) -> LossReport {
    LossReport(
      after: min(after, later.after), upTo: later.upTo, durableUpTo: max(durableUpTo, later.durableUpTo),
      foundAt: foundAt)
  }

  // MARK: In the database

  static let names = ["loss_after", "loss_up_to", "loss_durable", "loss_found_at"]

  init?(_ meta: StoreMeta) {
    let numbers = meta.loss.compactMap { $0 }
    guard numbers.count == Self.names.count else { return nil }
    self.init(
      after: StoreRevision(UInt64(bitPattern: numbers[0])), upTo: StoreRevision(UInt64(bitPattern: numbers[1])),
      durableUpTo: StoreRevision(UInt64(bitPattern: numbers[2])), foundAt: Date(unixMilliseconds: numbers[3]))
  }

  func write(_ connection: Connection) throws {
    let numbers = [after.rawValue, upTo.rawValue, durableUpTo.rawValue, UInt64(foundAt.unixMilliseconds)]
    for (name, number) in zip(Self.names, numbers) {
      try connection.execute("INSERT OR REPLACE INTO coffer_meta VALUES ('\(name)', \(number))")
    }
  }

  static func forget(_ connection: Connection) throws {
    for name in names { try connection.execute("DELETE FROM coffer_meta WHERE name = '\(name)'") }
  }
}
