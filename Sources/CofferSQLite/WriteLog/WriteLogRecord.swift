import CofferCore
import Foundation

/// A record of a ``WriteLog``: its size, a checksum of the rest, its number, the store's revision when it was written,
/// and its operations. All numbers are little-endian.
struct WriteLogRecord {
  let number: UInt64
  let revision: StoreRevision
  let operations: [(key: KeyName, operation: WriteBatch.Operation)]

  private static let header = 32
  private static let itemHeader = 12

  static func size(of items: some Collection<WriteLog.Item>) -> Int {
    let content = items.reduce(header) {
      $0 + itemHeader + $1.key.size + $1.attributes.encoded.count + ($1.value?.count ?? 0)
    }
    return (content + 7) & ~7
  }

  /// Marks the end of the ring: the next record is at its start.
  static func wrap(at place: UnsafeMutableRawPointer) { place.storeBytes(of: UInt32.max, as: UInt32.self) }

  static func write(
    _ items: some Collection<WriteLog.Item>, _ size: Int, number: UInt64, at revision: StoreRevision,
    to place: UnsafeMutableRawPointer
  ) {
    place.storeBytes(of: UInt32(truncatingIfNeeded: size).littleEndian, as: UInt32.self)
    place.storeBytes(of: number.littleEndian, toByteOffset: 8, as: UInt64.self)
    place.storeBytes(of: revision.rawValue.littleEndian, toByteOffset: 16, as: UInt64.self)
    place.storeBytes(of: UInt32(truncatingIfNeeded: items.count).littleEndian, toByteOffset: 24, as: UInt32.self)
    place.storeBytes(of: 0, toByteOffset: 28, as: UInt32.self)
    var next = place + header
    func add(_ bytes: UnsafeRawBufferPointer) {
      if let start = bytes.baseAddress { next.copyMemory(from: start, byteCount: bytes.count) }
      next += bytes.count
    }
    for (key, value, attributes) in items {
      let encoded = attributes.encoded
      let sizes = UInt64(key.size) | UInt64(encoded.count) << 16 | UInt64(value == nil ? 0 : 1) << 32
      next.storeBytes(of: sizes.littleEndian, as: UInt64.self)
      next.storeBytes(of: UInt32(truncatingIfNeeded: value?.count ?? 0).littleEndian, toByteOffset: 8, as: UInt32.self)
      next += itemHeader
      key.withBytes(add)
      encoded.withUnsafeBytes(add)
      value?.withUnsafeBytes(add)
    }
    let padding = place + size - next
    if padding > 0 { memset(next, 0, padding) }
    let sum = checksumOfBytes(UnsafeRawBufferPointer(start: place + 8, count: size - 8))
    place.storeBytes(of: sum.littleEndian, toByteOffset: 4, as: UInt32.self)
  }

  /// Reads the records of a log, up to the first that is none: what was being written when the process ended.
  /// - Returns: `nil` for a file that is no log, or one of another store.
  static func records(of file: Data, store: UInt64) -> [WriteLogRecord]? {
    let file = Data(file)
    guard file.count >= WriteLog.start, file.prefix(8) == WriteLog.magic, file.integer(at: 8) == UInt64(1),
      file.integer(at: WriteLog.storeOffset) == store
    else { return nil }
    var mark = WriteLog.Mark(file.integer(at: WriteLog.headOffset))
    var records: [WriteLogRecord] = []
    var hasWrapped = false
    while mark.offset >= WriteLog.start, mark.offset + 8 <= file.count {
      if file.integer(at: mark.offset) == UInt32.max, !hasWrapped {
        (mark.offset, hasWrapped) = (WriteLog.start, true)
        continue
      }
      guard let (record, size) = record(of: file, at: mark.offset), record.number == mark.number else { break }
      records.append(record)
      mark.offset += size
      mark.number += 1
    }
    return records
  }

  private static func record(of file: Data, at offset: Int) -> (record: WriteLogRecord, size: Int)? {
    let size = Int(file.integer(at: offset) as UInt32)
    guard size >= header, size % 8 == 0, size <= file.count - offset else { return nil }
    let sum = file.withUnsafeBytes {
      checksumOfBytes(UnsafeRawBufferPointer(rebasing: $0[(offset + 8)..<(offset + size)]))
    }
    guard file.integer(at: offset + 4) == sum else { return nil }
    var operations: [(key: KeyName, operation: WriteBatch.Operation)] = []
    var next = offset + header
    let end = offset + size
    for _ in 0..<(file.integer(at: offset + 24) as UInt32) {
      guard next + itemHeader <= end else { return nil }
      let sizes: UInt64 = file.integer(at: next)
      let (key, attributes) = (Int(sizes & 0xFFFF), Int(sizes >> 16 & 0xFFFF))
      let value = Int(file.integer(at: next + 8) as UInt32)
      next += itemHeader
      guard next + key + attributes + value <= end,
        let name = String(validating: file[next..<(next + key)], as: UTF8.self), let key = try? KeyName(name),
        let stored = ValueAttributes(encoded: file[(next + key.size)..<(next + key.size + attributes)])
      else { return nil }
      next += key.size + attributes
      operations.append((key, sizes >> 32 == 1 ? .put(key, Data(file[next..<(next + value)]), stored) : .delete(key)))
      next += value
    }
    let revision = StoreRevision(file.integer(at: offset + 16))
    return (WriteLogRecord(number: file.integer(at: offset + 8), revision: revision, operations: operations), size)
  }

  /// The transaction of a commit: the log, and the number of the first record that is not part of it.
  static func transaction(log: UInt64, number: UInt64) -> TransactionID {
    var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) {
      $0.storeBytes(of: log.bigEndian, as: UInt64.self)
      $0.storeBytes(of: number.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return TransactionID(uuid: bytes)
  }

  /// Returns the number in a transaction of a log; `nil` for any other transaction.
  static func number(_ transaction: TransactionID, ofLog log: UInt64) -> UInt64? {
    withUnsafeBytes(of: transaction.uuid) {
      UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) == log
        ? UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) : nil
    }
  }
}

extension Data {
  /// Returns the number at an offset, least significant byte first.
  fileprivate func integer<N: FixedWidthInteger>(at offset: Int) -> N {
    withUnsafeBytes { N(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: N.self)) }
  }
}
