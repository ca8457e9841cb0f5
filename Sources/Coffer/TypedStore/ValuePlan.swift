import Foundation

/// How one value is decoded, and what is done if its bytes are damaged. A typed store makes it of a type and its codec,
/// a router of a declared key; what they do with a value is written once, for both.
protocol ValuePlan<Value>: Sendable {
  associatedtype Value: Sendable

  var key: StoreKey { get }

  /// Decodes a stored value.
  /// - Throws: `StorageError`: `migrationNeeded` for an older version of the schema, `newerFormat` for a later one.
  func decode(_ encoded: EncodedValue) throws -> Value

  /// Decodes the kept old form of a newer value; `nil` if it has not the present version.
  func decode(_ old: OldForm) throws -> Value?

  /// Runs the policy for damage after a read has failed, and returns if the value should be read again.
  func handle(_ error: StorageError) async throws
}

/// The same for a value that is also written.
protocol WritablePlan<Value>: ValuePlan {
  /// Returns a value as it is stored.
  /// - Parameter expires: the date from which the value is absent; `nil` for what the key declares.
  func encode(_ value: Value, expires: Date?) throws -> EncodedValue
}

/// The plan of a value of a typed store.
struct CodedValue<Value: Decodable & Sendable>: ValuePlan {
  let store: TypedStore
  let key: StoreKey
  /// The policy for damage of a call; `nil` for that of the store.
  var damage: DamagePlan?

  func decode(_ encoded: EncodedValue) throws -> Value { try store.coding.decode(Value.self, from: encoded, for: key) }

  func decode(_ old: OldForm) throws -> Value? { try store.coding.previous(Value.self, from: old, for: key) }

  func handle(_ error: StorageError) async throws {
    let (coding, key) = (store.coding, key)
    let plan = damage ?? DamagePlan(store.damage.policy) { coding.marked(EncodedValue($0), for: key) }
    try await store.damage.handle(key, after: error, plan) { try coding.check(Value.self, $0, for: key) }
  }
}

extension CodedValue: WritablePlan where Value: Encodable {
  func encode(_ value: Value, expires: Date?) throws -> EncodedValue {
    try store.coding.encode(value, for: key).expiring(expires)
  }
}
