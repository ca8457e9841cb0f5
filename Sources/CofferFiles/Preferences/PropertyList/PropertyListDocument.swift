package import CofferCore
package import Foundation

/// A property list with a dictionary at its root, as `UserDefaults` writes it.
package struct PropertyListDocument: Sendable {
  private var present: [KeyName: PreferenceValue] = [:]
  /// The entries whose names no key can have. They are preserved unchanged.
  package var others: [PreferenceValue.Entry] = [] { didSet { lines = nil } }
  package var isBinary = false { didSet { lines = nil } }
  /// The same entries as they are in the file, once it was written as XML; `nil` if it cannot be written from them.
  fileprivate var lines: XMLPropertyListLines?

  package init() {}

  package var values: [KeyName: PreferenceValue] {
    get { present }
    set { (present, lines) = (newValue, nil) }
  }

  /// Returns the value of a key without copying the others.
  fileprivate func value(of key: KeyName) -> PreferenceValue? { present[key] }

  /// Changes one value, and its line in the file alone.
  fileprivate mutating func set(_ key: KeyName, to value: PreferenceValue?) {
    present[key] = value
    if lines?.set(PreferenceName(key).string, to: value) == false { lines = nil }
  }
}

/// The file format of preferences: a property list.
package struct PropertyListFormat: DocumentFormat {
  package let keepsSecrets = false
  package let holdsPropertyLists = true

  package func missing() -> PropertyListDocument { PropertyListDocument() }

  package init() {}

  /// Decodes a file.
  /// - Throws: `valueTooLarge` for a binary file whose shared objects expand beyond all measure, and `damaged` for
  ///   anything else.
  package func decode(_ file: Data) throws -> PropertyListDocument {
    guard let (root, isBinary) = try Self.root(of: file), case .dictionary(let entries) = root else {
      throw StorageError(.damaged, "The preferences are damaged: the file is not a property list of names and values.")
    }
    var document = PropertyListDocument()
    document.isBinary = isBinary
    var others: [PreferenceValue.Entry] = []
    for entry in entries {
      if let key = PreferenceName.key(of: entry.name) {
        document.set(key, to: entry.value)
      } else {
        others.append(entry)
      }
    }
    for entry in others {
      if let key = PreferenceName.escapedKey(of: entry.name), document.value(of: key) == nil {
        document.set(key, to: entry.value)
      } else {
        document.others.append(entry)
      }
    }
    return document
  }

  /// Returns the value at the root of a file, and whether the file is binary; `nil` for no property list.
  private static func root(of file: Data) throws -> (PreferenceValue, isBinary: Bool)? {
    if let value = try XMLPropertyListReader.value(of: file) { return (value, false) }
    if file.starts(with: Array("bplist".utf8)) {
      guard let count = try BinaryPropertyList(file)?.countIfValid(),
        let root = try? PropertyListSerialization.propertyList(from: file, options: [], format: nil),
        let value = PreferenceValue(propertyList: root, of: file.count)
      else { return nil }
      // Of two entries with equal names, Foundation has dropped one.
      return value.count == count ? (value, true) : nil
    }
    guard let list = xml(file),
      let root = try? PropertyListSerialization.propertyList(from: list, options: [], format: nil)
    else { return nil }
    return PreferenceValue(propertyList: root, of: file.count).map { ($0, false) }
  }

  /// Returns what Foundation can read as an XML property list; `nil` for other files. Foundation reads any other text
  /// in the old OpenStep format: a few blanks, which a failing disk may leave of a file, become an empty dictionary.
  private static func xml(_ file: Data) -> Data? {
    let list = utf16(file) ?? file
    let text = list.starts(with: utf8Mark) ? list.dropFirst(utf8Mark.count) : list[...]
    return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<") ? list : nil
  }

  private static let utf8Mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Returns a text in UTF-16 as UTF-8 with a byte order mark, which takes precedence over the encoding that its XML
  /// declares; `nil` for other files. Foundation reads UTF-16 only after a byte order mark, which it requires of none.
  private static func utf16(_ file: Data) -> Data? {
    let isBigEndian: Bool
    switch Array(file.prefix(2)) {
    case [0xFE, 0xFF], [0x00, UInt8(ascii: "<")]: isBigEndian = true
    case [0xFF, 0xFE], [UInt8(ascii: "<"), 0x00]: isBigEndian = false
    default: return nil
    }
    guard file.count.isMultiple(of: 2) else { return nil }
    let units = file.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 2).map { offset in
        let unit = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
        return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
      }
    }
    guard let text = String(validating: units.first == 0xFEFF ? units.dropFirst() : units[...], as: UTF16.self) else {
      return nil
    }
    return Data(utf8Mark) + Data(text.utf8)
  }

  /// Encodes the document in its original format: XML unless it was binary, or unless XML would lose information.
  package func encode(_ document: inout PropertyListDocument) throws -> Data {
    if let file = document.lines?.file { return file }
    // Compared as `UserDefaults` compares names: of two canonically equivalent ones it would lose one. Those of keys
    // differ from each other.
    let taken = Set(document.others.map(\.name))
    var entries = document.others
    for (key, value) in document.values {
      let name = PreferenceName(key).string
      let isTaken = !taken.isEmpty && taken.contains(name)
      entries.append(PreferenceValue.Entry(isTaken ? PreferenceName.escaped(key) : name, value))
    }
    entries.sort { $0.name < $1.name }
    guard !document.isBinary, PreferenceValue.dictionary(entries).fitsIntoXML else {
      document.lines = nil
      return BinaryPropertyListWriter.data(entries)
    }
    let lines = XMLPropertyListLines(entries)
    // What other programs have named may change the names of keys, so that a line cannot be replaced alone.
    document.lines = document.others.isEmpty ? lines : nil
    return lines.data
  }

  // MARK: Values

  package func keys(of document: PropertyListDocument) -> [KeyName] { Array(document.values.keys) }

  package func content(of key: KeyName, in document: PropertyListDocument) -> SlotContent? {
    document.value(of: key).map { SlotContent($0.bytes, attributes: $0.attributes) }
  }

  package func presence(of key: KeyName, in document: PropertyListDocument) -> SlotPresence? {
    document.value(of: key).map { _ in SlotPresence(stamp: nil) }
  }

  package func set(
    _ key: KeyName, to item: PreferenceItem, version: SlotID, in document: inout PropertyListDocument
  ) {
    document.set(key, to: item.value(replacing: document.value(of: key)))
  }

  package func attributes(
    of key: KeyName, set data: Data, tag: UInt8, in document: @autoclosure () throws -> PropertyListDocument
  ) throws -> ValueAttributes {
    let item = PreferenceItem(data: data, kind: PreferenceKind(rawValue: tag) ?? .asBefore)
    return try item.value(replacing: document().value(of: key)).attributes
  }

  package func tag(of attributes: ValueAttributes) -> UInt8 { attributes[.preferenceKind] ?? 0 }

  package func remove(_ key: KeyName, from document: inout PropertyListDocument) {
    document.set(key, to: nil)
  }

  // MARK: Staged values

  /// Encodes a staged value as one byte for its kind, its complement, since the journal's checksum of the value does
  /// not cover the kind, and the bytes of the value.
  package func encodeStaged(_ data: Data, as id: SlotID, for key: KeyName?, tag: UInt8) -> Data {
    Data([tag, ~tag]) + data
  }

  package func decodeStaged(_ file: Data, of id: SlotID) throws -> (key: KeyName?, item: PreferenceItem) {
    let head = Array(file.prefix(2))
    guard head.count == 2, head[1] == ~head[0], let kind = PreferenceKind(rawValue: head[0]) else {
      throw StorageError(.damaged, "The kind of a staged preference is damaged.")
    }
    return (nil, PreferenceItem(data: Data(file.dropFirst(2)), kind: kind))
  }

  package func data(of item: PreferenceItem) -> Data { item.data }

  package func stamp(of id: SlotID) -> SlotStamp? { nil }
}

/// The bytes of a staged preference and its requested type.
package struct PreferenceItem: Sendable {
  let data: Data
  let kind: PreferenceKind

  /// Returns the value that replaces a preference.
  func value(replacing old: PreferenceValue?) -> PreferenceValue {
    let asked = kind == .asBefore ? nil : PreferenceValue(data, as: kind)
    return asked ?? PreferenceValue(data, like: old)
  }
}

extension PreferenceValue {
  /// Converts what Foundation has decoded from a file of `size` bytes; `nil` if it has more values than the file may
  /// hold.
  init?(propertyList value: Any, of size: Int) {
    var budget = size + BinaryPropertyList.additionalValues
    self.init(propertyList: value, &budget)
  }

  private init?(propertyList value: Any, _ budget: inout Int) {
    budget -= 1
    guard budget >= 0 else { return nil }
    switch value {
    case let number as Bool where type(of: value) == Bool.self: self = .boolean(number)  // not the numbers 0 and 1
    case let value as String: self = .string(value)
    case let value as Data: self = .data(value)
    case let value as Date: self = .date(value)
    case let value as NSNumber: self.init(value)
    case let values as [Any]:
      var elements: [PreferenceValue] = []
      for value in values {
        guard let element = PreferenceValue(propertyList: value, &budget) else { return nil }
        elements.append(element)
      }
      self = .array(elements)
    case let values as [AnyHashable: Any]:  // `NSDictionary` crashes on a key that is NaN.
      var entries: [PreferenceValue.Entry] = []
      for (name, value) in values {
        guard let name = name as? String, let value = PreferenceValue(propertyList: value, &budget) else {
          return nil
        }
        entries.append(PreferenceValue.Entry(name, value))
      }
      self = .dictionary(entries.sorted { $0.name < $1.name })
    default: return nil
    }
  }

  /// Creates a number of the type that its Objective-C type encoding specifies.
  private init(_ number: NSNumber) {
    switch number.objCType.pointee {
    case CChar(bitPattern: UInt8(ascii: "c")), CChar(bitPattern: UInt8(ascii: "B")): self = .boolean(number.boolValue)
    case CChar(bitPattern: UInt8(ascii: "d")), CChar(bitPattern: UInt8(ascii: "f")): self = .real(number.doubleValue)
    case CChar(bitPattern: UInt8(ascii: "Q")):
      self = Int64(exactly: number.uint64Value).map { .integer($0) } ?? .unsigned(number.uint64Value)
    default: self = .integer(number.int64Value)
    }
  }

  /// The number of values, and of the names of dictionary entries.
  fileprivate var count: Int {
    switch self {
    case .array(let values): values.reduce(1) { $0 + $1.count }
    case .dictionary(let entries): entries.reduce(1) { $0 + 1 + $1.value.count }
    default: 1
    }
  }

  /// Whether an XML property list represents the value exactly. It has no fractions of seconds, control characters,
  /// five-digit years or negative zero, which Foundation drops silently, and a dictionary of one entry of a certain
  /// name is none to it.
  var fitsIntoXML: Bool {
    switch self {
    case .string(let text): text.unicodeScalars.allSatisfy(\.isXML)
    case .date(let date):
      date.timeIntervalSinceReferenceDate.rounded() == date.timeIntervalSinceReferenceDate
        && (Date.distantPast...Date.distantFuture).contains(date)
    case .array(let values): values.allSatisfy(\.fitsIntoXML)
    case .dictionary(let entries):
      entries.allSatisfy(\.fitsIntoXML) && (entries.count != 1 || entries[0].name != XMLPropertyList.reservedName)
    case .real(let number): number != 0 || number.sign == .plus
    case .integer, .unsigned, .boolean, .data: true
    }
  }
}

extension PreferenceValue.Entry {
  var fitsIntoXML: Bool { name.unicodeScalars.allSatisfy(\.isXML) && value.fitsIntoXML }
}

extension Unicode.Scalar {
  /// Whether the scalar is a character of XML 1.0 that parsers preserve.
  fileprivate var isXML: Bool {
    self == "\t" || self == "\n" || (value >= 0x20 && ![0xFEFF, 0xFFFE, 0xFFFF].contains(value))
  }
}
