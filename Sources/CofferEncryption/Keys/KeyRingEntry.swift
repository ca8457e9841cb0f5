import CofferCore
package import Foundation

/// A data key in a key ring, with its history.
package struct KeyRingEntry: Sendable {
  /// What a key is used for.
  package enum State: UInt8, Hashable, Sendable, CaseIterable {
    /// The key encrypts what is written.
    case primary = 1
    /// The key only decrypts what was written before.
    case retired = 2
    /// The key's material was destroyed; only its identity is left.
    case destroyed = 3
  }

  package let id: KeyID
  package internal(set) var state: State
  /// The date of creation, to the millisecond.
  package let created: Date
  /// The date when the key was retired or destroyed, to the millisecond; `nil` for the primary key.
  package internal(set) var changed: Date?
  /// The key; `nil` if it was destroyed.
  package internal(set) var key: DataKey?

  init(_ key: DataKey, _ state: State, created: Date, changed: Date? = nil) {
    id = key.id
    self.key = key
    self.state = state
    self.created = created.wholeMilliseconds
    self.changed = changed?.wholeMilliseconds
  }

  /// Creates the entry of a destroyed key.
  init(destroyed id: KeyID, created: Date, changed: Date?) {
    self.id = id
    key = nil
    state = .destroyed
    self.created = created.wholeMilliseconds
    self.changed = changed?.wholeMilliseconds
  }
}

extension KeyRingEntry: Equatable {
  /// Compares everything; keys by their ids, which commit to them.
  package static func == (left: KeyRingEntry, right: KeyRingEntry) -> Bool {
    left.id == right.id && left.state == right.state && left.created == right.created
      && left.changed == right.changed && left.key?.id == right.key?.id
  }
}

extension KeyRingEntry: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "key \(id.short), \(state)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension StorageError {
  /// Returns the error for a key that is not in the ring.
  /// - Parameter entry: the entry of a destroyed key.
  static func missingKey(_ id: KeyID, _ entry: KeyRingEntry?) -> StorageError {
    guard let entry else {
      return StorageError(
        .keyUnavailable, "The key \(id.short) is not in the key ring of the store.",
        advice: "What it encrypted cannot be read: it belongs to another store, or the key was removed.")
    }
    let date = entry.changed.map { " on \($0.formatted(.iso8601))" } ?? ""
    return StorageError(
      .keyUnavailable, "The key \(id.short) was destroyed\(date).",
      advice: "What it encrypted is erased for good: write the value again, or delete it.")
  }
}

extension Date {
  /// The date without fractions of milliseconds, as it is stored.
  var wholeMilliseconds: Date { Date(milliseconds: milliseconds) }

  /// The milliseconds since 1970.
  var milliseconds: Int64 {
    let limit = Double(Self.millisecondLimit)
    return Int64(max(-limit, min(limit, (timeIntervalSince1970 * 1_000).rounded())))
  }

  /// The largest number of milliseconds, in the year 5138: up to it a `Date` has them exactly.
  static let millisecondLimit: Int64 = 100_000_000_000_000

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
