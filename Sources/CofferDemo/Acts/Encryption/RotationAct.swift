import Coffer
import CofferCore
import CofferEncryption
import Foundation

/// Rotates the key of an encrypted store while it is being written, kills the rotation, and rotates again.
func rotationAct(_ stage: Stage) async throws {
  let vault = try stage.vault()
  let engine = try await Vault.open(vault.encrypted, key: vault.key)
  try await closing(engine) { engine in
    let written = try await killRotation(of: vault, whileWritingTo: engine)
    stage.console.line("   A second process rotates, and is killed in the middle. Meanwhile this one has")
    stage.console.line("   saved \(counted(written.count, "new order")).")
    let before = try await vault.readable(in: engine)
    stage.check(before == vault.orders.count, "orders read between two keys", count: before)

    let report = try await engine.rotate().result()
    stage.console.line("   The next run writes \(counted(report.changedValues, "value")) anew, and removes old keys.")
    stage.check(report.isComplete, "rotation ended after a kill", count: 1)
    stage.check(report.removedKeys.count == 2, "old keys removed when no value needed them", count: 2)
    let after = try await vault.readable(in: engine)
    stage.check(after == vault.orders.count, "orders read under the new key", count: after)
    let kept = zip(written, try await engine.entries(written.map(\.key))).filter { $0.value == $1?.value }.count
    stage.check(kept == written.count && kept > 0, "orders saved during the rotation, all stored", count: kept)
    stage.summary.rotationKills = 1
    stage.summary.readAfterRotation = after
  }
}

/// Starts a rotation in a second process, kills it before it ends, and returns what was saved meanwhile.
private func killRotation(
  of vault: Vault, whileWritingTo engine: EncryptedEngine
) async throws -> [(key: KeyName, value: Data)] {
  let child = try Child(.rotate, [vault.encrypted, vault.key.path])
  defer { child.stop() }
  var written: [(key: KeyName, value: Data)] = []
  var isThere = false
  while !isThere || written.count < 50 {
    let number = written.count
    let (key, value) = (try KeyName("live/\(number)"), Data("order \(number)".utf8))
    try await engine.commit(WriteBatch([.put(key, value)], durability: .relaxed), from: StoreOrigin())
    written.append((key, value))
    // The first line says that the rotation has begun, the second one that it is in the middle of a store.
    if number.isMultiple(of: 20), !isThere { isThere = try child.line() == "there" }
  }
  child.kill()
  return written
}

/// An engine that blocks its caller for ever before it commits for the given time, so that it can be killed there.
final class BlockingEngine: EngineDecorator {
  let base: any StorageEngine
  private let commits: Locked<Int>
  private let block: @Sendable () -> Void

  init(_ base: any StorageEngine, afterCommits commits: Int, _ block: @escaping @Sendable () -> Void) {
    self.base = base
    self.commits = Locked(commits)
    self.block = block
  }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let isLast = commits.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { block() }
    return try await base.commit(batch, from: origin)
  }
}
