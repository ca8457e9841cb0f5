public import Foundation

/// The identifier of one logical change. Several commits may carry the same identifier.
public typealias TransactionID = UUID

extension TransactionID {
  /// Returns a new identifier: 64 random bits of this process, then a counter, as a version 8 UUID (RFC 9562).
  ///
  /// Generating 16 random bytes for each commit would cost more than the rest of its preparation.
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

/// The version number of a store, which increases by one with each commit.
///
/// After a loss of commits, the store continues beyond every number that was announced.
public struct StoreRevision: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The revision as a number; 0 for a store that was never written.
  public let rawValue: UInt64

  /// Creates a revision from a number that a store has assigned.
  @inlinable
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The revision of a store that was never written. In an engine without revisions it stands for an unknown one.
  public static let zero = StoreRevision(0)

  /// The next revision.
  public var next: StoreRevision { StoreRevision(rawValue + 1) }

  @inlinable
  public static func < (left: StoreRevision, right: StoreRevision) -> Bool { left.rawValue < right.rawValue }
  public var description: String { String(rawValue) }
}

/// The writer that made a commit, by which a subscriber distinguishes its own commits from those of others.
///
/// A typed store, a vault service and an adapter each have an origin. Two of them receive each other's commits as
/// foreign ones, even over one engine in one process, unless they are created with the same origin.
public struct StoreOrigin: Hashable, Sendable {
  /// The identifier of the writer.
  public let handle: UUID

  /// Creates a new origin, or one with a known identifier.
  public init(handle: UUID = UUID()) { self.handle = handle }
}

/// The failures that a commit survives once it has returned.
public enum StoreDurability: Comparable, Sendable {
  /// Survives the end of the process: the operating system has the bytes, or the server has them in memory. Power loss
  /// there may lose the latest commits, but never a part of one.
  case relaxed
  /// Survives power loss: the storage device has confirmed the bytes, on the server if the engine uses one.
  case full
}
