public import CofferEncryption

extension StorageRouter {
  /// The outcome of the rotation of a router's stores.
  public struct RotationReport: Sendable {
    /// The outcome of one store.
    public struct Store: Sendable {
      /// The location of the store.
      public let store: String
      /// What the rotation has done, or why it could not begin or has ended early. What was encrypted anew stays so,
      /// and the next rotation continues.
      public let outcome: Result<KeyRotation.Report, StorageError>
    }

    /// The stores, in the order of their names.
    public internal(set) var stores: [Store] = []

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
