package import CofferCore
package import Foundation

/// The types that can be requested for a preference. The numbers are part of the file format: never renumber them.
enum PreferenceKind: UInt8 {
  /// The type of the existing preference, if it can represent the bytes exactly; otherwise bytes.
  case asBefore = 0
  case data = 1
  case string = 2
  case number = 3
  case boolean = 4
  case date = 5
  case collection = 6
  /// A collection whose scalar values are all dates; in ``collection`` they would be numbers.
  case dates = 7
  /// A collection whose scalar values are all bytes; in ``collection`` they would be texts.
  case blobs = 8
  /// A collection whose scalar values are all floating-point numbers; in ``collection`` whole ones would be integers.
  case reals = 9
}

extension PreferenceValue {
  /// The attributes that the store reports for the value.
  package var attributes: ValueAttributes {
    var attributes = ValueAttributes()
    attributes[.preferenceKind] = kind.rawValue
    return attributes
  }

  var kind: PreferenceKind {
    switch self {
    case .string: .string
    case .integer, .unsigned, .real: .number
    case .boolean: .boolean
    case .date: .date
    case .data: .data
    case .array, .dictionary: collectionKind
    }
  }

  /// The value as the bytes that `TypedStore` decodes: text unchanged, numbers and collections as JSON.
  package var bytes: Data {
    switch self {
    case .data(let data): data
    case .string(let text): Data(text.utf8)
    case .integer(let value): Data("\(value)".utf8)
    case .unsigned(let value): Data("\(value)".utf8)
    case .real(let value): Data("\(value)".utf8)
    case .boolean(let value): Data("\(value)".utf8)
    case .date(let date): Data("\(date.timeIntervalSinceReferenceDate)".utf8)
    case .array, .dictionary: json
    }
  }

  /// Creates a value of a kind from its ``bytes``; `nil` if the kind does not represent them exactly.
  init?(_ bytes: Data, as kind: PreferenceKind) {
    let value: PreferenceValue?
    switch kind {
    case .asBefore, .data: value = .data(bytes)
    case .collection: value = Self.collection(bytes)
    case .dates, .blobs, .reals: value = Self.collection(bytes)?.replacingScalars(with: kind)
    case .string, .number, .boolean, .date:
      guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
      value = Self.scalar(text, kind)
    }
    guard let value, value.bytes == bytes else { return nil }
    self = value
  }

  /// Creates a value from bytes with the type of the preference that it replaces, if that represents them exactly: a
  /// tool that overwrites the text `dark` with `light` leaves text behind.
  init(_ bytes: Data, like old: PreferenceValue?) {
    if let old, old.bytes == bytes {
      self = old
    } else {
      self = old.flatMap { PreferenceValue(bytes, as: $0.kind) } ?? .data(bytes)
    }
  }

  /// Creates a collection from any JSON of it, with the type of the collection that it replaces; `nil` if that is no
  /// collection, or of another kind.
  package init?(json bytes: Data, like old: PreferenceValue) {
    guard let parsed = Self.collection(bytes) else { return nil }
    switch (old, parsed) {
    case (.array, .array), (.dictionary, .dictionary): break
    default: return nil
    }
    guard let value = old.kind == .collection ? parsed : parsed.replacingScalars(with: old.kind) else { return nil }
    self = value
  }

  private static func scalar(_ text: String, _ kind: PreferenceKind) -> PreferenceValue? {
    switch kind {
    case .string: .string(text)
    case .boolean: Bool(text).map { .boolean($0) }
    case .date: Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    default: Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) } ?? Double(text).map { .real($0) }
    }
  }

  // MARK: Collections

  private var json: Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return (try? encoder.encode(JSONTree(value: self))) ?? Data()
  }

  /// Returns the collection of a JSON text, unless it is nested so deeply that no property list could be read.
  private static func collection(_ bytes: Data) -> PreferenceValue? {
    let value = (try? JSONDecoder().decode(JSONTree.self, from: bytes))?.value
    return value.flatMap { $0.depth < XMLPropertyList.maximumDepth ? $0 : nil }
  }

  /// The number of collections that contain the innermost value.
  private var depth: Int {
    switch self {
    case .array(let values): 1 + (values.lazy.map(\.depth).max() ?? 0)
    case .dictionary(let entries): 1 + (entries.lazy.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }
}

/// A collection as JSON: bytes in Base64, dates as seconds, as `JSONEncoder` writes them.
private struct JSONTree: Codable {
  let value: PreferenceValue

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(value: PreferenceValue) { self.value = value }

  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: Name.self) {
      let entries = try object.allKeys.map { name in
        PreferenceValue.Entry(name.stringValue, try object.decode(Self.self, forKey: name).value)
      }
      value = .dictionary(entries.sorted { $0.name < $1.name })
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [PreferenceValue] = []
      while !list.isAtEnd { values.append(try list.decode(Self.self).value) }
      value = .array(values)
    } else {
      value = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> PreferenceValue {
    if let value = try? container.decode(Bool.self) { return .boolean(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
    if let value = try? container.decode(Double.self) { return .real(value) }
    return .string(try container.decode(String.self))
  }

  func encode(to encoder: any Encoder) throws {
    switch value {
    case .dictionary(let entries):
      var object = encoder.container(keyedBy: Name.self)
      for entry in entries {
        if let name = Name(stringValue: entry.name) { try object.encode(Self(value: entry.value), forKey: name) }
      }
    case .array(let values):
      var list = encoder.unkeyedContainer()
      for value in values { try list.encode(Self(value: value)) }
    default:
      var container = encoder.singleValueContainer()
      switch value {
      case .string(let value): try container.encode(value)
      case .integer(let value): try container.encode(value)
      case .unsigned(let value): try container.encode(value)
      case .real(let value): try container.encode(value)
      case .boolean(let value): try container.encode(value)
      case .date(let value): try container.encode(value)
      default: try container.encode(value.bytes)
      }
    }
  }
}
