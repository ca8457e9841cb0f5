import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// The stamp and the checksum of a file that Coffer has written, kept beside it to distinguish damage from edits.
///
/// A property list with a flipped bit can still be valid, with another value. As long as the file has the stamp that it
/// was written with, it was not edited, and other bytes are damage. Under another stamp they are an edit.
struct DocumentSeal: Equatable {
  private static let magic = Array("COFSEAL1".utf8)
  /// The size of an encoded seal in bytes: the magic, the four numbers of the stamp, the size and the checksum of the
  /// file, and the checksum of the preceding bytes.
  private static let size = 8 + 6 * 8 + 4

  private let stamp: FileStamp
  private let count: UInt64
  private let checksum: UInt64

  /// - Parameter checksum: the checksum of the bytes.
  init(_ bytes: Data, _ checksum: UInt32, _ stamp: FileStamp) {
    self.stamp = stamp
    count = UInt64(bytes.count)
    self.checksum = UInt64(checksum)
  }

  /// Decodes a seal from its ``encoded`` form; `nil` for anything else, which leaves the file without a seal.
  init?(_ data: Data) {
    guard data.count == Self.size, data.starts(with: Self.magic) else { return nil }
    let (words, sum) = data.withUnsafeBytes { bytes in
      let words = (1..<7).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
      let sum = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 56, as: UInt32.self))
      return (words, sum == checksumOfBytes(UnsafeRawBufferPointer(rebasing: bytes[..<56])))
    }
    guard sum else { return nil }
    stamp = FileStamp(inode: words[0], size: words[1], seconds: words[2], nanoseconds: words[3])
    (count, checksum) = (words[4], words[5])
  }

  var encoded: Data {
    var data = Data(Self.magic)
    func append(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
    }
    for word in [stamp.inode, stamp.size, stamp.seconds, stamp.nanoseconds, count, checksum] { append(word) }
    append(data.withUnsafeBytes { checksumOfBytes($0) })
    return data
  }

  /// Whether a file has the inode and modification time of the sealed one but other bytes. The size is not compared: a
  /// file that was truncated by damage has another size, too.
  func isBroken(by content: FileContent) -> Bool {
    let isUntouched =
      content.stamp.inode == stamp.inode && content.stamp.seconds == stamp.seconds
      && content.stamp.nanoseconds == stamp.nanoseconds
    return isUntouched && !isOf(content.data)
  }

  /// Whether these are the sealed bytes.
  func isOf(_ bytes: Data) -> Bool {
    UInt64(bytes.count) == count && UInt64(bytes.withUnsafeBytes { checksumOfBytes($0) }) == checksum
  }
}
