import Foundation

/// A writer of binary property lists: `CFBinaryPList.c` of Foundation describes the format.
struct BinaryPropertyListWriter {
  private var file = Data("bplist00".utf8)
  private var offsets: [Int] = []
  private let referenceSize: Int

  /// Returns a property list with a dictionary of these entries at its root.
  static func data(_ entries: [PreferenceValue.Entry]) -> Data {
    // The parts of a collection follow each other, the names of a dictionary before its values.
    var objects: [PreferenceValue] = [.dictionary(entries)]
    var parts: [Range<Int>] = []
    while parts.count < objects.count {
      let first = objects.count
      switch objects[parts.count] {
      case .array(let values): objects += values
      case .dictionary(let entries): objects += entries.map { .string($0.name) } + entries.map(\.value)
      default: break
      }
      parts.append(first..<objects.count)
    }
    var writer = Self(referenceSize: size(of: objects.count))
    for (object, parts) in zip(objects, parts) { writer.add(object, parts) }
    return writer.finished()
  }

  private init(referenceSize: Int) { self.referenceSize = referenceSize }

  private mutating func add(_ value: PreferenceValue, _ parts: Range<Int>) {
    offsets.append(file.count)
    switch value {
    case .boolean(let isTrue): file.append(isTrue ? 0x09 : 0x08)
    case .integer(let number): add(number)
    case .unsigned(let number):
      file += [0x14] + [UInt8](repeating: 0, count: 8)
      add(number, size: 8)
    case .real(let number):
      file.append(0x23)
      add(number.bitPattern, size: 8)
    case .date(let date):
      file.append(0x33)
      add(date.timeIntervalSinceReferenceDate.bitPattern, size: 8)
    case .data(let data):
      add(marker: 0x40, count: data.count)
      file += data
    case .string(let text) where text.utf8.allSatisfy({ $0 < 0x80 }):
      add(marker: 0x50, count: text.utf8.count)
      file += text.utf8
    case .string(let text):
      add(marker: 0x60, count: text.utf16.count)
      for unit in text.utf16 { add(UInt64(unit), size: 2) }
    case .array: add(marker: 0xA0, count: parts.count, parts)
    case .dictionary: add(marker: 0xD0, count: parts.count / 2, parts)
    }
  }

  /// A negative number has eight bytes.
  private mutating func add(_ number: Int64) {
    let size = number < 0 ? 8 : Self.size(of: Int(number))
    file.append(0x10 | UInt8(size.trailingZeroBitCount))
    add(UInt64(bitPattern: number), size: size)
  }

  private mutating func add(marker: UInt8, count: Int, _ parts: Range<Int> = 0..<0) {
    file.append(marker | UInt8(min(count, 0x0F)))
    if count >= 0x0F { add(Int64(count)) }
    for part in parts { add(UInt64(part), size: referenceSize) }
  }

  private mutating func add(_ number: UInt64, size: Int) {
    for shift in (0..<size).reversed() { file.append(UInt8(truncatingIfNeeded: number >> UInt64(shift * 8))) }
  }

  /// Returns the number of bytes of a number that is not negative: 1, 2, 4 or 8.
  private static func size(of number: Int) -> Int {
    number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : number <= 0xFFFF_FFFF ? 4 : 8
  }

  /// Appends the table of offsets and the trailer.
  private mutating func finished() -> Data {
    let (table, size) = (file.count, Self.size(of: file.count))
    for offset in offsets { add(UInt64(offset), size: size) }
    file += [0, 0, 0, 0, 0, 0, UInt8(size), UInt8(referenceSize)]
    for number in [offsets.count, 0, table] { add(UInt64(number), size: 8) }
    return file
  }
}
