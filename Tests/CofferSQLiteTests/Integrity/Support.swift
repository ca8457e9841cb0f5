import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation

/// A store whose writer was killed: its log has the newest commits. "p/left/N" and "p/right/N" for N below `commits`.
func killedStore(commits: Int, durability: String = "full") throws -> TemporaryDirectory {
  let directory = try TemporaryDirectory()
  let helper = try HelperProcess(["write", directory.path("store.db"), durability])
  while try helper.line() != "ack \(commits - 1)" {}
  helper.kill()
  helper.wait()
  return directory
}

/// A closed store with values under "key0" and so on.
func closedStore(values: Int) async throws -> TemporaryDirectory {
  let directory = try TemporaryDirectory()
  let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
  for index in 0..<values {
    try await engine.commit(
      WriteBatch([.put(StoreKey("key\(index)"), Data("value-\(index)!".utf8))], durability: .relaxed),
      from: StoreOrigin())
  }
  try await engine.close()
  return directory
}

extension TemporaryDirectory {
  func bytes(_ name: String = "store.db") throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// Changes a file in its place, as a disk would: same inode, same name.
  func change(_ name: String = "store.db", _ body: (inout Data) throws -> Void) throws {
    var bytes = try bytes(name)
    try body(&bytes)
    let file = try FileHandle(forUpdating: url.appendingPathComponent(name))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
  }
}

/// What a store says of itself first.
func firstAvailability(_ engine: any StorageEngine) async -> StoreAvailability? {
  for await availability in engine.availability() { return availability }
  return nil
}

let logFrame = 4_096 + 24
