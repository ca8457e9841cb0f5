import CofferCore
import Foundation

/// A validator of the object table of a binary property list, for use before Foundation decodes the file.
///
/// Collections refer to their elements by number, and writers may refer to one object many times: Foundation's to equal
/// scalars, Python's to a collection that is the same object. Foundation decodes every reference separately, so thirty
/// arrays each of which refers to the next one twice expand to a billion, and the process hangs. Foundation also
/// crashes on some damaged files: on sets, which the format has a marker for although property lists have none, and on
/// dictionary keys that are not strings.
struct BinaryPropertyList {
  private let file: Data
  private let offsetSize, referenceSize, count, top, tableOffset: Int

  /// Reads the trailer; `nil` if it is invalid.
  init?(_ file: Data) {
    guard file.count >= 40 else { return nil }
    self.file = file
    let trailer = file.startIndex + file.count - 32
    offsetSize = Int(file[trailer + 6])
    referenceSize = Int(file[trailer + 7])
    guard let count = Self.number(file, trailer + 8, 8), let top = Self.number(file, trailer + 16, 8),
      let table = Self.number(file, trailer + 24, 8), top < count, (1...8).contains(offsetSize),
      (1...8).contains(referenceSize), count <= file.count, table <= file.count,
      count * offsetSize <= file.count - table
    else { return nil }
    self.count = count
    self.top = top
    tableOffset = table
  }

  /// The meaning of object markers, by their first four bits.
  private enum Kind {
    static let simple: Set<UInt8> = [0x00, 0x20, 0x30]  // Booleans, reals, dates
    static let integer: UInt8 = 0x10
    static let data: UInt8 = 0x40
    static let ascii: UInt8 = 0x50
    static let utf16: UInt8 = 0x60
    static let text: Set<UInt8> = [ascii, utf16]
    static let array: UInt8 = 0xA0
    static let dictionary: UInt8 = 0xD0
  }

  /// The number of values that a file may hold in addition to one for each of its bytes, once each reference to an
  /// object is replaced by a copy of it.
  static let additionalValues = 1 << 18
  /// The number of bytes that the texts and data in such copies may have in addition to the size of the file.
  private static let additionalBytes = 1 << 28

  /// The size of a value once each reference to an object is replaced by a copy of it.
  private struct Expansion {
    /// The number of values, and of the names of dictionary entries.
    var values = 1
    var bytes = 0
    /// The number of levels below the value.
    var height = 0
  }

  /// What has been found out about the objects.
  private struct Findings {
    var expansions: [Expansion?]
    /// The number of references that may still be read: objects that overlap would have more than the file has bytes.
    var references: Int
  }

  /// Returns the number of values and names of dictionary entries that the file expands to; `nil` unless everything
  /// that the root refers to is of a property list type, all dictionary keys are strings, and no collection contains
  /// itself. Linear in the size of the file.
  /// - Throws: `valueTooLarge` for a file whose objects are shared so often that it expands beyond all measure.
  func countIfValid() throws(StorageError) -> Int? {
    var findings = Findings(expansions: Array(repeating: nil, count: count), references: file.count)
    guard let expansion = expansion(of: top, depth: 0, &findings) else { return nil }
    guard expansion.values <= maximum.values, expansion.bytes <= maximum.bytes else {
      throw StorageError(
        .valueTooLarge,
        "The property list refers to its objects so often that it would expand to more than \(maximum.values) values "
          + "or \(maximum.bytes) bytes.",
        advice: "Write it without repeated references, as XML for example. Nothing was changed.")
    }
    return expansion.values
  }

  private var maximum: Expansion {
    Expansion(values: file.count + Self.additionalValues, bytes: file.count + Self.additionalBytes)
  }

  /// Returns the expansion of an object, at most one more than the maximum; `nil` for an invalid one and for one that
  /// contains itself, whose depth has no end.
  private func expansion(of object: Int, depth: Int, _ findings: inout Findings) -> Expansion? {
    if let known = findings.expansions[object] {
      return depth + known.height <= XMLPropertyList.maximumDepth ? known : nil
    }
    guard depth <= XMLPropertyList.maximumDepth, let kind = kind(of: object), let references = references(of: object)
    else {
      return nil
    }
    var whole = Expansion()
    switch kind {
    case _ where Kind.simple.contains(kind): break
    case Kind.integer: guard isInteger(object) else { return nil }
    case Kind.data, Kind.ascii, Kind.utf16:
      guard let size = size(of: object) else { return nil }
      whole.bytes = kind == Kind.utf16 ? size.count * 2 : size.count
    case Kind.array, Kind.dictionary: findings.references -= references.count
    default: return nil
    }
    guard findings.references >= 0 else { return nil }
    for (index, reference) in references.enumerated() {
      guard reference < count, let part = expansion(of: reference, depth: depth + 1, &findings) else { return nil }
      if kind == Kind.dictionary, index < references.count / 2 {
        guard let other = self.kind(of: reference), Kind.text.contains(other) else { return nil }
      }
      whole.height = max(whole.height, part.height + 1)
      whole.values = min(whole.values + part.values, maximum.values + 1)
      whole.bytes = min(whole.bytes + part.bytes, maximum.bytes + 1)
    }
    findings.expansions[object] = whole
    return whole
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

  /// Whether an integer has at most 64 bits. Unsigned ones above those of `Int64` are written with 128, of which
  /// Foundation would silently drop the upper half.
  private func isInteger(_ object: Int) -> Bool {
    guard let start = offset(of: object), file[start] & 0x0F <= 4 else { return false }
    return file[start] & 0x0F < 4 || Self.number(file, start + 1, 8) == 0
  }

  /// Returns the number of elements, bytes or characters of an object, and the offset of the first one.
  private func size(of object: Int) -> (count: Int, offset: Int)? {
    guard let start = offset(of: object) else { return nil }
    guard file[start] & 0x0F == 0x0F else { return (Int(file[start] & 0x0F), start + 1) }
    // The count is a separate integer object: 0x1n, then 2 to the power of n bytes.
    let offset = start + 1
    guard offset < file.endIndex, file[offset] & 0xF0 == 0x10, file[offset] & 0x0F <= 3 else { return nil }
    let size = 1 << Int(file[offset] & 0x0F)
    return Self.number(file, offset + 1, size).flatMap { $0 <= file.count ? ($0, offset + 1 + size) : nil }
  }

  /// Returns the references of a collection: the elements of an array, or the keys and then the values of a dictionary.
  /// Empty for other objects.
  private func references(of object: Int) -> [Int]? {
    guard let kind = kind(of: object) else { return nil }
    guard kind == Kind.array || kind == Kind.dictionary else { return [] }
    guard let (elements, offset) = size(of: object) else { return nil }
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
