public import Foundation

/// The values of all keys that are sent to other devices (document 4).
public struct SyncSnapshot: Hashable, Codable, Sendable {
  /// The serialised values by the names of their keys.
  public var values: [String: Data]

  /// A snapshot.
  public init(values: [String: Data]) { self.values = values }

  /// The snapshot as JSON, the same bytes for the same values.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(values)
    }
  }

  /// A snapshot from JSON.
  /// - Throws: `StorageError` with code `decodingFailed`.
  public init(decoding data: Data) throws {
    do { values = try JSONDecoder().decode([String: Data].self, from: data) } catch {
      throw StorageError(
        .decodingFailed, "What another device has sent is no snapshot.", advice: "Update the application there.",
        backend: "sync")
    }
  }
}
