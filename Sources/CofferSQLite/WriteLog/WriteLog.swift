import CofferCShims
package import CofferCore
import CofferFileSystem
package import Foundation

/// A small mapped file beside a database with the writes that a store has accepted and not committed yet. A killed
/// process leaves it, and the next opening of the database commits what it has.
///
/// It is a ring of records; `docs/formats/sqlite.md` describes it byte by byte. What is committed is overwritten with
/// zeros, so that no removed value stays in the file. An append is a copy and a checksum, without a system call.
package final class WriteLog: Sendable {
  /// A record's operation.
  package typealias Item = (key: KeyName, value: Data?, attributes: ValueAttributes)

  /// The maximum size of the file in bytes: larger ones have offsets that a position cannot have.
  static let limit = 128 << 20
  static let magic = Data("COFFPEND".utf8)
  /// Where the records begin.
  static let start = 64
  /// Where the position of the oldest record is: an eighth of its offset in the upper 24 bits, and its number in the
  /// others.
  static let headOffset = 16
  static let storeOffset = 24

  /// The position of a record: where it begins, and its number.
  package struct Mark: Hashable, Sendable {
    var offset = WriteLog.start
    var number: UInt64 = 1

    var word: UInt64 { UInt64(offset / 8) << 40 | number & (1 << 40 - 1) }

    init() {}
    init(_ word: UInt64) { (offset, number) = (Int(word >> 40) * 8, word & (1 << 40 - 1)) }
  }

  private struct State {
    /// The address of the mapping; 0 once it is closed.
    var address: UInt
    var head = Mark()
    var tail = Mark()
    var descriptor: Int32
  }

  private let state: Locked<State>
  /// The size of the file in bytes. Its blocks are allocated, since a full disk would end a process that writes to a
  /// mapping. On a file system that copies on writing, it still may.
  private let size: Int
  private let path: String
  /// The identity of the log, by which its commits are recognized.
  private let identity: UInt64

  /// Creates a log of its own in the directory of the store's logs, which it creates.
  /// - Parameter room: the size in bytes of the records that it must have room for.
  /// - Throws: `StorageError`, such as `diskFull`.
  init(in directory: String, room: Int, store: UInt64, location: String) throws {
    let size = (Self.start + min(room, Self.limit - 8_192) + 4_095) & ~4_095
    self.size = size
    identity = .random(in: 1...(.max))
    path = directory + "/" + String(identity, radix: 16)
    guard FileCreation.makeDirectory(directory) == 0 || errno == EEXIST else {
      throw StorageError.creation("mkdir", path: directory, errno: errno, location: location)
    }
    let descriptor = FileCreation.open(path, O_RDWR | O_EXCL | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw StorageError.creation("open", path: path, errno: errno, location: location) }
    var header = Self.magic
    for number in [1, Mark().word] { withUnsafeBytes(of: number.littleEndian) { header.append(contentsOf: $0) } }
    withUnsafeBytes(of: store.littleEndian) { header.append(contentsOf: $0) }
    var failure: (call: String, errno: Int32)?
    // The lock says that the log is in use; it ends with the process.
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 { failure = ("flock", errno) }
    // An opening may have removed the file before it was locked.
    var status = stat()
    if failure == nil, fstat(descriptor, &status) != 0 || status.st_nlink == 0 { failure = ("open", ENOENT) }
    // First, so that a log which was not completed is known as one.
    if failure == nil, header.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) != header.count {
      failure = ("write", errno)
    }
    if failure == nil {
      let code = Self.allocate(descriptor, size)
      if code != 0 { failure = ("fallocate", code) }
    }
    let mapping = failure == nil ? mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : nil
    guard let mapping, mapping != MAP_FAILED else {
      let (call, code) = failure ?? ("mmap", errno)
      unlink(path)
      rmdir(directory)
      Foundation.close(descriptor)
      throw StorageError.creation(call, path: path, errno: code, location: location)
    }
    state = Locked(State(address: UInt(bitPattern: mapping), descriptor: descriptor))
  }

  deinit { close() }

  /// Returns 0 or an `errno`.
  private static func allocate(_ descriptor: Int32, _ size: Int) -> Int32 {
    #if os(Linux)
      posix_fallocate(descriptor, 0, off_t(size))
    #else
      ftruncate(descriptor, off_t(size)) == 0 ? 0 : errno
    #endif
  }

  /// Adds a record of one operation.
  /// - Parameter revision: the newest revision of the store.
  /// - Returns: `false` if there is no room until earlier records are released.
  package func append(_ item: Item, at revision: StoreRevision) -> Bool { add(CollectionOfOne(item), revision) }

  /// Adds one record of several operations, of which a killed process leaves all or none.
  package func append(_ items: [Item], at revision: StoreRevision) -> Bool { add(items, revision) }

  // Generic only within the module, where it is specialized.
  private func add(_ items: some Collection<Item>, _ revision: StoreRevision) -> Bool {
    let count = WriteLogRecord.size(of: items)
    return state.withLock { state in
      guard let base = UnsafeMutableRawPointer(bitPattern: state.address) else { return false }
      if state.head == state.tail {
        state.head.offset = Self.start
        state.tail.offset = Self.start
      }
      let (head, tail) = (state.head.offset, state.tail.offset)
      var offset = tail
      // A byte stays free before the head, so that a full ring is no empty one.
      if tail >= head, tail + count + 8 > size {
        guard Self.start + count < head else { return false }
        WriteLogRecord.wrap(at: base + tail)
        offset = Self.start
      } else if tail < head, tail + count >= head {
        return false
      }
      if state.head == state.tail { coffer_atomic_store(base + Self.headOffset, state.head.word.littleEndian) }
      WriteLogRecord.write(items, count, number: state.tail.number, at: revision, to: base + offset)
      state.tail.offset = offset + count
      state.tail.number += 1
      return true
    }
  }

  /// Whether a record of these operations has room in an empty log.
  package func hasRoom(for items: [Item]) -> Bool {
    Self.start + WriteLogRecord.size(of: items) + 8 <= size
  }

  /// The position after the last record.
  package var end: Mark { state.withLock { $0.tail } }

  /// The transaction of the commit of all records up to a position.
  package func transaction(_ end: Mark) -> TransactionID {
    WriteLogRecord.transaction(log: identity, number: end.number)
  }

  /// Gives up the records before a position, which are committed or discarded.
  package func release(upTo end: Mark) {
    state.withLock { state in
      guard let base = UnsafeMutableRawPointer(bitPattern: state.address), state.head.number < end.number else {
        return
      }
      let head = state.head
      state.head = end
      coffer_atomic_store(base + Self.headOffset, end.word.littleEndian)
      // No zero may be written before the head: a process that is killed in between would leave no later record.
      _ = coffer_atomic_load(base + Self.headOffset)
      if head.offset < end.offset {
        memset(base + head.offset, 0, end.offset - head.offset)
      } else {
        memset(base + head.offset, 0, size - head.offset)
        memset(base + Self.start, 0, end.offset - Self.start)
      }
    }
  }

  /// Removes the file if all of its records are released; otherwise the next opening of the database commits them.
  package func close() {
    let end = state.withLock { state -> (descriptor: Int32, isEmpty: Bool)? in
      guard state.address != 0 else { return nil }
      munmap(UnsafeMutableRawPointer(bitPattern: state.address), size)
      state.address = 0
      return (state.descriptor, state.head == state.tail)
    }
    guard let end else { return }
    if end.isEmpty {
      unlink(path)
      rmdir(PathParts(path).parent)
    }
    Foundation.close(end.descriptor)
  }
}
