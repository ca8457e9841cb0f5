import CofferCShims
import CofferCore
import CofferFileSystem
import Foundation

/// A small file beside the database that holds the newest revision, mapped by every process that has the store open.
///
/// The writer raises the revision right after its commit and then writes one byte, which notifies watchers. Reading the
/// revision is one load from memory. The file is a hint: the journal is authoritative, and the file can be deleted at
/// any time. A revision beyond the journal proves loss. See `docs/formats/sqlite.md`, "The wake-up file".
final class WakeFile: Sendable {
  private static let size = WakeWords.size
  private static let revisionOffset = WakeWords.announced
  private static let bellOffset: off_t = 16
  private static let listenedOffset = 24
  /// How long after a listener's last heartbeat the bell is still rung, in seconds. Listeners send one per second.
  private static let listenerPatience: UInt64 = 5
  private static let magic = WakeWords.magic

  private let file: StoreFile
  /// The descriptor of the file; `nil` once it is closed.
  private let descriptor: Locked<Int32?>
  /// The address of the mapping, constant for the lifetime of this object so that reading takes no lock.
  private let address: UInt
  /// The newest revision that this process has seen, used if the revision in the file is overwritten.
  private nonisolated(unsafe) let known: UnsafeMutablePointer<UInt64>
  /// Where the newest revision is, for those who keep this object: no reference is counted to read it.
  let head: Head
  /// The words when the file was opened.
  private let opened: WakeWords

  struct Head: Sendable {
    // The words are accessed only atomically.
    fileprivate nonisolated(unsafe) let known: UnsafeMutablePointer<UInt64>
    fileprivate let announced: UInt
  }

  init(_ file: StoreFile) throws {
    self.file = file
    let (descriptor, mapping) = try Self.map(file, at: nil)
    self.descriptor = Locked(descriptor)
    address = UInt(bitPattern: mapping)
    // Accessed only atomically and freed with this object, so any number of threads may use it.
    known = .allocate(capacity: 1)
    known.initialize(to: 0)
    head = Head(known: known, announced: address + UInt(WakeWords.announced))
    opened = WakeWords { coffer_atomic_load(mapping + $0) }
  }

  deinit {
    close()
    known.deallocate()
    munmap(UnsafeMutableRawPointer(bitPattern: address), Self.size)
  }

  /// Records that the store is closed, and lets go of the file. The words stay readable.
  ///
  /// An access to a mapped file that was truncated, for example while a copy of it is put back, would end the process.
  /// Nobody expects that of a store that is closed or could not be opened, so the mapping is not used here.
  func close() {
    descriptor.withLock { descriptor in
      guard let open = descriptor else { return }
      noteClosed(open)
      var words = [UInt8](repeating: 0, count: Self.size)
      _ = pread(open, &words, words.count, 0)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED
      let memory = mmap(field(0), Self.size, PROT_READ | PROT_WRITE, flags, -1, 0)
      if memory != MAP_FAILED { memory?.copyMemory(from: words, byteCount: Self.size) }
      Foundation.close(open)
      descriptor = nil
    }
  }

  /// Records that the store is closed, if the last connection of all processes has deleted the log. A change of the
  /// database while this mark is set was made by an unaware writer.
  private func noteClosed(_ descriptor: Int32) {
    guard access(file.logPath, F_OK) != 0, errno == ENOENT else { return }
    let changedAt = file.changedAt
    // A database that has not changed since it was closed last has the same change counter.
    let isUnchanged = changedAt == opened.changedAt && revision == opened.announced
    let count = (isUnchanged ? opened.closedAt : nil) ?? file.changeCount
    // Aligned words in one page, which other processes see as a whole. The second one makes the first one count.
    for (var word, offset) in [
      (changedAt ?? 0, WakeWords.changed), (WakeWords.closedWord(count), WakeWords.closed),
    ] { _ = pwrite(descriptor, &word, MemoryLayout.size(ofValue: word), off_t(offset)) }
  }

  /// Opens, completes and maps the file, replacing the mapping at `address` if given.
  private static func map(
    _ file: StoreFile, at address: UnsafeMutableRawPointer?
  ) throws -> (descriptor: Int32, mapping: UnsafeMutableRawPointer) {
    let descriptor = FileCreation.open(file.wakePath, O_RDWR | O_CLOEXEC | O_NOFOLLOW, like: file.path)
    guard descriptor >= 0 else { throw error("open", file) }
    do {
      try makeWhole(descriptor, file)
      return (descriptor, try map(descriptor, file, at: address))
    } catch {
      Foundation.close(descriptor)
      throw error
    }
  }

  private static func map(
    _ descriptor: Int32, _ file: StoreFile, at address: UnsafeMutableRawPointer?
  ) throws -> UnsafeMutableRawPointer {
    let flags = MAP_SHARED | (address == nil ? 0 : MAP_FIXED)
    let mapping = mmap(address, size, PROT_READ | PROT_WRITE, flags, descriptor, 0)
    guard let mapping, mapping != MAP_FAILED else { throw error("mmap", file) }
    return mapping
  }

  /// Initializes a new file, and rejects one that is not a wake-up file. It never truncates a file, not even briefly:
  /// a process that has it mapped would be killed by SIGBUS.
  private static func makeWhole(_ descriptor: Int32, _ file: StoreFile) throws {
    let found = try requireOurs(descriptor, file)
    var status = stat()
    guard fstat(descriptor, &status) == 0,
      status.st_size >= off_t(size) || ftruncate(descriptor, off_t(size)) == 0
    else { throw error("ftruncate", file) }
    if found == WakeWords.firstMagic {
      let nothing = [UInt8](repeating: 0, count: size - magic.count)
      guard pwrite(descriptor, nothing, nothing.count, off_t(magic.count)) == nothing.count else {
        throw error("write", file)
      }
    }
    guard pwrite(descriptor, magic, magic.count, 0) == magic.count else { throw error("write", file) }
  }

  /// Removes the wake-up file of a database that was deleted.
  /// - Throws: `notAStore` for another file at its path.
  static func remove(of file: StoreFile) throws {
    let descriptor = Foundation.open(file.wakePath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw error("open", file)
    }
    defer { Foundation.close(descriptor) }
    _ = try requireOurs(descriptor, file)
    guard unlink(file.wakePath) == 0 || errno == ENOENT else { throw error("unlink", file) }
  }

  /// Returns the first bytes of a wake-up file, or throws `notAStore` for another file.
  private static func requireOurs(_ descriptor: Int32, _ file: StoreFile) throws -> [UInt8] {
    var found = [UInt8](repeating: 0, count: magic.count)
    let count = pread(descriptor, &found, found.count, 0)
    // With a damaged magic the words are still used, since each carries a check. Format 1 had other words.
    let isOurs = count <= 0 || found.allSatisfy { $0 == 0 } || zip(found, magic).filter(==).count >= 4
    guard isOurs else {
      throw StorageError(
        .notAStore, "Another file exists at the path of the store's wake-up file.",
        advice: "Move \(file.wakePath) away. Nothing was changed.", location: file.description)
    }
    return found
  }

  private func field(_ offset: Int) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: address + UInt(offset))
  }

  /// The newest revision that any process has announced. It never decreases, even if the file is overwritten.
  var revision: StoreRevision { head.revision }

  /// Announces a revision; never lowers the announced one.
  func raise(to revision: StoreRevision) {
    coffer_atomic_raise(known, revision.rawValue)
    raise(WakeWords.announced, to: revision)
  }

  /// Records the newest revision whose sync has returned.
  func raiseDurable(to revision: StoreRevision) { raise(WakeWords.durable, to: revision) }

  private func raise(_ offset: Int, to revision: StoreRevision) {
    let address = field(offset)
    let word = WakeWords.word(revision)
    while true {
      let seen = coffer_atomic_load(address)
      // An overwritten word, whose check fails, is replaced.
      if let there = WakeWords.revision(seen), there >= revision { return }
      if coffer_atomic_compare_exchange(address, seen, word) == 1 { return }
    }
  }

  /// The present words of the file.
  var words: WakeWords {
    WakeWords { coffer_atomic_load(field($0)) }
  }

  /// Marks the store as open and announces a revision of the journal; the other words stay.
  func resume(at revision: StoreRevision) {
    raise(to: revision)
    coffer_atomic_store(field(WakeWords.closed), 0)
  }

  /// Replaces the words by those of the journal. Call it only while the write lock is held.
  func reset(to words: WakeWords) {
    coffer_atomic_store(known, words.announced?.rawValue ?? 0)
    for (offset, word) in words.encoded { coffer_atomic_store(field(offset), word) }
  }

  /// Wakes the watchers, unless none has been active lately: this costs as much as a third of a relaxed commit.
  func ring() {
    let now = Self.uptime
    let heard = coffer_atomic_load(field(Self.listenedOffset))
    guard now < heard &+ Self.listenerPatience else { return }
    var byte: UInt8 = 0
    // A lost notification is made up for by the watchers' slow poll.
    descriptor.withLock { descriptor in
      if let descriptor { _ = pwrite(descriptor, &byte, 1, Self.bellOffset) }
    }
  }

  /// Records a heartbeat, by which writers in all processes detect an active watcher.
  func giveSignOfLife() { coffer_atomic_store(field(Self.listenedOffset), Self.uptime) }

  // MARK: The failure sign

  /// Whether a sync has failed, in any process, and the store has not been checked since.
  var hasFailed: Bool { isFailure(coffer_atomic_load(field(WakeWords.failure))) }

  /// Whether a word is a failure sign: a number with a valid check, so that a flipped bit closes no store.
  private func isFailure(_ word: UInt64) -> Bool { word != 0 && WakeWords.revision(word) != nil }

  /// Sets the failure sign, which is shared by all processes.
  func fail() {
    guard !hasFailed else { return }
    coffer_atomic_store(field(WakeWords.failure), WakeWords.word(StoreRevision(.random(in: 1..<(1 << 48)))))
  }

  /// Clears the failure sign. Call it only while the write lock is held.
  func clearFailure() { coffer_atomic_store(field(WakeWords.failure), 0) }

  /// The seconds of a clock that all processes share; coarse, and so cheap to read.
  private static var uptime: UInt64 {
    var time = timespec()
    #if os(Linux)
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) + 1  // never zero, the value in a new file
  }

  /// Attaches to the file now at the path if this one was deleted or replaced.
  /// - Returns: Whether another file was attached.
  func reattach() -> Bool {
    descriptor.withLock { descriptor in
      guard let open = descriptor else { return false }
      var mine = stat()
      var present = stat()
      let isAttached =
        fstat(open, &mine) == 0 && stat(file.wakePath, &present) == 0 && mine.st_ino == present.st_ino
        && mine.st_dev == present.st_dev
      guard !isAttached else { return false }
      // The new file receives all words before readers see it.
      guard let (fresh, mapping) = try? Self.map(file, at: nil) else { return false }
      for (offset, word) in words.encoded where coffer_atomic_load(mapping + offset) < word {
        coffer_atomic_store(mapping + offset, word)
      }
      if hasFailed { coffer_atomic_store(mapping + WakeWords.failure, coffer_atomic_load(field(WakeWords.failure))) }
      munmap(mapping, Self.size)
      guard (try? Self.map(fresh, file, at: UnsafeMutableRawPointer(bitPattern: address))) != nil else {
        Foundation.close(fresh)
        return false
      }
      Foundation.close(open)
      descriptor = fresh
      return true
    }
  }

  private static func error(_ call: String, _ file: StoreFile) -> StorageError {
    .system(call, path: file.wakePath, errno: errno, location: file.description)
  }
}

extension WakeFile.Head {
  var revision: StoreRevision {
    let seen = coffer_atomic_load(known)
    let word = coffer_atomic_load(UnsafeMutableRawPointer(bitPattern: announced))
    guard let announced = WakeWords.revision(word), announced.rawValue > seen else { return StoreRevision(seen) }
    coffer_atomic_raise(known, announced.rawValue)
    return announced
  }
}
