import CofferLocks
public import Foundation

/// Names one logical change. Several commits may carry the same one.
public typealias TransactionID = UUID

extension TransactionID {
  /// A fresh identifier: 64 bits that are random for this process, then a counter, as a version 8 UUID (RFC 9562).
  ///
  /// Drawing 16 random bytes for each commit would cost more than the rest of its preparation.
  package static func next() -> TransactionID {
    let (process, number) = transactionCounter.withLock { counter in
      counter.number += 1
      return (counter.process, counter.number)
    }
    let high = (process & ~0xF000) | 0x8000
    let low = (number & ~(3 << 62)) | (2 << 62)
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

private let transactionCounter = Locked((process: UInt64.random(in: .min ... .max), number: UInt64(0)))

/// A store's version number: every commit gets the next one.
public struct StoreRevision: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number. A store that was never written is at 0.
  public let rawValue: UInt64

  /// Wraps a number that a store gave out.
  @inlinable
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The revision of a store that was never written. For an engine that keeps no revisions: unknown.
  public static let zero = StoreRevision(0)

  /// The next revision.
  public var next: StoreRevision { StoreRevision(rawValue + 1) }

  @inlinable
  public static func < (left: StoreRevision, right: StoreRevision) -> Bool { left.rawValue < right.rawValue }
  public var description: String { String(rawValue) }
}

/// Says which open handle made a commit, so that a subscriber can tell others' changes from its own.
///
/// One per open handle, not per process: two handles in one process hear each other.
public struct StoreOrigin: Hashable, Sendable {
  /// The handle's own identifier.
  public let handle: UUID

  /// A fresh origin, or a known one.
  public init(handle: UUID = UUID()) { self.handle = handle }
}

/// What a finished save has survived.
public enum StoreDurability: Comparable, Sendable {
  /// A killed process: the operating system has the bytes, or the server has them in its memory. Power loss there may
  /// take the latest commits, never part of one.
  case relaxed
  /// Power loss: the storage device has confirmed the bytes, that of the server where the engine has one.
  case full
}
