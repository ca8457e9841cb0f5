import CofferCShims
import CofferCore
import Foundation

/// A small file beside the database that holds the newest revision, mapped by every process that has the store open.
///
/// The writer raises the number right after its commit and then writes one byte, which is what watchers hear. A read
/// of the number costs a load from memory. The file is a hint: the journal is the truth, and the file can be deleted
/// at any time. `docs/formats/sqlite.md`, "The wake-up file".
final class WakeFile: Sendable {
  private static let size = 64
  private static let revisionOffset = 8
  private static let bellOffset: off_t = 16
  private static let magic = Array("COFWAKE1".utf8)

  private let descriptor: Int32
  private let address: Int  // of the mapping, which lives exactly as long as this object

  init(_ place: StorePlace) throws {
    let descriptor = Foundation.open(place.wakePath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.error("open", place) }
    guard ftruncate(descriptor, off_t(Self.size)) == 0,
      pwrite(descriptor, Self.magic, Self.magic.count, 0) == Self.magic.count,
      let mapping = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), mapping != MAP_FAILED
    else {
      let error = Self.error("write", place)
      Foundation.close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    address = Int(bitPattern: mapping)
  }

  deinit {
    munmap(UnsafeMutableRawPointer(bitPattern: address), Self.size)
    Foundation.close(descriptor)
  }

  private var number: UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: address + Self.revisionOffset)
  }

  /// The newest revision that any process has announced.
  var revision: Revision { Revision(coffer_atomic_load(number)) }

  /// Announces a revision; never takes one back.
  func raise(to revision: Revision) { coffer_atomic_raise(number, revision.rawValue) }

  /// Sets the number to what the journal says. Only while the write lock is held.
  func reset(to revision: Revision) { coffer_atomic_store(number, revision.rawValue) }

  /// Wakes the watchers in other processes.
  func ring() {
    var byte: UInt8 = 0
    // A lost ring is found by the watchers' slow poll.
    _ = pwrite(descriptor, &byte, 1, Self.bellOffset)
  }

  /// Whether the path still leads to this file: somebody may have deleted or replaced it.
  func isAttached(_ place: StorePlace) -> Bool {
    var mine = stat()
    var present = stat()
    return fstat(descriptor, &mine) == 0 && stat(place.wakePath, &present) == 0 && mine.st_ino == present.st_ino
      && mine.st_dev == present.st_dev
  }

  private static func error(_ call: String, _ place: StorePlace) -> StorageError {
    .system(call, path: place.wakePath, errno: errno, backend: place.description)
  }
}
