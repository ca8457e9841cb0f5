package import CofferCore
import Foundation

/// What a wake-up file says besides its bell: `docs/formats/sqlite.md`, "The wake-up file".
package struct WakeWords: Hashable {
  /// The newest revision that a process has announced; `nil` when the word is damaged.
  var announced: StoreRevision?
  /// The newest revision whose sync has returned: never ahead of the truth. `nil` when the word is damaged.
  var durable: StoreRevision?
  /// Which store it belongs to and in which history: numbers of another one mean something else.
  var store: UInt64
  var epoch: UInt64
  /// The database's inode: a copy of all files is another history.
  var file: UInt64
  /// What the database's header counted when everybody had closed the store; `nil` while it is open.
  var closedAt: UInt32?

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
  private static let closedMark: UInt64 = 0x436C_6F73 << 32

  init(
    announced: StoreRevision, durable: StoreRevision, store: UInt64, epoch: UInt64, file: UInt64
  ) {
    (self.announced, self.durable, self.store, self.epoch, self.file) = (announced, durable, store, epoch, file)
    closedAt = nil
  }

  init(_ word: (Int) -> UInt64) {
    announced = Self.revision(word(Self.announced))
    durable = Self.revision(word(Self.durable))
    (store, epoch, file) = (word(Self.store), word(Self.epoch), word(Self.file))
    let mark = word(Self.closed)
    closedAt = mark & ~0xFFFF_FFFF == Self.closedMark ? UInt32(truncatingIfNeeded: mark) : nil
  }

  /// Reads a file without opening it for use; `nil` when there is none that says anything.
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

  /// What stands for a store that everybody has closed when its header had counted so far.
  static func closedWord(_ changeCount: UInt32?) -> UInt64 { changeCount.map { closedMark | UInt64($0) } ?? 0 }

  // MARK: Revisions

  /// A revision and a check of it in one word, which can be read and written at once: any one flipped bit shows.
  package static func word(_ revision: StoreRevision) -> UInt64 {
    revision == .zero ? 0 : revision.rawValue << 16 | check(revision.rawValue)
  }

  /// The revision in a word; `nil` for a word that nobody of us has written.
  package static func revision(_ word: UInt64) -> StoreRevision? {
    let number = word >> 16
    return word == 0 || (number > 0 && check(number) == word & 0xFFFF) ? StoreRevision(number) : nil
  }

  /// The factor has no sixteen equal bits in a row, so a flipped bit of the number changes the product's upper ones.
  private static func check(_ number: UInt64) -> UInt64 { (number &* 0x9E37_79B9_7F4A_7C15) >> 48 ^ 0x5A3C }
}
