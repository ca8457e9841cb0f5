public import CofferCore

/// The treatment of a stored value that is damaged: its bytes are no longer those that were written.
///
/// ```swift
/// static let theme = TypedKey<Theme>(
///   "theme", in: .database(), owner: "Settings", about: "The colours.", damage: .replace(with: .system))
///
/// configuration.damagePolicies[.database()] = .replace { damage in try await lastGood(damage.key) }
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
/// - ``TypedStore/HandledDamage`` tells what was done. The commit is in the journal like any other.
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
  /// Returns the replacement; `nil` if reads fail.
  let replacement: (@Sendable (DamageReport) async throws -> Value)?

  /// Reads throw `damaged` until the key is written again.
  public static var fail: DamagePolicy { DamagePolicy(replacement: nil) }

  /// The damaged value is replaced by a value.
  public static func replace(with value: Value) -> DamagePolicy { replace { _ in value } }

  /// The damaged value is replaced by the result of a closure, such as the value in a backup.
  ///
  /// Reads wait for the closure for up to 10 s. One that takes longer continues, and stores its value for later reads.
  /// Its own reads of the key throw `damaged`; if it writes the key, its result is not used. Several processes may call
  /// it at once, but only one result is stored. If it throws, reads throw `damaged` with its error as the cause.
  /// - Parameter value: returns the replacement.
  public static func replace(with value: @escaping @Sendable (DamageReport) async throws -> Value) -> DamagePolicy {
    DamagePolicy(replacement: value)
  }
}

/// A policy whose values are encoded as they are stored.
package struct DamagePlan: Sendable {
  let replacement: (@Sendable (DamageReport) async throws -> EncodedValue)?

  package init<Value>(_ policy: DamagePolicy<Value>, encode: @escaping @Sendable (Value) throws -> EncodedValue) {
    guard let value = policy.replacement else {
      replacement = nil
      return
    }
    replacement = { try encode(try await value($0)) }
  }
}
