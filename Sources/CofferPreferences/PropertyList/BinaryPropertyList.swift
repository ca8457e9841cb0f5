import Foundation

/// A validator of the object table of a binary property list, for use before Foundation decodes the file.
///
/// Collections refer to their elements by number. Foundation decodes every reference separately, so thirty arrays each
/// of which refers to the next one twice expand to a billion, and the process hangs. No real writer makes such files:
/// they refer to each collection once and share only scalars. Foundation also crashes on some damaged files: on sets,
/// which the format has a marker for although property lists have none, and on dictionary keys that are not strings.
struct BinaryPropertyList {
  private let file: Data
  private let offsetSize, referenceSize, count, tableOffset: Int

  /// Reads the trailer; `nil` if it is invalid.
  init?(_ file: Data) {
    guard file.count >= 40 else { return nil }
    self.file = file
    let trailer = file.startIndex + file.count - 32
    offsetSize = Int(file[trailer + 6])
    referenceSize = Int(file[trailer + 7])
    guard let count = Self.number(file, trailer + 8, 8), let table = Self.number(file, trailer + 24, 8),
      (1...8).contains(offsetSize), (1...8).contains(referenceSize), count <= file.count, table <= file.count,
      count * offsetSize <= file.count - table
    else { return nil }
    self.count = count
    tableOffset = table
  }

  /// The meaning of object markers, by their first four bits.
  private enum Kind {
    static let simple: Set<UInt8> = [0x00, 0x10, 0x20, 0x30, 0x40]  // Booleans, integers, reals, dates, data
    static let text: Set<UInt8> = [0x50, 0x60]
    static let array: UInt8 = 0xA0
    static let dictionary: UInt8 = 0xD0
  }

  /// Whether the file contains only property list types, refers to each collection at most once and never to itself,
  /// and all dictionary keys are strings. Linear in the size of the file.
  var isTree: Bool {
    var isNamed = [Bool](repeating: false, count: count)
    for object in 0..<count {
      guard let kind = kind(of: object), let references = references(of: object) else { return false }
      let isKnown =
        Kind.simple.contains(kind) || Kind.text.contains(kind) || kind == Kind.array || kind == Kind.dictionary
      guard isKnown else { return false }
      for (index, reference) in references.enumerated() {
        guard reference < count, let other = self.kind(of: reference) else { return false }
        if kind == Kind.dictionary, index < references.count / 2, !Kind.text.contains(other) { return false }
        guard other == Kind.array || other == Kind.dictionary else { continue }
        guard !isNamed[reference] else { return false }
        isNamed[reference] = true
      }
    }
    return true
  }

  private func offset(of object: Int) -> Int? {
    Self.number(file, file.startIndex + tableOffset + object * offsetSize, offsetSize)
      .flatMap { $0 < file.count ? file.startIndex + $0 : nil }
  }

  /// Returns the first four bits of an object's marker; `nil` for no object and for the markers of null and fill bytes.
  private func kind(of object: Int) -> UInt8? {
    guard let mark = offset(of: object).map({ file[$0] }) else { return nil }
    return mark >= 0x10 || mark == 0x08 || mark == 0x09 ? mark & 0xF0 : nil
  }

  /// Returns the references of a collection: the elements of an array, or the keys and then the values of a dictionary.
  /// Empty for other objects.
  private func references(of object: Int) -> [Int]? {
    guard let start = offset(of: object) else { return nil }
    let kind = file[start] & 0xF0
    guard kind == Kind.array || kind == Kind.dictionary else { return [] }
    var (offset, elements) = (start + 1, Int(file[start] & 0x0F))
    if elements == 0x0F {
      // The count is a separate integer object: 0x1n, then 2 to the power of n bytes.
      guard offset < file.endIndex, file[offset] & 0xF0 == 0x10, file[offset] & 0x0F <= 3 else { return nil }
      let size = 1 << Int(file[offset] & 0x0F)
      guard let number = Self.number(file, offset + 1, size) else { return nil }
      (offset, elements) = (offset + 1 + size, number)
    }
    guard elements <= file.count else { return nil }
    let references = kind == Kind.dictionary ? elements * 2 : elements
    guard references * referenceSize <= file.endIndex - offset else { return nil }
    var numbers: [Int] = []
    for index in 0..<references {
      guard let number = Self.number(file, offset + index * referenceSize, referenceSize) else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  /// Reads a big-endian number; `nil` beyond the end of the file or the range of `Int`.
  private static func number(_ file: Data, _ start: Int, _ size: Int) -> Int? {
    guard start >= file.startIndex, start <= file.endIndex - size else { return nil }
    return Int(exactly: file[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
