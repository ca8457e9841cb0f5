public import CofferCore
public import Foundation

/// Acknowledged commits that a store does not have any more: the end of its log was cut or damaged, or an older copy of
/// the store was put in its place.
///
/// The wake-up file beside the store proves it: it says how far the commits had come. The store opens and reports the
/// loss until somebody accepts it, with `coffer verify --accept-loss` or ``SQLiteEngine/acceptLoss()``.
public struct LossReport: Hashable, Sendable {
  /// The newest commit that is there; those after it are gone.
  public let after: StoreRevision
  /// The newest commit that was announced.
  public let upTo: StoreRevision
  /// The newest commit whose sync had returned. When it is not beyond `after`, only `.relaxed` commits were lost, which
  /// power loss may take.
  public let durableUpTo: StoreRevision
  /// When it was noticed.
  public let foundAt: Date

  init(after: StoreRevision, upTo: StoreRevision, durableUpTo: StoreRevision, foundAt: Date) {
    (self.after, self.upTo, self.durableUpTo, self.foundAt) = (after, upTo, durableUpTo, foundAt)
  }

  /// Whether commits are gone that were promised to survive power loss.
  public var includesDurable: Bool { durableUpTo > after }

  /// What was lost, as a sentence.
  public var message: String {
    let range = after.next == upTo ? "revision \(upTo)" : "revisions \(after.next) to \(upTo)"
    return includesDurable
      ? "Commits that were stored are gone: \(range), of which those up to \(durableUpTo) had survived power loss."
      : "The latest relaxed commits are gone, as after power loss: \(range)."
  }

  /// Two losses, of which the second was found before the first was accepted.
  func joined(_ later: LossReport) -> LossReport {
    LossReport(
      after: min(after, later.after), upTo: later.upTo, durableUpTo: max(durableUpTo, later.durableUpTo),
      foundAt: foundAt)
  }

  // MARK: In the database

  private static let names = ["loss_after", "loss_up_to", "loss_durable", "loss_found_at"]

  static func read(_ connection: Connection) throws -> LossReport? {
    let numbers = try names.compactMap { try connection.number("SELECT value FROM coffer_meta WHERE name = '\($0)'") }
    guard numbers.count == names.count else { return nil }
    return LossReport(
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
