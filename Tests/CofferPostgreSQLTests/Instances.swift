import CofferCore

/// Numbers for configurations that share no connections, as in several processes.
final class Instances: Sendable {
  private static let last = Locked(0)

  func next() -> Int {
    Self.last.withLock { last in
      last += 1
      return last
    }
  }
}
