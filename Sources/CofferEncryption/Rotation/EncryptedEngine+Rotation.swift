public import CofferCore
import Foundation

extension EncryptedEngine {
  /// Encrypts every value under a new key, and then removes the old keys from the key ring.
  ///
  /// The store is read and written meanwhile, by any process; new values are encrypted under the new key from the
  /// beginning. If a rotation is interrupted, every value can be read, and the next one removes its key, too.
  /// Subscribers receive each rewritten value as a change, and its revision is a new one. A value that cannot be read
  /// stays as it is, and so do the keys that it may need.
  /// - Parameter origin: the origin of the commits.
  /// - Returns: the running rotation. It ends with `busy` if another one begins meanwhile.
  /// - Throws: `readOnly`; `unsupported` for a store without listings.
  public func rotate(from origin: StoreOrigin = StoreOrigin()) async throws -> KeyRotation.Run {
    try Self.checkRotation(of: self)
    let clock = clock
    let state = try await ciphers.update { ring in
      // A full ring gets room by the removal of its old keys.
      if ring.entries.count < KeyRing.maximumCount { try ring.addPrimary(now: clock.now()) }
    }
    return rotation(to: state.ring.primary.id, from: origin)
  }

  /// Encrypts every value under the primary key, which was made before, and removes the other keys.
  func rotation(to target: KeyID, from origin: StoreOrigin = StoreOrigin()) -> KeyRotation.Run {
    begin(.newKey, origin, target: target) { engine, report in
      guard report.isComplete else { return engine.cipher.ring.primary.id.short }
      var removed: [String] = []
      let final = try await engine.ciphers.update { ring in
        removed = []
        // Another process may have begun the next rotation, whose old key is still needed.
        guard ring.primary.id == target else { return }
        for entry in ring.entries where entry.state == .retired {
          try ring.remove(entry.id)
          removed.append(entry.id.short)
        }
      }
      report.removedKeys = removed
      report.isScrubbed = await engine.scrubsSmallFiles()
      return final.ring.primary.id.short
    }
  }

  /// The size in bytes up to which a store is scrubbed by a rotation or while it is being closed.
  package static let scrubbedSize = 16 << 20

  /// Scrubs the files unless they are large, which would delay other writers. Nothing is lost if it fails.
  func scrubsSmallFiles() async -> Bool { (try? await base.scrubFiles(upTo: Self.scrubbedSize)) ?? false }

  static func checkRotation(of engine: any StorageEngine) throws {
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The store is open for reading only, and a rotation writes every value.",
        advice: "Nothing was written. Open it where it can be written, with write access.", location: engine.description
      )
    }
    guard engine.capabilities.contains([.listing, .snapshots]) else {
      throw StorageError.unsupported(
        "rotation, which needs listings and snapshots", advice: "Write each value anew.", location: engine.description)
    }
  }

  /// Writes every value anew that needs it.
  /// - Parameter finish: called when all values are done; returns the short id of the primary key.
  func begin(
    _ goal: KeyRotation.Goal, _ origin: StoreOrigin, target: KeyID? = nil,
    finish: @escaping @Sendable (EncryptedEngine, inout KeyRotation.Report) async throws -> String?
  ) -> KeyRotation.Run {
    KeyRotation.Run(KeyRotation.State()) { (completed: $0.values, total: $0.totalValues) }.start { [self] rotation in
      var report = KeyRotation.Report(goal: goal)
      var work = Reencryption(engine: self, rotation: rotation, origin: origin, target: target)
      try await work.run(&report)
      try Task.checkCancellation()
      report.primaryKey = try await finish(self, &report)
      rotation.update { $0.isFinished = true }
      return report
    }
  }
}
