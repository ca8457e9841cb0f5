import CofferCore
import Foundation

/// A process that holds one of SQLite's locks on a store.
///
/// Linux lists all locks in `/proc/locks`. `F_GETLK` would need a descriptor of the `-shm` file, and closing it would
/// release every lock that SQLite holds on the file in this process (`fcntl(2)`).
package struct LockHolder: Hashable, Sendable {
  /// The process identifier.
  package let process: Int32
  /// The name of its program; empty if unknown.
  package let program: String

  /// Whether the holder is this process.
  package var isThisProcess: Bool { process == getpid() }

  /// A phrase for use inside a sentence, such as "process 812 (watchify)".
  package var description: String {
    if isThisProcess { return "this process" }
    return program.isEmpty ? "process \(process)" : "process \(process) (\(program))"
  }

  /// The bytes of the `-shm` file that SQLite locks (sqlite.org/walformat.html, "WAL Locks").
  enum Byte {
    static let write: UInt64 = 120
    static let reads: ClosedRange<UInt64> = 123...127
    /// Every connection holds it while it uses the index.
    static let use: UInt64 = 128
  }

  /// Whether a process may use the index of the log; `nil` if it cannot be determined.
  static func isIndexUsed(of file: StoreFile) -> Bool? {
    guard let table = readAll("/proc/locks") else { return nil }
    guard let index = FileIdentity(file.sharedMemoryPath) else { return false }
    // A process of another container has the number 0.
    return !processes(in: table, holding: Byte.use...Byte.use, of: index, orHidden: true).isEmpty
  }

  /// Whether a process uses the database, under any of its names: a connection holds SQLite's shared lock on it while a
  /// log is open; `nil` if it cannot be determined.
  static func isUsed(_ file: StoreFile) -> Bool? {
    guard let table = readAll("/proc/locks"), let database = FileIdentity(file.path) else { return nil }
    let locks: ClosedRange<UInt64> = 0x4000_0000...0x4000_01FF
    return !processes(in: table, holding: locks, of: database, orHidden: true).isEmpty
  }

  /// Returns the process that holds the write lock, or `nil` if none does or it cannot be determined.
  static func ofWriteLock(_ file: StoreFile) -> LockHolder? {
    holders(of: Byte.write...Byte.write, file).first
  }

  /// Returns the processes that hold a lock on any of `bytes`.
  static func holders(of bytes: ClosedRange<UInt64>, _ file: StoreFile) -> [LockHolder] {
    guard let index = FileIdentity(file.sharedMemoryPath), let table = readAll("/proc/locks") else { return [] }
    return processes(in: table, holding: bytes, of: index).map { LockHolder(process: $0, program: programName($0)) }
  }

  /// Parses the table of locks, with lines such as `6: POSIX  ADVISORY  READ 15954 fe:00:9576506 124 124`.
  static func processes(
    in table: String, holding bytes: ClosedRange<UInt64>, of file: FileIdentity, orHidden: Bool = false
  ) -> [Int32] {
    var found: [Int32] = []
    for line in table.split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      // A waiting process has an arrow in the second column.
      guard fields.count == 8, fields[1] == "POSIX", let process = Int32(fields[4]), process > 0 || orHidden
      else { continue }
      let identity = fields[5].split(separator: ":")
      guard identity.count == 3, UInt64(identity[2]) == file.inode, let first = UInt64(fields[6]) else { continue }
      guard let major = UInt64(identity[0], radix: 16), let minor = UInt64(identity[1], radix: 16) else { continue }
      guard file.isOnDevice(major: major, minor: minor) else { continue }
      let last = UInt64(fields[7]) ?? .max
      if first <= bytes.upperBound, last >= bytes.lowerBound, !found.contains(process) { found.append(process) }
    }
    return found
  }

  private static func programName(_ process: Int32) -> String {
    (readAll("/proc/\(process)/comm") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns the content of a file in `/proc`, whose size is unknown before it is read.
  private static func readAll(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(file, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: content, as: UTF8.self) }
      content += buffer[..<count]
    }
  }
}

extension FileIdentity {
  /// Whether the device has these numbers, as encoded by Linux in `st_dev`.
  fileprivate func isOnDevice(major: UInt64, minor: UInt64) -> Bool {
    (device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000) == major
      && (device & 0xFF | device >> 12 & 0xFFFF_FF00) == minor
  }
}
