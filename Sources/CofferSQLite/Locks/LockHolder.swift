import CofferCore
import Foundation

/// A process that holds one of SQLite's locks on a store.
///
/// Linux lists all locks in `/proc/locks`. Asking with `F_GETLK` would need a descriptor of the `-shm` file, and
/// closing that releases every lock that SQLite holds on the file in this process (`fcntl(2)`).
package struct LockHolder: Hashable, Sendable {
  /// The process identifier.
  package let process: Int32
  /// The name of its program, or empty when it cannot be told.
  package let program: String

  /// Whether the lock is this process's own.
  package var isThisProcess: Bool { process == getpid() }

  /// As part of a sentence: "process 812 (watchify)".
  package var description: String {
    if isThisProcess { return "this process" }
    return program.isEmpty ? "process \(process)" : "process \(process) (\(program))"
  }

  /// Bytes of the `-shm` file that SQLite locks (sqlite.org/walformat.html, "WAL Locks").
  enum Byte {
    static let write: UInt64 = 120
    static let reads: ClosedRange<UInt64> = 123...127
  }

  /// The process that holds the write lock, if it can be told.
  static func ofWriteLock(_ place: StorePlace) -> LockHolder? {
    holders(of: Byte.write...Byte.write, place).first
  }

  /// The processes that read a state whose lock is one of `bytes`.
  static func holders(of bytes: ClosedRange<UInt64>, _ place: StorePlace) -> [LockHolder] {
    guard let file = FileIdentity(place.sharedMemoryPath), let table = readAll("/proc/locks") else { return [] }
    return processes(in: table, holding: bytes, of: file).map { LockHolder(process: $0, program: programName($0)) }
  }

  /// Reads the table of locks: `6: POSIX  ADVISORY  READ 15954 fe:00:9576506 124 124`.
  static func processes(in table: String, holding bytes: ClosedRange<UInt64>, of file: FileIdentity) -> [Int32] {
    var found: [Int32] = []
    for line in table.split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      // A process that waits for a lock has an arrow in the second column.
      guard fields.count == 8, fields[1] == "POSIX", let process = Int32(fields[4]), process > 0 else { continue }
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

  /// The content of a file of `/proc`, whose size is not known before it is read.
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
  /// Whether the device has these numbers, as Linux packs them into `st_dev`.
  fileprivate func isOnDevice(major: UInt64, minor: UInt64) -> Bool {
    (device >> 8 & 0xFFF | device >> 32 & 0xFFFF_F000) == major
      && (device & 0xFF | device >> 12 & 0xFFFF_FF00) == minor
  }
}
