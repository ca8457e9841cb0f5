import CofferCore
import CofferSQLite
import Foundation

/// A property list with a dictionary at its root, as `UserDefaults` writes it.
struct PropertyListDocument: Sendable {
  var values: [Key: PreferenceValue] = [:]
  /// What has a name that no key can have. It is kept as it is.
  var others: [PreferenceEntry] = []
  var isBinary = false
}

/// Writes preferences into a property list.
struct PropertyListFormat: DocumentFormat {
  let keepsSecrets = false
  let empty = PropertyListDocument()

  func decode(_ file: Data) throws -> PropertyListDocument {
    var format = PropertyListSerialization.PropertyListFormat.xml
    guard let root = try? PropertyListSerialization.propertyList(from: file, options: [], format: &format),
      case .dictionary(let entries)? = PreferenceValue(propertyList: root)
    else {
      throw StorageError(.damaged, "The preferences are damaged: the file is not a property list of names and values.")
    }
    var document = PropertyListDocument()
    document.isBinary = format == .binary
    for entry in entries {
      if let key = PreferenceName.key(of: entry.name) {
        document.values[key] = entry.value
      } else {
        document.others.append(entry)
      }
    }
    return document
  }

  /// The file is of the kind it was: XML unless it was binary, or unless XML would lose something.
  func encode(_ document: PropertyListDocument) throws -> Data {
    let root = NSMutableDictionary()
    for (key, value) in document.values { root[PreferenceName(key).string] = value.propertyList }
    for entry in document.others { root[entry.name] = entry.value.propertyList }
    let isBinary =
      document.isBinary || document.values.values.contains { !$0.fitsIntoXML }
      || document.others.contains { !$0.value.fitsIntoXML }
    return try PropertyListSerialization.data(
      fromPropertyList: root, format: isBinary ? .binary : .xml, options: 0)
  }

  // MARK: Values

  func keys(of document: PropertyListDocument) -> [Key] { Array(document.values.keys) }

  func content(of key: Key, in document: PropertyListDocument) -> SlotContent? {
    document.values[key].map { SlotContent($0.bytes) }
  }

  func set(
    _ key: Key, to item: PreferenceItem, version: SlotID, in document: inout PropertyListDocument
  ) {
    let old = document.values[key]
    let asked = item.kind == .asBefore ? nil : PreferenceValue(item.data, as: item.kind)
    document.values[key] = asked ?? PreferenceValue(item.data, like: old)
  }

  func remove(_ key: Key, from document: inout PropertyListDocument) { document.values[key] = nil }

  // MARK: Values that wait

  /// One byte of kind, then the value.
  func encodeWaiting(_ data: Data, as id: SlotID, tag: UInt8) -> Data { Data([tag]) + data }

  func decodeWaiting(_ file: Data, of id: SlotID) throws -> (data: Data, item: PreferenceItem) {
    guard let first = file.first, let kind = PreferenceKind(rawValue: first) else {
      throw StorageError(.damaged, "A value that waits for its place is damaged.")
    }
    let data = Data(file.dropFirst())
    return (data, PreferenceItem(data: data, kind: kind))
  }

  func stamp(of id: SlotID) -> SlotStamp? { nil }
}

/// Bytes and which type of preference they are to be.
struct PreferenceItem: Sendable {
  let data: Data
  let kind: PreferenceKind
}

extension PreferenceValue {
  /// What Foundation has read.
  init?(propertyList value: Any) {
    switch value {
    case let value as Bool where type(of: value as Any) == Bool.self: self = .boolean(value)
    case let value as String: self = .string(value)
    case let value as Data: self = .data(value)
    case let value as Date: self = .date(value)
    case let value as NSNumber: self.init(value)
    case let values as [Any]:
      let elements = values.compactMap { PreferenceValue(propertyList: $0) }
      guard elements.count == values.count else { return nil }
      self = .array(elements)
    case let values as NSDictionary:
      var entries: [PreferenceEntry] = []
      for (name, value) in values {
        guard let name = name as? String, let value = PreferenceValue(propertyList: value) else { return nil }
        entries.append(PreferenceEntry(name, value))
      }
      self = .dictionary(entries.sorted { $0.name < $1.name })
    default: return nil
    }
  }

  /// Which number it is, Foundation tells by the letter of its C type.
  private init(_ number: NSNumber) {
    switch number.objCType.pointee {
    case CChar(bitPattern: UInt8(ascii: "c")), CChar(bitPattern: UInt8(ascii: "B")): self = .boolean(number.boolValue)
    case CChar(bitPattern: UInt8(ascii: "d")), CChar(bitPattern: UInt8(ascii: "f")): self = .real(number.doubleValue)
    case CChar(bitPattern: UInt8(ascii: "Q")):
      self = Int64(exactly: number.uint64Value).map { .integer($0) } ?? .unsigned(number.uint64Value)
    default: self = .integer(number.int64Value)
    }
  }

  /// What Foundation writes.
  var propertyList: Any {
    switch self {
    case .string(let value): value
    case .integer(let value): NSNumber(value: value)
    case .unsigned(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .boolean(let value): value
    case .date(let value): value
    case .data(let value): value
    case .array(let values): values.map(\.propertyList)
    case .dictionary(let entries):
      entries.reduce(into: NSMutableDictionary()) { $0[$1.name] = $1.value.propertyList }
    }
  }

  /// XML has no fractions of seconds and no control characters; Foundation's drops them without a word.
  var fitsIntoXML: Bool {
    switch self {
    case .string(let text): text.unicodeScalars.allSatisfy(\.isXML)
    case .date(let date): date.timeIntervalSinceReferenceDate.rounded() == date.timeIntervalSinceReferenceDate
    case .array(let values): values.allSatisfy(\.fitsIntoXML)
    case .dictionary(let entries): entries.allSatisfy(\.value.fitsIntoXML)
    case .integer, .unsigned, .real, .boolean, .data: true
    }
  }
}

extension Unicode.Scalar {
  /// Whether it is a character of XML 1.0 that its readers leave as it is.
  fileprivate var isXML: Bool {
    self == "\t" || self == "\n" || (value >= 0x20 && ![0xFEFF, 0xFFFE, 0xFFFF].contains(value))
  }
}
