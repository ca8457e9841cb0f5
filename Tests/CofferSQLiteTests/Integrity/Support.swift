import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation

/// Returns a store whose writer was killed, with its newest commits in the log: at least "p/left/N" and "p/right/N" for
/// N below `commits`.
func killedStore(commits: Int, durability: String = "full") throws -> TemporaryDirectory {
  let directory = try TemporaryDirectory()
  let helper = try HelperProcess(["write", directory.path("store.db"), durability])
  while try helper.line() != "ack \(commits - 1)" {}
  helper.kill()
  helper.wait()
  return directory
}

/// Returns a closed store with values under "key0", "key1" and so on.
func closedStore(values: Int) async throws -> TemporaryDirectory {
  let directory = try TemporaryDirectory()
  let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
  for index in 0..<values {
    try await engine.commit(
      WriteBatch([.put(KeyName("key\(index)"), Data("value-\(index)!".utf8))], durability: .relaxed),
      from: StoreOrigin())
  }
  try await engine.close()
  return directory
}

extension TemporaryDirectory {
  func bytes(_ name: String = "store.db") throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// Changes the content of a file without changing its inode or name, like damage on a disk.
  func change(_ name: String = "store.db", _ body: (inout Data) throws -> Void) throws {
    var bytes = try bytes(name)
    try body(&bytes)
    let file = try FileHandle(forUpdating: url.appendingPathComponent(name))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: bytes)
    try file.close()
  }
}

/// Returns the first availability that an engine reports.
func firstAvailability(_ engine: any StorageEngine) async -> StoreAvailability? {
  for await availability in engine.availability() { return availability }
  return nil
}

let logFrame = 4_096 + 24
