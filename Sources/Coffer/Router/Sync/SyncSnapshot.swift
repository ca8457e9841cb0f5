public import Foundation

/// The values of all synced keys, as sent to other devices.
public struct SyncSnapshot: Hashable, Codable, Sendable {
  /// The serialized values by the names of their keys.
  public var values: [String: Data]

  /// Creates a snapshot.
  public init(values: [String: Data]) { self.values = values }

  /// The snapshot as JSON. Equal values have equal bytes.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(values)
    }
  }

  /// Decodes a snapshot from JSON.
  /// - Throws: `StorageError` with code `decodingFailed`.
  public init(decoding data: Data) throws {
    do { values = try JSONDecoder().decode([String: Data].self, from: data) } catch {
      throw StorageError(
        .decodingFailed, "The data from another device is not a snapshot.", advice: "Update the application there.",
        location: "sync")
    }
  }
}
