import Coffer
import CofferCore
import CofferFiles
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
      throw Command.mistake("\(Option.type.name) takes one of \(names).", command)
    }
    return type
  }
}

/// Stores a preference with the given type, else with the type of its current value, else as text.
func setPreference(
  _ bytes: Data, of key: KeyName, as type: PreferenceType?, _ attributes: ValueAttributes, in engine: any StorageEngine
) async throws -> StoreCommit {
  let adapter = UserDefaultsAdapter(engine: engine)
  let text = String(validating: bytes, as: UTF8.self)
  let value: PreferenceValue
  if let type {
    guard let typed = PreferenceValue(bytes, text, type) else {
      throw Command.mistake("The value is not a valid \(type.rawValue): \(type.example).", .set)
    }
    value = typed
  } else if let present = try await adapter.present(key) {
    guard let similar = PreferenceValue(bytes, text, like: present) else {
      throw Command.mistake(
        "The preference is \(present.typeName), and the value is not. Nothing was written. --type changes the type.",
        .set)
    }
    value = similar
  } else {
    value = text.map { .string($0) } ?? .data(bytes)
  }
  return try await adapter.set(value, for: key.string, expires: attributes.expires)
}

extension UserDefaultsAdapter {
  /// Returns the present value, or `nil` if there is none or if it is damaged, which writing mends.
  fileprivate func present(_ key: KeyName) async throws -> PreferenceValue? {
    do { return try await get(key.string) } catch let error as StorageError where error.code == .damaged { return nil }
  }
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
      case .date: DateText.date(text, requiringTime: true).map { .date($0) }
      case .number, .data: Self.number(text)
      }
    guard let value else { return nil }
    self = value
  }

  private static func number(_ text: String) -> PreferenceValue? {
    Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) } ?? Double(text).map { .real($0) }
  }

  /// Creates a value of the same type as the one that it replaces; `nil` if the bytes are none. A date may also be
  /// written as `coffer get` prints it: in seconds since 2001.
  fileprivate init?(_ bytes: Data, _ text: String?, like old: PreferenceValue) {
    let value: PreferenceValue? =
      switch old {
      case .data: .data(bytes)
      case .string: PreferenceValue(bytes, text, .string)
      case .boolean: PreferenceValue(bytes, text, .boolean)
      case .integer, .unsigned, .real: PreferenceValue(bytes, text, .number)
      case .date:
        PreferenceValue(bytes, text, .date)
          ?? text.flatMap { Double($0) }.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      case .array, .dictionary: PreferenceValue(json: bytes, like: old)
      }
    guard let value else { return nil }
    self = value
  }

  /// The type in words, with its article.
  fileprivate var typeName: String {
    switch self {
    case .data: "bytes"
    case .string: "a text"
    case .boolean: "a Boolean, true or false"
    case .integer, .unsigned, .real: "a number"
    case .date: "a date, such as 2026-11-21T09:00:00Z"
    case .array: "a list in JSON, with elements of one type"
    case .dictionary: "a dictionary in JSON, with values of one type"
    }
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
