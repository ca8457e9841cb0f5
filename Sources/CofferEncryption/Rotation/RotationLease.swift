import CofferCore
import Foundation

/// The agreement of several processes that one of them rotates a store by itself: a system record with the date until
/// which the others wait.
///
/// It saves work and protects nothing: two rotations at once are correct. A damaged record counts as none, and a date
/// in the far future, too.
final class RotationLease: Sendable {
  /// The time in seconds for which the record is valid. Its holder renews it after half of that.
  static let duration: TimeInterval = 120
  /// The time in seconds after a rotation that could not read every value, in which none follows: a day.
  static let pause: TimeInterval = 86_400

  private let engine: any StorageEngine
  private let origin = StoreOrigin()
  /// The revision of the record, while this process holds it.
  private let held = Locked<StoreRevision?>(nil)

  init(_ engine: any StorageEngine) { self.engine = engine }

  /// Takes the lease.
  /// - Returns: `nil`, or the date until which another process has it.
  func take(at now: Date) async throws -> Date? {
    let earlier: SystemRecord?
    do { earlier = try await engine.record(.rotation) } catch let error as StorageError where error.code == .damaged {
      try await write(until: now + Self.duration, after: [])
      return nil
    }
    if let end = earlier.flatMap({ Self.date(in: $0.content) }), end > now, end <= now + Self.pause { return end }
    do {
      try await write(until: now + Self.duration, after: [.requireRecord(.rotation, earlier?.revision)])
      return nil
    } catch let error as StorageError where error.code == .preconditionFailed {
      return now + Self.duration
    }
  }

  /// Renews the lease until the returned task is cancelled.
  func renewal(_ clock: StoreClock) -> Task<Void, Never> {
    Task {
      while !Task.isCancelled {
        let date = clock.now() + Self.duration / 2
        while clock.now() < date {
          do { try await clock.sleep(date) } catch { return }
        }
        guard let revision = held.withLock({ $0 }) else { return }
        // Another process may have taken it, if this one was suspended: then both continue.
        try? await write(until: clock.now() + Self.duration, after: [.requireRecord(.rotation, revision)])
      }
    }
  }

  /// Gives the lease back.
  /// - Parameter date: the date until which no process rotates the store by itself; `nil` for none.
  func end(at date: Date?) async throws {
    guard let revision = held.withLock({ $0 }) else { return }
    // Not a child of this task, which may be cancelled.
    try await Task { [self] in
      let change: WriteBatch.Operation =
        date.map { .putRecord(.rotation, Self.content($0)) } ?? .deleteRecord(.rotation)
      do {
        try await engine.commit(WriteBatch([.requireRecord(.rotation, revision), change]), from: origin)
      } catch let error as StorageError where error.code == .preconditionFailed {
        // Another process has taken it.
      }
    }.value
  }

  private func write(until date: Date, after conditions: [WriteBatch.Operation]) async throws {
    let batch = WriteBatch(conditions + [.putRecord(.rotation, Self.content(date))])
    let commit = try await engine.commit(batch, from: origin)
    held.withLock { $0 = commit.revision }
  }

  private static func content(_ date: Date) -> Data {
    var content = Data([1])
    content.append(number: date.milliseconds)
    return content
  }

  private static func date(in content: Data) -> Date? {
    guard content.count == 9, content.first == 1 else { return nil }
    let milliseconds: Int64 = content.number(at: 1)
    return milliseconds.magnitude <= Date.millisecondLimit ? Date(milliseconds: milliseconds) : nil
  }
}
