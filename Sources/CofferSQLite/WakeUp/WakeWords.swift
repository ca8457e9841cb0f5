package import CofferCore
import Foundation

/// The words of a wake-up file, without its bell: `docs/formats/sqlite.md`, "The wake-up file".
package struct WakeWords: Hashable {
  /// The newest revision that a process has announced; `nil` if the word is damaged.
  var announced: StoreRevision?
  /// The newest revision whose sync has returned, never a later one; `nil` if the word is damaged.
  var durable: StoreRevision?
  /// The identity of the store that the revisions belong to; zero if unknown.
  var store: UInt64
  /// The epoch of the history that the revisions belong to.
  var epoch: UInt64
  /// The inode of the database: a copy of all files is another history.
  var file: UInt64
  /// The change counter of the database header when the last process closed the store; `nil` while it is open.
  var closedAt: UInt32?
  /// When the database had been changed last, in nanoseconds, at that moment; zero if unknown. Putting
  /// back older files changes it, even if they agree with each other.
  var changedAt: UInt64

  static let size = 128
  static let magic = Array("COFWAKE2".utf8)
  static let firstMagic = Array("COFWAKE1".utf8)
  static let announced = 8
  static let durable = 32
  private static let epoch = 40
  private static let store = 48
  static let failure = 56
  static let closed = 64
  private static let file = 72
  static let changed = 80
  private static let closedMark: UInt64 = 0x436C_6F73 << 32

  init(
    announced: StoreRevision, durable: StoreRevision, store: UInt64, epoch: UInt64, file: UInt64
  ) {
    (self.announced, self.durable, self.store, self.epoch, self.file) = (announced, durable, store, epoch, file)
    closedAt = nil
    changedAt = 0
  }

  init(_ word: (Int) -> UInt64) {
    announced = Self.revision(word(Self.announced))
    durable = Self.revision(word(Self.durable))
    (store, epoch, file) = (word(Self.store), word(Self.epoch), word(Self.file))
    changedAt = word(Self.changed)
    let mark = word(Self.closed)
    closedAt = mark & ~0xFFFF_FFFF == Self.closedMark ? UInt32(truncatingIfNeeded: mark) : nil
  }

  /// Reads the words of a file without mapping it; `nil` if there is no valid wake-up file.
  init?(ofFileAt path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.size)
    guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count, bytes.starts(with: Self.magic) else { return nil }
    self.init { offset in bytes.withUnsafeBytes { $0.load(fromByteOffset: offset, as: UInt64.self) } }
  }

  var encoded: [(offset: Int, word: UInt64)] {
    [
      (Self.announced, Self.word(announced ?? .zero)), (Self.durable, Self.word(durable ?? .zero)),
      (Self.store, store), (Self.epoch, epoch), (Self.file, file), (Self.closed, 0),
    ]
  }

  /// Returns the word of a closed store whose database header has this change counter; zero for `nil`.
  static func closedWord(_ changeCount: UInt32?) -> UInt64 { changeCount.map { closedMark | UInt64($0) } ?? 0 }

  // MARK: Revisions

  /// Returns a revision and its check in one word, read and written atomically. Any single flipped bit is detected.
  package static func word(_ revision: StoreRevision) -> UInt64 {
    revision == .zero ? 0 : revision.rawValue << 16 | check(revision.rawValue)
  }

  /// Returns the revision in a word, or `nil` if its check fails.
  package static func revision(_ word: UInt64) -> StoreRevision? {
    let number = word >> 16
    return word == 0 || (number > 0 && check(number) == word & 0xFFFF) ? StoreRevision(number) : nil
  }

  /// Returns the check of a number. The factor has no sixteen equal bits in a row, so flipping one bit of the number
  /// changes the upper bits of the product.
  private static func check(_ number: UInt64) -> UInt64 { (number &* 0x9E37_79B9_7F4A_7C15) >> 48 ^ 0x5A3C }
}
