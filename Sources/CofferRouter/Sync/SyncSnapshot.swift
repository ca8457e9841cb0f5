public import Foundation

/// The state of synced keys, as sent to other devices.
///
/// A snapshot lists each key that it is about, with a value or as absent. **A key that is not listed is unaffected**:
/// the receiver keeps what it has. Of a family it lists all members, so one that is missing is absent.
///
/// ```swift
/// let snapshot = try SyncSnapshot(decoding: received)
/// switch snapshot.state(of: "theme") {
/// case .value(let value): apply(value.data)
/// case .absent: reset()
/// case .notIncluded: break
/// }
/// ```
///
/// A value has its attributes, including the date from which it is absent: it expires on the receiving device without
/// another snapshot, by the clock of that device.
///
/// As JSON it is a list of objects in the order of the names' bytes. A JSON object would merge names that differ only
/// in their Unicode form. An object of the list has:
/// - `name` with `value` and, if there are any, `attributes`, both in Base64;
/// - `name` alone for an absent value;
/// - `family` with the start of its members' names.
public struct SyncSnapshot: Hashable, Sendable {
  /// A stored value.
  public struct Value: Hashable, Sendable {
    /// The serialized value.
    public var data: Data
    /// The attributes that are stored with the value, such as its expiry or the type of a preference.
    public var attributes: ValueAttributes

    /// Creates a value.
    public init(_ data: Data, attributes: ValueAttributes = .none) {
      self.data = data
      self.attributes = attributes
    }
  }

  /// What a snapshot says about one key.
  public enum State: Hashable, Sendable {
    /// The key had this value.
    case value(Value)
    /// The key had no value, or its value has expired.
    case absent
    /// The snapshot says nothing about the key.
    case notIncluded
  }

  /// The values by the names of their keys.
  public var values: [KeyName: Value]
  /// The names of the keys without a value, except members of families.
  public var absent: Set<KeyName>
  /// The prefixes of the families of which the snapshot contains every member.
  public var families: Set<KeyName>

  /// Creates a snapshot; by default an empty one, which says nothing about any key.
  public init(values: [KeyName: Value] = [:], absent: Set<KeyName> = [], families: Set<KeyName> = []) {
    self.values = values
    self.absent = absent
    self.families = families
  }

  /// Whether the snapshot says nothing about any key.
  public var isEmpty: Bool { values.isEmpty && absent.isEmpty && families.isEmpty }

  /// Returns what the snapshot says about a key.
  /// - Parameters:
  ///   - key: the name of the key.
  ///   - date: the date at which a value may have expired; by default the current one.
  public func state(of key: KeyName, at date: Date = Date()) -> State {
    if let value = values[key] { return value.attributes.isExpired(at: date) ? .absent : .value(value) }
    return absent.contains(key) || families.contains { key.hasPrefix($0) } ? .absent : .notIncluded
  }

  /// Adds what another snapshot says about other keys.
  mutating func add(_ other: SyncSnapshot) {
    values.merge(other.values) { $1 }
    absent.formUnion(other.absent)
    families.formUnion(other.families)
  }
}

extension SyncSnapshot: Codable {
  private struct Item: Codable {
    var name: String?
    var value: Data?
    var attributes: Data?
    var family: String?
  }

  /// Decodes a snapshot.
  /// - Throws: `DecodingError`, and `StorageError` for an invalid name.
  public init(from decoder: any Decoder) throws {
    self.init()
    for item in try [Item](from: decoder) {
      guard try add(item) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "An item is invalid or occurs twice."))
      }
    }
  }

  /// Adds one item; returns `false` if it is malformed or its name was listed before.
  private mutating func add(_ item: Item) throws -> Bool {
    switch (item.name, item.value, item.family) {
    case (let name?, let data?, nil):
      let (key, encoded) = (try KeyName(name), item.attributes ?? Data())
      guard let attributes = ValueAttributes(encoded: encoded), !absent.contains(key) else { return false }
      return values.updateValue(Value(data, attributes: attributes), forKey: key) == nil
    case (let name?, nil, nil):
      let key = try KeyName(name)
      return item.attributes == nil && values[key] == nil && absent.insert(key).inserted
    case (nil, nil, let prefix?):
      let key = try KeyName(prefix)
      return item.attributes == nil && families.insert(key).inserted
    default: return false
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var items = values.map { key, value in
      let attributes = value.attributes.isEmpty ? nil : Data(value.attributes.encoded)
      return (key, Item(name: key.string, value: value.data, attributes: attributes))
    }
    items += absent.map { ($0, Item(name: $0.string)) }
    items.sort { $0.0 < $1.0 }
    try (families.sorted().map { Item(family: $0.string) } + items.map(\.1)).encode(to: encoder)
  }

  /// The snapshot as JSON. Equal snapshots have equal bytes.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(self)
    }
  }

  /// Decodes a snapshot from JSON.
  /// - Throws: `StorageError` with code `decodingFailed`.
  public init(decoding data: Data) throws {
    do { self = try JSONDecoder().decode(SyncSnapshot.self, from: data) } catch {
      throw StorageError(
        .decodingFailed, "The data from another device is not a snapshot.", advice: "Update the application there.",
        location: "sync")
    }
  }
}
