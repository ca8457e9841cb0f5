import CofferCore
import CofferFileSystem
import Foundation

/// The files of a store as they are at one moment: while none of them has changed, what was read between is one state.
struct FileStates: Hashable {
  let database: FileStamp
  /// `nil` where there is no log.
  let log: FileStamp?
  /// Whether the index of the log is there.
  let hasIndex: Bool
  /// Whether another program has died in the middle of a transaction without a write-ahead log.
  let hasRollback: Bool
  private let changedAt: [Int64]

  /// How long a file must have been left alone before its date tells one change from the next, in nanoseconds: the
  /// clock of a file system ticks every few milliseconds.
  private static let settling: Int64 = 20_000_000

  init(of place: StorePlace) throws {
    guard let database = try Self.status(place.path, place) else {
      throw StorageError(
        .closed, "The database file was moved or deleted while the store was open.",
        advice: "Open the store again. The latest values may be in the file that was there before.",
        backend: place.description)
    }
    let log = try Self.status(place.logPath, place)
    self.database = FileStamp(database)
    self.log = log.map { FileStamp($0) }
    hasIndex = try Self.status(place.path + "-shm", place) != nil
    hasRollback = try Self.status(place.path + "-journal", place).map { $0.st_size > 0 } ?? false
    changedAt = [database, log].compactMap { $0 }.map {
      #if canImport(Darwin)
        let time = $0.st_ctimespec
      #else
        let time = $0.st_ctim
      #endif
      return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
  }

  /// Whether a log has anything in it.
  var hasLog: Bool { log.map { $0.size > 0 } ?? false }

  /// Whether another change would have another date.
  var isSettled: Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let present = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec)
    return changedAt.allSatisfy { !(present - Self.settling...present + Self.settling).contains($0) }
  }

  private static func status(_ path: String, _ place: StorePlace) throws -> stat? {
    var status = stat()
    if stat(path, &status) == 0 { return status }
    guard errno == ENOENT else {
      throw StorageError.system("stat", path: path, errno: errno, backend: place.description)
    }
    return nil
  }
}
