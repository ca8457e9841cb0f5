import CofferCore
import CofferLocks
import Foundation

/// A long piece of work on a thread of its own, which a cancelled task stops between two steps.
final class BackupWork: Sendable {
  private static let queue = DispatchQueue(label: "coffer.backup", attributes: .concurrent)

  private let isCancelled = Locked(false)
  private let progress: (@Sendable (BackupProgress) -> Void)?

  private init(_ progress: (@Sendable (BackupProgress) -> Void)?) { self.progress = progress }

  /// Runs `body` beside the threads that tasks share.
  static func run<R: Sendable>(
    _ progress: (@Sendable (BackupProgress) -> Void)?, _ body: @escaping @Sendable (BackupWork) throws -> R
  ) async throws -> R {
    let work = BackupWork(progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { continuation.resume(with: Result { try body(work) }) }
      }
    } onCancel: {
      work.isCancelled.withLock { $0 = true }
    }
  }

  func checkCancellation() throws {
    if isCancelled.withLock({ $0 }) { throw CancellationError() }
  }

  func report(_ phase: BackupProgress.Phase, _ pages: Int, of all: Int, _ pageSize: Int) {
    progress?(BackupProgress(phase: phase, bytes: pages * pageSize, totalBytes: all * pageSize))
  }
}

/// How far a backup or its restoration has come.
public struct BackupProgress: Hashable, Sendable {
  /// What is being done.
  public enum Phase: Hashable, Sendable {
    /// Pages are copied.
    case copying
    /// What was copied is read and checked.
    case verifying
  }

  /// What is being done.
  public let phase: Phase
  /// How many bytes of it are done.
  public let bytes: Int
  /// How many there are in all; it may change while the copy runs.
  public let totalBytes: Int
}
