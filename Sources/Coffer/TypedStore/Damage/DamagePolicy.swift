import CofferCore
public import Foundation

/// The treatment of a stored value that is damaged: its bytes are no longer those that were written.
///
/// ```swift
/// static let theme = TypedKey<Theme>(
///   "theme", in: .database(), owner: "Settings", about: "The colours.", damage: .replace(with: .system))
///
/// configuration.damagePolicies[.database()] = .restoreLastGood(from: [lastNight, lastWeek])
/// ```
///
/// By default a read of such a value throws `damaged` until the key is written again. With another policy the read
/// stores a replacement and returns it. The policy of a key or of a call takes precedence over that of its store.
///
/// - The damaged bytes are in the quarantine before they are replaced. If they cannot be copied there, for example on a
///   full disk, nothing is replaced.
/// - The replacement is committed on the condition that the damaged value is still there. Of any number of readers in
///   several processes one stores a replacement, all read it, and a value that another writer commits meanwhile stays.
/// - If a replacement cannot be made, the read throws `damaged` with the reason, and the next read tries again.
/// - ``HandledDamage`` tells what was done. The commit is in the journal like any other.
///
/// A policy applies to a value that is known to be damaged, and to nothing else:
/// - not to bytes that are intact but cannot be decoded (`decodingFailed`), which a newer version of the application
///   may have written;
/// - not to a store that is locked, unavailable or busy, or has lost commits;
/// - not to a file that is damaged as a whole;
/// - not inside a snapshot, whose reads throw `damaged`: read the value before.
///
/// A read inside a transaction throws `damaged`, too, but the transaction then follows the policy of the value and runs
/// its closure again. A policy should not run a transaction of its own store, which may have to wait for that one.
///
/// For a whole store, `Value` is `Data`: the bytes as they are stored.
public struct DamagePolicy<Value: Sendable>: Sendable {
  enum Step: Sendable {
    case replace(@Sendable (DamageReport) async throws -> Value)
    case restore([URL])
  }

  /// What is tried, in this order, until it succeeds.
  let steps: [Step]

  /// Reads throw `damaged` until the key is written again.
  public static var fail: DamagePolicy { DamagePolicy(steps: []) }

  /// The damaged value is replaced by a value.
  public static func replace(with value: Value) -> DamagePolicy { replace { _ in value } }

  /// The damaged value is replaced by the result of a closure.
  ///
  /// Reads wait for the closure for up to 10 s. One that takes longer continues, and stores its value for later reads.
  /// Its own reads of the key throw `damaged`; if it writes the key, its result is not used. Several processes may call
  /// it at once, but only one result is stored. If it throws, reads throw `damaged` with its error as the cause.
  /// - Parameter value: returns the replacement.
  public static func replace(with value: @escaping @Sendable (DamageReport) async throws -> Value) -> DamagePolicy {
    DamagePolicy(steps: [.replace(value)])
  }

  /// The damaged value is replaced by the last good one: that of the newest backup in which it is intact.
  ///
  /// A backup must be one of the same store, made by `backup(to:)`; its value keeps its expiry and attributes. The
  /// backups must be named, since a store keeps no earlier values itself. A store of preferences or a sealed file keeps
  /// a copy of its last state, which replaces a damaged file without any policy. Secrets have no such backups.
  /// - Parameters:
  ///   - backups: the files of the backups, in any order; missing ones are skipped.
  ///   - policy: the policy if none of them has a good value.
  public static func restoreLastGood(from backups: [URL], otherwise policy: DamagePolicy = .fail) -> DamagePolicy {
    DamagePolicy(steps: [.restore(backups)] + policy.steps)
  }

  package var restores: Bool { steps.contains { if case .restore = $0 { true } else { false } } }
}

/// A policy whose values are encoded as they are stored.
package struct DamagePlan: Sendable {
  let steps: [DamagePolicy<EncodedValue>.Step]

  package init<Value>(_ policy: DamagePolicy<Value>, encode: @escaping @Sendable (Value) throws -> EncodedValue) {
    steps = policy.steps.map { step in
      switch step {
      case .replace(let value): .replace { try encode(try await value($0)) }
      case .restore(let backups): .restore(backups)
      }
    }
  }
}
