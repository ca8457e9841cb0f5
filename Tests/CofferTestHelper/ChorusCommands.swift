import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import Foundation

/// Commits `count` times as one of several concurrent writers while it subscribes on two handles, and prints what each
/// handle has received. Fails on any missing, repeated or misattributed commit.
func sing(_ kind: String, _ path: String, voice: UInt8, of voices: Int, count: Int) async throws {
  let engine = try await openStore(path, kind)
  let other = try await openStore(path, kind)
  let origin = StoreOrigin()
  let ears = [
    Ear("the writer's handle", engine.changes(since: nil), own: (voice, origin), voices: voices, count: count),
    Ear("the other handle", other.changes(since: nil), own: nil, voices: voices, count: count),
  ]
  say("ready")
  _ = readLine()
  let listening = ears.map { ear in Task { try await ear.listen() } }
  for number in 0..<count {
    // Few keys, so that single-file stores stay small; the transaction identifies the commit.
    let key = try KeyName("voice/\(voice)/\(number % 20)")
    let batch = WriteBatch(
      [.put(key, Data("\(number)".utf8))], transaction: Ear.transaction(voice, number),
      durability: number % 2 == 0 ? .full : .relaxed)
    try await engine.commit(batch, from: origin)
  }
  say("sung")
  for task in listening { say(try await task.value) }
  try await engine.close()
  try await other.close()
}

/// A subscription on one handle and the commits expected from it.
private struct Ear: Sendable {
  let name: String
  let changes: AsyncStream<StoreChange>
  let own: (voice: UInt8, origin: StoreOrigin)?
  let voices: Int
  let count: Int

  init(_ name: String, _ changes: AsyncStream<StoreChange>, own: (UInt8, StoreOrigin)?, voices: Int, count: Int) {
    self.name = name
    self.changes = changes
    self.own = own
    self.voices = voices
    self.count = count
  }

  static func transaction(_ voice: UInt8, _ number: Int) -> UUID {
    let bytes = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
    return UUID(uuid: (0xC0, voice, 0, 0, bytes[0], bytes[1], bytes[2], bytes[3], 0, 0, 0, 0, 0, 0, 0, 1))
  }

  /// Expects each commit of each writer once and in order, with its key, and only the handle's own ones as own.
  func listen() async throws -> String {
    var next = [UInt8: Int]()
    var last = StoreRevision.zero
    var total = 0
    for await change in changes {
      guard case .commit(let commit) = change else { throw TestFailure("\(name) received a reload") }
      guard let id = commit.transaction?.uuid, id.0 == 0xC0 else { throw TestFailure("\(name) received \(commit)") }
      let number = Int(UInt32(id.4) << 24 | UInt32(id.5) << 16 | UInt32(id.6) << 8 | UInt32(id.7))
      guard number == next[id.1, default: 0] else {
        throw TestFailure("\(name) received commit \(number) of voice \(id.1) instead of \(next[id.1, default: 0])")
      }
      guard commit.revision > last else { throw TestFailure("\(name) received \(commit.revision) after \(last)") }
      guard commit.changed.contains(try KeyName("voice/\(id.1)/\(number % 20)")) else {
        throw TestFailure("\(name) received other keys: \(commit)")
      }
      let isOwn = own.map { $0.voice == id.1 } ?? false
      guard (own.map { commit.origin == $0.origin } ?? false) == isOwn, commit.origin != nil else {
        throw TestFailure("\(name) attributed a commit of voice \(id.1) to the wrong origin")
      }
      (next[id.1], last, total) = (number + 1, commit.revision, total + 1)
      if total == voices * count { return "heard \(total)" }
    }
    throw TestFailure("\(name) received only \(total)")
  }
}
