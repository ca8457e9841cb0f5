import CofferCore
import Foundation

/// A long-running operation on a background thread that stops between two steps once its task is cancelled.
final class BackupWork: Sendable {
  private static let queue = DispatchQueue(label: "coffer.backup", attributes: .concurrent)

  private let isCancelled = Locked(false)
  private let progress: (@Sendable (BackupProgress) -> Void)?

  private init(_ progress: (@Sendable (BackupProgress) -> Void)?) { self.progress = progress }

  /// Runs `body` on a background thread, outside Swift's cooperative thread pool.
  static func run<R: Sendable>(
    _ progress: (@Sendable (BackupProgress) -> Void)?, _ body: @escaping @Sendable (BackupWork) throws -> R
  ) async throws -> R {
    let work = BackupWork(progress)
    return try await withTaskCancellationHandler {
      try await queue.run { try body(work) }
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

/// The progress of a backup or a restoration.
public struct BackupProgress: Hashable, Sendable {
  /// A phase of a backup or a restoration.
  public enum Phase: Hashable, Sendable {
    /// The pages of the database are being copied.
    case copying
    /// The copy is being read and verified.
    case verifying
  }

  /// The current phase.
  public let phase: Phase
  /// The number of bytes that this phase has processed.
  public let bytes: Int
  /// The number of bytes that this phase has to process; it may change while the copy is being made.
  public let totalBytes: Int
}
