import Foundation

/// How long the bytes of a value are kept after its migration, for a rollback and for the previous version of the
/// application.
public enum OldFormPolicy: Hashable, Sendable {
  /// Until the value is saved again or removed; the default.
  case untilReplaced
  /// For a time after the migration, or until the value is saved again or removed.
  case `for`(Duration)
  /// Not at all: the migration cannot be rolled back.
  case never
}
