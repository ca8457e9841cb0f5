import Foundation

/// The application of a change in place to another value: of the fields of structs, the keys of dictionaries, and the
/// elements that were appended to arrays.
enum MergedValue {
  /// Returns `stored` with what differs between `original` and `changed`; `nil` if that cannot be applied, since the
  /// type is not encodable or its values are encoded as neither.
  static func merging<Value>(_ stored: Value, from original: Value, to changed: Value) -> Value? {
    guard let type = Value.self as? any Codable.Type else { return nil }
    func merged<C: Codable>(_ type: C.Type) -> Value? {
      guard let stored = stored as? C, let original = original as? C, let changed = changed as? C,
        let result = try? Self.merging(stored, original, changed)
      else { return nil }
      return result as? Value
    }
    return merged(type)
  }

  private static func merging<C: Codable>(_ stored: C, _ original: C, _ changed: C) throws -> C? {
    guard let tree = merging(try tree(of: stored), try tree(of: original), try tree(of: changed)) else { return nil }
    let data = try PropertyListSerialization.data(fromPropertyList: [tree], format: .binary, options: 0)
    return try PropertyListDecoder().decode([C].self, from: data).first
  }

  /// Returns a value as a property list, which keeps dates and numbers exactly.
  private static func tree<C: Codable>(of value: C) throws -> Any {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let list = try PropertyListSerialization.propertyList(from: encoder.encode([value]), format: nil)
    guard let list = list as? [Any], let tree = list.first else { throw CocoaError(.coderInvalidValue) }
    return tree
  }

  /// - Returns: `nil` if a part that is neither a dictionary nor an array with appended elements was changed.
  private static func merging(_ stored: Any, _ original: Any, _ changed: Any) -> Any? {
    if isSame(original, changed) { return stored }
    if let stored = stored as? [String: Any], let original = original as? [String: Any],
      let changed = changed as? [String: Any]
    {
      var merged = stored
      for key in Set(original.keys).union(changed.keys) {
        guard let new = changed[key] else {
          merged[key] = nil
          continue
        }
        if let old = original[key], isSame(old, new) { continue }
        // A field of its own is replaced by its new value.
        merged[key] = stored[key].flatMap { value in original[key].flatMap { merging(value, $0, new) } } ?? new
      }
      return merged
    }
    guard let stored = stored as? [Any], let original = original as? [Any], let changed = changed as? [Any],
      changed.count >= original.count, zip(original, changed).allSatisfy({ isSame($0, $1) })
    else { return nil }
    return stored + changed.dropFirst(original.count)
  }

  private static func isSame(_ one: Any, _ other: Any) -> Bool {
    guard let one = one as? AnyHashable, let other = other as? AnyHashable else { return false }
    return one == other
  }
}
