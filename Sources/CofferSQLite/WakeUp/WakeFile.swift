import CofferCShims
import CofferCore
import CofferLocks
import Foundation

/// A small file beside the database that holds the newest revision, mapped by every process that has the store open.
///
/// The writer raises the number right after its commit and then writes one byte, which is what watchers hear. A read
/// of the number costs a load from memory. The file is a hint: the journal is the truth, and the file can be deleted
/// at any time. What it says beyond the journal proves loss. `docs/formats/sqlite.md`, "The wake-up file".
final class WakeFile: Sendable {
  private static let size = WakeWords.size
  private static let revisionOffset = WakeWords.announced
  private static let bellOffset: off_t = 16
  private static let listenedOffset = 24
  /// How long after a listener's last sign of life the bell is still rung, in seconds. Listeners give one per second.
  private static let listenerPatience: UInt64 = 5
  private static let magic = WakeWords.magic

  private let place: StorePlace
  private let descriptor: Locked<Int32>
  /// Where the file is mapped: the same address for the life of this object, so that reading takes no lock.
  private let address: UInt
  /// The newest revision that this process knows: what it goes by when somebody has written over the file's number.
  private nonisolated(unsafe) let known: UnsafeMutablePointer<UInt64>

  init(_ place: StorePlace) throws {
    self.place = place
    let (descriptor, mapping) = try Self.map(place, at: nil)
    self.descriptor = Locked(descriptor)
    address = UInt(bitPattern: mapping)
    // Changed atomically only, and freed with this object, so any number of threads may use it.
    known = .allocate(capacity: 1)
    known.initialize(to: 0)
  }

  deinit {
    known.deallocate()
    noteClosed()
    munmap(UnsafeMutableRawPointer(bitPattern: address), Self.size)
    descriptor.withLock { _ = Foundation.close($0) }
  }

  /// Notes that nobody has the store open, when the last connection of all has deleted the log: from here on nobody but
  /// us should have written to the database.
  func noteClosed() {
    guard access(place.logPath, F_OK) != 0, errno == ENOENT else { return }
    coffer_atomic_store(field(WakeWords.closed), WakeWords.closedWord(place.changeCount))
  }

  /// Opens the file, makes it whole and maps it, over the mapping that is there if `address` is given.
  private static func map(
    _ place: StorePlace, at address: UnsafeMutableRawPointer?
  ) throws -> (descriptor: Int32, mapping: UnsafeMutableRawPointer) {
    let descriptor = Foundation.open(place.wakePath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw error("open", place) }
    do {
      try makeWhole(descriptor, place)
      return (descriptor, try map(descriptor, place, at: address))
    } catch {
      Foundation.close(descriptor)
      throw error
    }
  }

  private static func map(
    _ descriptor: Int32, _ place: StorePlace, at address: UnsafeMutableRawPointer?
  ) throws -> UnsafeMutableRawPointer {
    let flags = MAP_SHARED | (address == nil ? 0 : MAP_FIXED)
    let mapping = mmap(address, size, PROT_READ | PROT_WRITE, flags, descriptor, 0)
    guard let mapping, mapping != MAP_FAILED else { throw error("mmap", place) }
    return mapping
  }

  /// Writes what a new file lacks, and nothing over a file that is somebody else's. It never makes a file shorter, not
  /// even for a moment: whoever has it mapped would be killed.
  private static func makeWhole(_ descriptor: Int32, _ place: StorePlace) throws {
    var found = [UInt8](repeating: 0, count: magic.count)
    let count = pread(descriptor, &found, found.count, 0)
    // Of one whose mark is damaged the words still count, since each proves itself. The first format had other words.
    let isOurs = count <= 0 || found.allSatisfy { $0 == 0 } || zip(found, magic).filter(==).count >= 4
    guard isOurs else {
      throw StorageError(
        .notAStore, "There is another file where the store keeps its wake-up file.",
        advice: "Move \(place.wakePath) away. Nothing was changed.", backend: place.description)
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0,
      status.st_size >= off_t(size) || ftruncate(descriptor, off_t(size)) == 0
    else { throw error("ftruncate", place) }
    if found == WakeWords.firstMagic {
      let nothing = [UInt8](repeating: 0, count: size - magic.count)
      guard pwrite(descriptor, nothing, nothing.count, off_t(magic.count)) == nothing.count else {
        throw error("write", place)
      }
    }
    guard pwrite(descriptor, magic, magic.count, 0) == magic.count else { throw error("write", place) }
  }

  private func field(_ offset: Int) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: address + UInt(offset))
  }

  /// The newest revision that any process has announced. It never goes back, whatever somebody writes into the file.
  var revision: StoreRevision {
    let known = coffer_atomic_load(known)
    guard let announced = WakeWords.revision(coffer_atomic_load(field(WakeWords.announced))), announced.rawValue > known
    else { return StoreRevision(known) }
    coffer_atomic_raise(self.known, announced.rawValue)
    return announced
  }

  /// Announces a revision; never takes one back.
  func raise(to revision: StoreRevision) {
    coffer_atomic_raise(known, revision.rawValue)
    raise(WakeWords.announced, to: revision)
  }

  /// Notes the newest revision whose sync has returned.
  func raiseDurable(to revision: StoreRevision) { raise(WakeWords.durable, to: revision) }

  private func raise(_ offset: Int, to revision: StoreRevision) {
    let address = field(offset)
    let word = WakeWords.word(revision)
    while true {
      let seen = coffer_atomic_load(address)
      // A number that somebody else has written over is replaced.
      if let there = WakeWords.revision(seen), there >= revision { return }
      if coffer_atomic_compare_exchange(address, seen, word) == 1 { return }
    }
  }

  /// What the file says now.
  var words: WakeWords {
    WakeWords { coffer_atomic_load(field($0)) }
  }

  /// Goes on with what the file says, from a revision that the journal has.
  func resume(at revision: StoreRevision) {
    raise(to: revision)
    coffer_atomic_store(field(WakeWords.closed), 0)
  }

  /// Makes the file say what the journal says. Only while the write lock is held.
  func reset(to words: WakeWords) {
    coffer_atomic_store(known, words.announced?.rawValue ?? 0)
    for (offset, word) in words.encoded { coffer_atomic_store(field(offset), word) }
  }

  /// Wakes the watchers, unless nobody has been watching lately: ringing costs as much as a third of a relaxed commit.
  func ring() {
    let now = Self.uptime
    let heard = coffer_atomic_load(field(Self.listenedOffset))
    guard now < heard &+ Self.listenerPatience else { return }
    var byte: UInt8 = 0
    // A lost ring is found by the watchers' slow poll.
    descriptor.withLock { _ = pwrite($0, &byte, 1, Self.bellOffset) }
  }

  /// Tells the writers in all processes that somebody is watching now.
  func giveSignOfLife() { coffer_atomic_store(field(Self.listenedOffset), Self.uptime) }

  // MARK: The failure sign

  /// Whether a sync has failed, in this or another process, and nobody has looked at what the device holds since.
  var hasFailed: Bool { isFailure(coffer_atomic_load(field(WakeWords.failure))) }

  /// A number and its check, so that a flipped bit closes no store.
  private func isFailure(_ word: UInt64) -> Bool { word != 0 && WakeWords.revision(word) != nil }

  /// Tells all processes that a sync has failed.
  func fail() {
    guard !hasFailed else { return }
    coffer_atomic_store(field(WakeWords.failure), WakeWords.word(StoreRevision(.random(in: 1..<(1 << 48)))))
  }

  /// Takes the failure sign away. Only while the write lock is held.
  func clearFailure() { coffer_atomic_store(field(WakeWords.failure), 0) }

  /// Seconds on a clock that all processes share; cheap, since it need not be exact.
  private static var uptime: UInt64 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) + 1  // never zero, which is what a new file says
  }

  /// Follows the path to another file, after somebody has deleted or replaced this one. Whether that had happened.
  func reattach() -> Bool {
    descriptor.withLock { descriptor in
      var mine = stat()
      var present = stat()
      let isAttached =
        fstat(descriptor, &mine) == 0 && stat(place.wakePath, &present) == 0 && mine.st_ino == present.st_ino
        && mine.st_dev == present.st_dev
      guard !isAttached else { return false }
      // The new file knows everything before readers see it.
      guard let (fresh, mapping) = try? Self.map(place, at: nil) else { return false }
      for (offset, word) in words.encoded where coffer_atomic_load(mapping + offset) < word {
        coffer_atomic_store(mapping + offset, word)
      }
      if hasFailed { coffer_atomic_store(mapping + WakeWords.failure, coffer_atomic_load(field(WakeWords.failure))) }
      munmap(mapping, Self.size)
      guard (try? Self.map(fresh, place, at: UnsafeMutableRawPointer(bitPattern: address))) != nil else {
        Foundation.close(fresh)
        return false
      }
      Foundation.close(descriptor)
      descriptor = fresh
      return true
    }
  }

  private static func error(_ call: String, _ place: StorePlace) -> StorageError {
    .system(call, path: place.wakePath, errno: errno, backend: place.description)
  }
}
