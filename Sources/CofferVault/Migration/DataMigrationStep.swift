import Coffer
import Foundation

/// A type by its identity, with its name for errors.
struct ModelType: Hashable, Sendable {
  let id: ObjectIdentifier
  let name: String

  init(_ type: any Any.Type) {
    id = ObjectIdentifier(type)
    name = String(describing: type)
  }
}

/// One registered conversion, without its types.
struct DataMigrationStep: Sendable {
  let from: ModelType
  let to: ModelType
  /// Returns a value of the earlier type as one of the later type.
  let run: @Sendable (any Sendable) throws -> any Sendable
  /// Returns the bytes as a value of the earlier type, or `nil` if they do not decode.
  let match: @Sendable (Data, JSONFields, any StoreCodec) -> Match?

  /// A value of the earlier type.
  struct Match {
    let value: any Sendable
    /// Whether the value has all fields of the bytes.
    let isExact: Bool
  }

  init<From: Codable & Sendable, To: Codable & Sendable>(_ converter: @escaping @Sendable (From) throws -> To) {
    let (from, to) = (ModelType(From.self), ModelType(To.self))
    (self.from, self.to) = (from, to)
    run = { value in
      guard let value = value as? From else { throw DataMigrationError.pathNotFound(from: from.name, to: to.name) }
      do { return try converter(value) } catch {
        // An error's own text may quote the value.
        throw DataMigrationError.converterFailed(
          from: from.name, to: to.name, error: String(describing: type(of: error)))
      }
    }
    match = { data, fields, codec in
      (try? codec.decode(From.self, from: data)).map { Match(value: $0, isExact: fields.isCovered(by: $0, codec)) }
    }
  }
}

/// The paths of the fields of a JSON document that are not `null`. The elements of an array share one path.
struct JSONFields: Sendable {
  private struct Path: Hashable, Sendable { let names: [String] }

  /// `nil` if the bytes are not strict JSON, such as JSON5, whose fields cannot be compared.
  private let paths: Set<Path>?

  init(_ data: Data) {
    guard let document = try? JSONSerialization.jsonObject(with: data, options: [.fragmentsAllowed]) else {
      paths = nil
      return
    }
    var (found, open): (Set<Path>, [([String], Any)]) = ([], [([], document)])
    while let (path, node) = open.popLast() {
      if let members = node as? [AnyHashable: Any] {
        for (name, member) in members where !(member is NSNull) { open.append((path + [".\(name)"], member)) }
      } else if let elements = node as? [Any] {
        for element in elements { open.append((path + ["[]"], element)) }
      }
      found.insert(Path(names: path))
    }
    paths = found
  }

  /// Returns whether a value that was decoded from the document still has all its fields.
  func isCovered(by value: some Encodable, _ codec: any StoreCodec) -> Bool {
    guard let paths, let encoded = try? codec.encode(value) else { return false }
    return JSONFields(encoded).paths.map(paths.isSubset) ?? false
  }
}
