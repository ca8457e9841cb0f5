import CofferTerminal
import Foundation

/// The lock file of a running watch, beside the database. It contains the date of the next sync, and
/// whether the process serves the page.
final class WatchMark: Sendable {
  private let descriptor: Int32
  /// The number of bytes of the content.
  private static let length = 32

  /// Locks the file; `nil` if another process has locked it.
  init?(beside file: URL) {
    guard let opened = Self.opened(file) else { return nil }
    // `look(beside:)` in another process may hold the lock for a moment.
    for _ in 0..<10 where flock(opened, LOCK_EX | LOCK_NB) != 0 { usleep(10_000) }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      close(opened)
      return nil
    }
    descriptor = opened
    ftruncate(opened, 0)
  }

  /// Owns a descriptor that is locked.
  private init(locked descriptor: Int32) {
    self.descriptor = descriptor
    ftruncate(descriptor, 0)
  }

  /// Locks the file as soon as no other process watches, and calls a handler with the lock. Waits on a thread of its
  /// own, which takes no time while it waits.
  /// - Throws: ``CommandError`` if the file cannot be opened.
  static func whenFree(beside file: URL, _ handler: @escaping @Sendable (WatchMark) -> Void) throws {
    guard let opened = opened(file) else {
      throw CommandError(
        .failure, "unreadable", "\(path(file).oneLine()) cannot be opened.", advice: "Check its owner and permissions.")
    }
    let thread = Thread {
      while flock(opened, LOCK_EX) != 0 {
        guard errno == EINTR else {
          close(opened)
          return
        }
      }
      handler(WatchMark(locked: opened))
    }
    thread.name = "watchify.mark"
    thread.start()
  }

  private static func opened(_ file: URL) -> Int32? {
    let opened = open(path(file), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    return opened >= 0 ? opened : nil
  }

  deinit {
    ftruncate(descriptor, 0)
    close(descriptor)
  }

  /// Writes the date of the next sync, `nil` if unknown, and whether the process serves the page.
  func set(next: Date?, servesPage: Bool) {
    let text = (next.map { String(Int($0.timeIntervalSince1970)) } ?? "-") + (servesPage ? " page" : "")
    // Always as long, in one write: `look(beside:)` reads neither an empty file nor the end of an older text.
    let bytes = Array(text.utf8) + Array(repeating: UInt8(ascii: " "), count: max(0, Self.length - text.utf8.count))
    _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  /// Returns whether a watch is running, whether it serves the page, and the date of its next sync, if known.
  static func look(beside file: URL) -> (isWatched: Bool, servesPage: Bool, next: Date?) {
    let opened = open(path(file), O_RDONLY | O_CLOEXEC)
    guard opened >= 0 else { return (false, false, nil) }
    defer { close(opened) }
    guard flock(opened, LOCK_SH | LOCK_NB) != 0 else { return (false, false, nil) }
    var bytes = [UInt8](repeating: 0, count: length)
    let count = bytes.withUnsafeMutableBytes { pread(opened, $0.baseAddress, $0.count, 0) }
    let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
    let next = words.first.flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0) }
    return (true, words.contains("page"), next)
  }

  private static func path(_ file: URL) -> String { file.path + "-watch" }
}
