import CofferCore
import CofferFileSystem
import Foundation

/// The metadata of a store's files at one moment. If two of these are equal, everything read between is one state.
struct FileStates: Hashable {
  let database: FileStamp
  /// The write-ahead log; `nil` if it does not exist.
  let log: FileStamp?
  /// Whether the index of the log (`-shm`) exists.
  let hasIndex: Bool
  /// Whether a rollback journal exists: another program ended during a transaction without a write-ahead log.
  let hasRollback: Bool
  private let changedAt: [Int64]

  /// How long a file must be unchanged before its date distinguishes one change from the next, in nanoseconds: the
  /// timestamps of a file system advance every few milliseconds.
  private static let settling: Int64 = 20_000_000

  init(of file: StoreFile) throws {
    guard let database = try Self.status(file.path, file) else {
      throw StorageError(
        .closed, "The database file was moved or deleted while the store was open.",
        advice: "Open the store again. The latest values may be in the previous file.",
        location: file.description)
    }
    let log = try Self.status(file.logPath, file)
    self.database = FileStamp(database)
    self.log = log.map { FileStamp($0) }
    hasIndex = try Self.status(file.path + "-shm", file) != nil
    hasRollback = try Self.status(file.path + "-journal", file).map { $0.st_size > 0 } ?? false
    changedAt = [database, log].compactMap { $0?.changedAt }
  }

  /// Whether the log exists and is not empty.
  var hasLog: Bool { log.map { $0.size > 0 } ?? false }

  /// Whether a further change would be given a different date.
  var isSettled: Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let present = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
    return changedAt.allSatisfy { !(present - Self.settling...present + Self.settling).contains($0) }
  }

  private static func status(_ path: String, _ file: StoreFile) throws -> stat? {
    var status = stat()
    if stat(path, &status) == 0 { return status }
    guard errno == ENOENT else {
      throw StorageError.system("stat", path: path, errno: errno, location: file.description)
    }
    return nil
  }
}

extension stat {
  /// When the file or its metadata was changed last, in nanoseconds.
  var changedAt: Int64 {
    #if canImport(Darwin)
      let time = st_ctimespec
    #else
      let time = st_ctim
    #endif
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
