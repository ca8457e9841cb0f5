import CofferCore
import CofferFileSystem
import Foundation

extension StoreFile {
  /// The directory of the logs of accepted writes, which exists only while there is one.
  private var writeLogs: String { path + "-pending" }

  /// Creates a log of a store's own.
  func makeWriteLog(_ room: Int, of store: UInt64) throws -> WriteLog {
    func make() throws -> WriteLog { try WriteLog(in: writeLogs, room: room, store: store, location: description) }
    // Meanwhile an opening may lock or remove the file before its owner locks it, or another store take the empty
    // directory away.
    for _ in 0..<4 {
      do { return try make() } catch let error as StorageError
        where error.underlying.map({ [ENOENT, EWOULDBLOCK].contains(Int32($0.code)) }) ?? false
      { continue }
    }
    return try make()
  }

  /// The logs that killed processes have left. Removes the directory if one was killed before it created its log.
  func leftWriteLogs() -> some Sequence<LeftWriteLog> {
    var status = stat()
    let isThere = lstat(writeLogs, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    let names = isThere ? try? FileManager.default.contentsOfDirectory(atPath: writeLogs) : nil
    if names?.isEmpty == true { rmdir(writeLogs) }
    return (names ?? []).lazy.compactMap { name in
      UInt64(name, radix: 16).flatMap { LeftWriteLog(writeLogs + "/" + name, $0) }
    }
  }

  /// Removes the logs that killed processes have left to a store that is replaced.
  func removeWriteLogs() { for log in leftWriteLogs() { log.remove() } }
}

/// A log whose process has ended. Other files are none.
final class LeftWriteLog: Sendable {
  let identity: UInt64
  private let path: String
  private let descriptor: Int32

  /// Returns `nil` for a log of a living process, which holds its lock.
  init?(_ path: String, _ identity: UInt64) {
    descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    (self.path, self.identity) = (path, identity)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    // Zeros are all that a process has left which was killed while it created the log.
    var magic = Data(count: WriteLog.magic.count)
    _ = magic.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard magic == WriteLog.magic || magic.allSatisfy({ $0 == 0 }) else { return nil }
  }

  deinit { if descriptor >= 0 { Foundation.close(descriptor) } }

  func content() throws -> Data {
    try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).read(upToCount: WriteLog.limit) ?? Data()
  }

  func remove() {
    unlink(path)
    rmdir(PathParts(path).parent)
  }
}

extension SQLiteEngine {
  /// Creates a log for the writes of one store over this engine; `nil` if the engine only reads.
  /// - Parameter room: the size in bytes of the records that it must have room for.
  package func writeLog(_ room: Int) throws -> WriteLog? {
    isReadOnly ? nil : try file.makeWriteLog(room, of: openStore().name)
  }

  /// Commits what killed processes have accepted and not committed. What cannot be committed, as on a full disk, stays
  /// for the next opening; the event of the commit has the error.
  func replayWriteLogs() async {
    guard !isReadOnly else { return }
    for log in file.leftWriteLogs() where (try? await replay(log)) == true { log.remove() }
  }

  private func replay(_ log: LeftWriteLog) async throws -> Bool {
    let store = try openStore()
    let content = try await runBlocking { try log.content() }
    // Its process was killed while it created the log.
    guard content.count > WriteLog.start, content.prefix(WriteLog.start).contains(where: { $0 != 0 }) else {
      return true
    }
    // A log of another store stays.
    guard let records = WriteLogRecord.records(of: content, store: store.name) else { return false }
    guard let first = records.first, let last = records.last else { return true }
    while true {
      let operations = try store.readers.read { reader in
        let journal = try reader.journalRest(after: min(first.revision, latestRevision))
        let replay = WriteLogReplay(log.identity, journal.commits, isComplete: journal.isComplete)
        return try replay.operations(records, upTo: latestRevision) { try reader.summary(of: $0)?.revision }
      }
      guard !operations.isEmpty else { return true }
      let transaction = WriteLogRecord.transaction(log: log.identity, number: last.number + 1)
      do {
        try await commit(WriteBatch(operations, transaction: transaction), from: StoreOrigin())
        return true
      } catch let error as StorageError where error.code == .preconditionFailed { try Task.checkCancellation() }
    }
  }
}
