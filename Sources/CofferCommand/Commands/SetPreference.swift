import Coffer
import CofferTerminal
import Foundation

/// The type of a preference, as `--type` names it.
enum PreferenceType: String, CaseIterable, Sendable {
  case string, number, boolean, date, data
}

extension Invocation {
  func preferenceType() throws -> PreferenceType? {
    guard let word = options[.type] else { return nil }
    guard let type = PreferenceType(rawValue: word) else {
      let names = PreferenceType.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("\(Option.type.name) takes one of \(names).", command)
    }
    return type
  }
}

/// Stores a preference with the given type, else with the type of its current value, else as text.
func setPreference(
  _ bytes: Data, of key: StoreKey, as type: PreferenceType?, _ attributes: ValueAttributes, in engine: any StorageEngine
) async throws -> StoreCommit {
  guard let slots = engine.as(SlotEngine.self) else { throw UsageError("The store does not hold preferences.", .set) }
  let adapter = UserDefaultsAdapter(engine: slots)
  let isNew = try await !engine.contains(key)
  let text = String(validating: bytes, as: UTF8.self)
  // A date is given in ISO 8601, which differs from the bytes with which the engine represents it.
  if type == nil, !isNew, let text, let date = PreferenceValue(bytes, text, .date),
    case .date? = try await adapter.get(key.string)
  {
    return try await adapter.set(date, for: key.string, expires: attributes.expires)
  }
  guard let type = type ?? (isNew && text != nil ? .string : nil) else {
    return try await engine.commit(WriteBatch([.put(key, bytes, attributes)]), from: adapter.origin)
  }
  guard let value = PreferenceValue(bytes, text, type) else {
    throw UsageError("The value is not a valid \(type.rawValue): \(type.example).", .set)
  }
  return try await adapter.set(value, for: key.string, expires: attributes.expires)
}

extension PreferenceValue {
  fileprivate init?(_ bytes: Data, _ text: String?, _ type: PreferenceType) {
    guard type != .data else {
      self = .data(bytes)
      return
    }
    guard let text else { return nil }
    let value: PreferenceValue? =
      switch type {
      case .string: .string(text)
      case .boolean: Bool(text).map { .boolean($0) }
      case .date: Self.date(text).map { .date($0) }
      case .number, .data: Int64(text).map { .integer($0) } ?? Double(text).map { .real($0) }
      }
    guard let value else { return nil }
    self = value
  }

  /// Returns the date of an ISO 8601 text with or without fractions of a second, or `nil`.
  private static func date(_ text: String) -> Date? {
    (try? Date(text, strategy: .iso8601))
      ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }
}

extension PreferenceType {
  fileprivate var example: String {
    switch self {
    case .string: "any UTF-8"
    case .number: "30 or 0.5"
    case .boolean: "true or false"
    case .date: "2026-11-21T09:00:00Z"
    case .data: "any bytes"
    }
  }
}
