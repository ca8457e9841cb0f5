public import Foundation

/// The values of all synced keys, as sent to other devices.
///
/// As JSON it is a list of objects with `name` and `value`, in the order of the names' bytes. A JSON object would merge
/// names that differ only in their Unicode form.
public struct SyncSnapshot: Hashable, Codable, Sendable {
  /// The serialized values by the names of their keys.
  public var values: [StoreKey: Data]

  private struct Item: Codable {
    let name: String
    let value: Data
  }

  /// Creates a snapshot.
  public init(values: [StoreKey: Data]) { self.values = values }

  /// Decodes a snapshot.
  /// - Throws: `DecodingError`, and `StorageError` for an invalid name.
  public init(from decoder: any Decoder) throws {
    values = [:]
    for item in try [Item](from: decoder) {
      guard values.updateValue(item.value, forKey: try StoreKey(item.name)) == nil else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "A name occurs twice."))
      }
    }
  }

  public func encode(to encoder: any Encoder) throws {
    try values.sorted { $0.key < $1.key }.map { Item(name: $0.key.string, value: $0.value) }.encode(to: encoder)
  }

  /// The snapshot as JSON. Equal values have equal bytes.
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
