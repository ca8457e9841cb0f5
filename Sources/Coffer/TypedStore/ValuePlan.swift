package import Foundation

/// How the value of one key is decoded. It is read in a box, so that the path of a read is not generic: generic code
/// looks its types up in each call.
package protocol BoxedPlan: Sendable {
  var key: KeyName { get }
  /// What is rare about the value, so that only such values are asked about it.
  var traits: ValueTraits { get }
  /// The type of the boxes: a cached value of another type is read again.
  var boxType: ObjectIdentifier { get }

  /// Decodes a stored value.
  /// - Throws: `StorageError`: `migrationNeeded` for a version that has a step, `newerFormat` for a later one that has
  ///   none.
  func box(_ encoded: EncodedValue) throws -> any AnyBox
}

/// How a value of one type is decoded, and what is done if its bytes are damaged. A typed store makes it of a type and
/// its codec, a router of a declared key; what they do with a value is written once, for both.
package protocol ValuePlan<Value>: BoxedPlan {
  associatedtype Value: Sendable

  var store: TypedStore { get }
  /// The policy for damage.
  var damagePlan: DamagePlan { get }

  /// Decodes a stored value, as ``BoxedPlan/box(_:)`` does.
  func decode(_ encoded: EncodedValue) throws -> Value
}

extension BoxedPlan {
  package func accepts(_ box: any AnyObject) -> Bool { ObjectIdentifier(type(of: box)) == boxType }
}

extension ValuePlan {
  package var boxType: ObjectIdentifier { ObjectIdentifier(Box<Value>.self) }

  package func box(_ encoded: EncodedValue) throws -> any AnyBox { Box(try decode(encoded), size: encoded.data.count) }

  /// Runs the policy for damage after a read has failed, and returns if the value should be read again.
  package func handle(_ error: StorageError) async throws {
    try await store.damage.handle(key, after: error, damagePlan) { encoded in
      // A value of another version is intact: the next read migrates it.
      do { _ = try decode(encoded) } catch let error as StorageError where error.code == .migrationNeeded {}
    }
  }
}

/// What is rare about a value, or about the values of a batch: decided once, and passed down with each call.
package struct ValueTraits: OptionSet {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The value may have a version, so that a newer one must not be overwritten.
  package static let versioned = ValueTraits(rawValue: 1)
  /// The user is asked before each read, so that the value must not be cached.
  package static let guarded = ValueTraits(rawValue: 2)
  /// A write is committed before the call returns, also in a store with write-back.
  package static let immediate = ValueTraits(rawValue: 4)
}

/// The same for a value that is also written.
package protocol WritablePlan<Value>: ValuePlan {
  /// Returns a value with what a write of it needs.
  /// - Parameter expires: the date from which the value is absent; `nil` for what the key declares.
  func ready(_ value: Value, expires: Date?) throws -> ReadyValue
}

/// A value that its plan has encoded: saves, batches and transactions write it without its type.
package struct ReadyValue: Sendable {
  package let key: KeyName
  package let encoded: EncodedValue
  package let box: any AnyBox
  package let traits: ValueTraits

  package init(key: KeyName, encoded: EncodedValue, box: any AnyBox, traits: ValueTraits) {
    self.key = key
    self.encoded = encoded
    self.box = box
    self.traits = traits
  }

  package var operation: WriteBatch.Operation { .put(key, encoded.data, encoded.attributes) }
}

/// The plan of a value of a typed store.
package struct CodedValue<Value: Sendable>: Sendable {
  package let store: TypedStore
  package let key: KeyName
  /// The policy for damage of a call; `nil` for that of the store.
  package var damage: DamagePlan?

  package var traits: ValueTraits { store.traits }
}

extension CodedValue: BoxedPlan, ValuePlan where Value: Decodable {
  package var damagePlan: DamagePlan {
    damage ?? DamagePlan(store.damage.policy) { [store, key] in store.coding.marked(EncodedValue($0), for: key) }
  }

  package func decode(_ encoded: EncodedValue) throws -> Value {
    try store.coding.decode(Value.self, from: encoded, for: key)
  }
}

extension CodedValue where Value: Encodable {
  package func ready(_ value: Value, expires: Date? = nil) throws -> ReadyValue {
    let encoded = try store.coding.encode(value, for: key).expiring(expires)
    return ReadyValue(key: key, encoded: encoded, box: Box(value, size: encoded.data.count), traits: traits)
  }
}

extension CodedValue: WritablePlan where Value: Codable {}

/// The plan of a value whose stored form is cached, to be decoded by the caller.
private struct StoredForm: BoxedPlan {
  package let key: KeyName
  package let traits: ValueTraits
  package let boxType = ObjectIdentifier(Box<EncodedValue>.self)

  package func box(_ encoded: EncodedValue) throws -> any AnyBox { Box(encoded, size: encoded.data.count) }
}

extension TypedStore {
  /// Returns the stored form of a value, for types that are not `Sendable`.
  package func storedForm(of key: KeyName) async throws -> EncodedValue? {
    Self.unbox(try await read(StoredForm(key: key, traits: traits)))
  }
}
