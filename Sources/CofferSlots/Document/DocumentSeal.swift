import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// What we know of a file that we have written, kept beside it: by which stamp it is recognised, and its checksum.
///
/// A property list with a flipped bit can still be one, with another value. As long as the file has the stamp that it
/// was written with, nobody has written it since, and other bytes are damage. Under another stamp they are an edit.
struct DocumentSeal: Equatable {
  private static let magic = Array("COFSEAL1".utf8)
  /// The magic, four numbers of the stamp, the size and the checksum of the file, and the checksum of all that.
  private static let size = 8 + 6 * 8 + 4

  private let stamp: FileStamp
  private let count: UInt64
  private let checksum: UInt64

  init(_ bytes: Data, _ stamp: FileStamp) {
    self.stamp = stamp
    count = UInt64(bytes.count)
    checksum = UInt64(bytes.withUnsafeBytes { checksumOfBytes($0) })
  }

  /// Reads what ``encoded`` wrote; `nil` for anything else, which says nothing of the file.
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

  /// Whether a file is the one that was written, and says something else. Another size is no sign of a writer: a file
  /// that has lost its end has it, too.
  func isBroken(by content: FileContent) -> Bool {
    let isUntouched =
      content.stamp.inode == stamp.inode && content.stamp.seconds == stamp.seconds
      && content.stamp.nanoseconds == stamp.nanoseconds
    return isUntouched && !isOf(content.data)
  }

  /// Whether these are the bytes that were written.
  func isOf(_ bytes: Data) -> Bool {
    UInt64(bytes.count) == count && UInt64(bytes.withUnsafeBytes { checksumOfBytes($0) }) == checksum
  }
}
