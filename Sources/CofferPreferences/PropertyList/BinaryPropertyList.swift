import Foundation

/// A look at the object table of a binary property list before Foundation reads it.
///
/// Its collections refer to each other by number. Foundation takes each reference apart anew, so thirty arrays of which
/// each names the next one twice become a billion, and the process hangs. Nobody writes such files: every collection is
/// named once, and only text, numbers and the like are shared.
struct BinaryPropertyList {
  private let file: Data
  private let offsetSize, referenceSize, count, tableOffset: Int

  /// `nil` for a file whose trailer cannot be.
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

  /// Whether no collection is named twice, nor names itself. Linear in the size of the file.
  var isTree: Bool {
    var isNamed = [Bool](repeating: false, count: count)
    for object in 0..<count {
      guard let references = references(of: object) else { return false }
      for reference in references {
        guard reference < count else { return false }
        guard isCollection(reference) else { continue }
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

  private func isCollection(_ object: Int) -> Bool {
    offset(of: object).map { [0xA0, 0xC0, 0xD0].contains(file[$0] & 0xF0) } ?? false
  }

  /// What a collection names: the elements of an array, the names and values of a dictionary. Empty for other objects.
  private func references(of object: Int) -> [Int]? {
    guard let start = offset(of: object) else { return nil }
    let kind = file[start] & 0xF0
    guard [0xA0, 0xC0, 0xD0].contains(kind) else { return [] }
    var (place, elements) = (start + 1, Int(file[start] & 0x0F))
    if elements == 0x0F {
      // The number is an object of its own: 0x1n, then 2 to the power of n bytes.
      guard place < file.endIndex, file[place] & 0xF0 == 0x10, file[place] & 0x0F <= 3 else { return nil }
      let size = 1 << Int(file[place] & 0x0F)
      guard let number = Self.number(file, place + 1, size) else { return nil }
      (place, elements) = (place + 1 + size, number)
    }
    guard elements <= file.count else { return nil }
    let references = kind == 0xD0 ? elements * 2 : elements
    guard references * referenceSize <= file.endIndex - place else { return nil }
    var numbers: [Int] = []
    for index in 0..<references {
      guard let number = Self.number(file, place + index * referenceSize, referenceSize) else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  /// Bytes as a number, most significant first; `nil` beyond the end and beyond `Int`.
  private static func number(_ file: Data, _ start: Int, _ size: Int) -> Int? {
    guard start >= file.startIndex, start <= file.endIndex - size else { return nil }
    return Int(exactly: file[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
