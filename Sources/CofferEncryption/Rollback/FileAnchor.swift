import CofferCore
import CofferFileSystem
public import Foundation

/// An anchor in a file, which is replaced atomically.
///
/// ```swift
/// configuration.rollbackProtection = RollbackProtection(anchor: FileAnchor(URL(fileURLWithPath:
/// "/var/lib/shop/anchor")))
/// ```
///
/// Keep it where an older copy of the store does not bring back an older copy of the anchor: on another disk, or at
/// least outside of what is backed up with the store. One file belongs to one store: ``init(in:for:)`` names a file for
/// each. Processes exclude each other by a lock on `<file>.lock`. A missing directory is created for the first record,
/// with access for this user only. Later it is `unavailable`, since the disk may not be mounted.
public struct FileAnchor: RollbackAnchor, Hashable {
  private static let limit = 4_096

  private let url: URL
  /// The seconds to wait for the lock, below the time that an update has.
  private static let patience = 8.0

  /// Creates an anchor. Nothing is read or written yet.
  /// - Parameter url: the path of the file.
  public init(_ url: URL) { self.url = url.standardizedFileURL }

  /// Creates the anchor of one of several stores, in a file of its own: `shop.db-4f0c81d2a6b93e57` for the store
  /// `sqlite:/var/lib/shop.db`. Nothing is read or written yet.
  ///
  /// A store that is moved has another anchor, which is missing then: `notFound`.
  /// - Parameters:
  ///   - directory: the directory of the anchors.
  ///   - store: the location of the store, as `StorageEngine.description` states it.
  public init(in directory: URL, for store: String) {
    let name = (store.split { $0 == "/" || $0 == ":" }.last ?? "store").prefix(64).map { letter -> Character in
      letter.isASCII && (letter.isLetter || letter.isNumber) || letter == "." ? letter : "_"
    }
    let hash = sha256(Data(store.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined()
    self.init(directory.appendingPathComponent(String(name) + "-" + hash))
  }

  public var description: String { "file:\(url.path.escapingControlCharacters)" }

  public func record() async throws -> Data? {
    let path = try url.filePath()
    return try await runBlocking { try read(path) }
  }

  public func update(_ change: @escaping @Sendable (Data?) throws -> Data?) async throws {
    let path = try url.filePath()
    try await runBlocking {
      let parts = PathParts(path)
      if try !PathParts.exists(parts.parent) {
        guard let first = try change(nil) else { return }
        guard try AnchorRecord(first).sequence == 0 else { throw directoryIsMissing(parts.parent) }
        try OpenDirectory.make(parts.parent)
      }
      let lock = try lock(path + ".lock")
      defer { close(lock) }
      guard let next = try change(read(path)) else { return }
      try OpenDirectory(parts.parent).replace(parts.last, with: next)
    }
  }

  private func directoryIsMissing(_ path: String) -> StorageError {
    StorageError(
      .unavailable, "The directory of the anchor does not exist: \(path.escapingControlCharacters).",
      advice: "Mount its disk, or create the directory if it was lost, and try again. The anchor was not written.",
      location: description)
  }

  private func read(_ path: String) throws -> Data? {
    let parts = PathParts(path)
    guard try PathParts.exists(path) else { return nil }
    do {
      return try Directory(parts.parent, location: description).read(parts.last, limit: Self.limit)?.data
    } catch let error as StorageError where error.code == .valueTooLarge {
      return Data()  // No record is that large: it is damaged.
    }
  }

  /// Locks a file until its descriptor is closed, which the kernel does when the process ends.
  private func lock(_ path: String) throws -> Int32 {
    let file = FileCreation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw StorageError.fileSystem("open", path: path, errno: errno, location: description) }
    // A process that is stopped may hold the lock for ever, and each wait for it a thread.
    let deadline = ProcessInfo.processInfo.systemUptime + Self.patience
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      let failure = errno
      guard failure == EWOULDBLOCK || failure == EINTR, ProcessInfo.processInfo.systemUptime < deadline else {
        close(file)
        guard failure == EWOULDBLOCK else {
          throw StorageError.fileSystem("flock", path: path, errno: failure, location: description)
        }
        throw StorageError(
          .busy, "Another process holds the lock of the anchor.", advice: "Try again.", location: description)
      }
      usleep(1_000)
    }
    return file
  }
}
