import CofferCore
public import CofferEncryption
public import Foundation

/// The rotations of a router's encrypted stores, which run at the same time.
///
/// ```swift
/// let rotation = await router.rotateKeys()
/// bar.observedProgress = rotation.progress
/// let report = await rotation.report()
/// if !report.isComplete { log(report.failures) }
/// ```
///
/// It continues if this object is released, and ends with the process. What was interrupted at any point is continued
/// by the next rotation; every value can be read meanwhile.
public final class RouterRotation: Sendable {
  /// The rotation of one store.
  public struct Store: Sendable {
    /// The location of the store.
    public let store: String
    /// The running rotation, or the reason why it could not begin.
    public let rotation: Result<KeyRotation, StorageError>
  }

  /// The stores, in the order of their names.
  public let stores: [Store]
  /// The progress of all stores together, counted in values. Cancelling it cancels every rotation.
  public let progress: Progress

  init(_ stores: [Store]) {
    self.stores = stores
    let progress = Progress(totalUnitCount: 0)
    self.progress = progress
    let states = Locked<[KeyRotation.State?]>(stores.map { _ in nil })
    let rotations = stores.map { try? $0.rotation.get() }
    progress.cancellationHandler = { for rotation in rotations { rotation?.cancel() } }
    for (index, rotation) in rotations.enumerated() {
      guard let rotation else { continue }
      Task {
        for await state in rotation.updates {
          let all = states.withLock { states in
            states[index] = state
            return states.compactMap { $0 }
          }
          progress.totalUnitCount = Int64(all.reduce(0) { $0 + max($1.totalValues, $1.values) })
          progress.completedUnitCount = Int64(all.reduce(0) { $0 + $1.values })
        }
      }
    }
  }

  /// Waits for the end of all rotations. Cancelling the waiting task does not cancel them.
  /// - Returns: the outcome of each store. It is a failure if the rotation could not begin, was cancelled or was ended
  ///   by an error; what was encrypted anew stays so, and the next rotation continues.
  public func report() async -> RouterRotation.Report {
    var outcomes: [RouterRotation.Report.Store] = []
    for store in stores {
      do {
        let report = try await store.rotation.get().result()
        outcomes.append(.init(store: store.store, outcome: .success(report)))
      } catch {
        outcomes.append(.init(store: store.store, outcome: .failure(StoredError.storage(error))))
      }
    }
    return RouterRotation.Report(stores: outcomes)
  }

  /// Ends every rotation after its present commit.
  public func cancel() { progress.cancel() }
}

extension RouterRotation {
  /// The outcome of a ``RouterRotation``.
  public struct Report: Sendable {
    /// The outcome of one store.
    public struct Store: Sendable {
      /// The location of the store.
      public let store: String
      /// What the rotation has done, or why it has ended early.
      public let outcome: Result<KeyRotation.Report, StorageError>
    }

    /// The stores, in the order of their names.
    public let stores: [Store]

    /// The errors of stores whose rotations have ended early, and of single values that stay as they were.
    public var failures: [StorageError] {
      stores.flatMap { store in
        switch store.outcome {
        case .success(let report): report.failures.map { $0.error.locating(at: store.store, key: $0.key) }
        case .failure(let error): [error.locating(at: store.store)]
        }
      }
    }

    /// Whether every value of every store is encrypted under a new key.
    public var isComplete: Bool { failures.isEmpty }
  }
}
