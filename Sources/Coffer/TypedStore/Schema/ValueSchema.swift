import CofferCore
import Foundation

/// The versions of a type of values, and the steps that bring older values to the present one.
///
/// ```swift
/// let themes = try ValueSchema<Theme3>(
///   "theme", version: 3,
///   steps: [
///     MigrationStep(from: 1, to: 2) { (old: Theme1) in Theme2(old) },
///     MigrationStep(from: 2, to: 3) { (old: Theme2) in try Theme3(old) },
///   ])
/// var schema = StoreSchema()
/// try schema.declare("theme", themes)
/// let store = try TypedStore(engine: engine, schema: schema)
/// ```
///
/// A router's key declares one with `TypedKey.versioned`.
public struct ValueSchema<Value: Sendable>: Sendable {
  /// The name of the schema, which is stored with each value.
  public let name: String
  /// The present version: that of `Value`.
  public let version: Int
  private let unversioned: Int
  private let steps: [Int: MigrationStep]
  private let validate: (@Sendable (Value) throws -> Void)?

  /// Creates a schema.
  /// - Parameters:
  ///   - name: the name, 1 to 255 bytes. It is persistent: never change it.
  ///   - version: the present version, from 1 on.
  ///   - unversioned: the version of values without a mark: those that were saved before there was a schema, or by
  ///     another program.
  ///   - steps: the steps, in any order. Those of older versions lead up to the present one, those of newer versions
  ///     back to it, after a release was withdrawn. Both releases must not use a store at once: each would migrate what
  ///     the other has.
  ///   - validate: throws if a migrated value must not be stored.
  /// - Throws: `StorageError` with code `invalidSchema`: the steps have a gap, a cycle or a duplicate, or the types of
  ///   two steps differ.
  public init(
    _ name: String, version: Int, unversioned: Int = 1, steps: [MigrationStep] = [],
    validate: (@Sendable (Value) throws -> Void)? = nil
  ) throws {
    guard 1...255 ~= name.utf8.count else { throw StorageError.invalidSchema(name, "a name has 1 to 255 bytes.") }
    guard 1...Int(Int32.max) ~= version, 1...version ~= unversioned else {
      throw StorageError.invalidSchema(name, "version \(version) or \(unversioned) is out of range.")
    }
    self.steps = try Self.chained(steps, to: version, of: name)
    (self.name, self.version, self.unversioned) = (name, version, unversioned)
    self.validate = validate
  }

  /// Returns the schema without its type.
  /// - Parameters:
  ///   - reading: returns the coding by which the steps read older values, given that of the store.
  ///   - encode: encodes a value of the present version, with the mark of the schema.
  package func declared(
    reading: @escaping @Sendable (ByteCoding) -> ByteCoding = { $0 },
    encode: @escaping @Sendable (Value, ByteCoding, KeyName) throws -> EncodedValue
  ) -> DeclaredSchema {
    DeclaredSchema(
      name: name, version: version, unversioned: unversioned, type: Value.self, steps: steps, reading: reading
    ) { [validate] value, coding, key in
      guard let value = value as? Value else { throw MigrationStep.WrongType() }
      try validate?(value)
      return try encode(value, coding, key)
    }
  }

  /// The types that the steps read.
  package var olderTypes: [any Any.Type] { steps.values.map(\.types.old) }

  private static func chained(
    _ steps: [MigrationStep], to version: Int, of name: String
  ) throws -> [Int: MigrationStep] {
    var chain: [Int: MigrationStep] = [:]
    for step in steps {
      let text = step.text
      guard step.source > 0, step.target > 0 else {
        throw StorageError.invalidSchema(name, "\(text) has a version below 1.")
      }
      guard step.source < step.target ? step.target <= version : step.target >= version, step.source != step.target
      else { throw StorageError.invalidSchema(name, "\(text) does not lead towards version \(version).") }
      guard chain.updateValue(step, forKey: step.source) == nil else {
        throw StorageError.invalidSchema(name, "there are two steps from version \(step.source).")
      }
    }
    for step in steps {
      let next = chain[step.target]
      guard step.target == version || next != nil else {
        throw StorageError.invalidSchema(name, "there is no step from version \(step.target).")
      }
      let expected = next?.types.old ?? Value.self
      guard step.types.new == expected else {
        throw StorageError.invalidSchema(
          name, "the step to \(step.target) returns \(step.types.new), and \(expected) is expected.")
      }
    }
    return chain
  }
}

/// A schema without its type.
package struct DeclaredSchema: Sendable {
  let name: String
  let version: Int
  let unversioned: Int
  let type: any Any.Type
  let steps: [Int: MigrationStep]
  package let mark: ValueAttributes
  /// Returns the coding by which the steps read older values.
  let reading: @Sendable (ByteCoding) -> ByteCoding
  let finish: @Sendable (any Sendable, ByteCoding, KeyName) throws -> EncodedValue

  init(
    name: String, version: Int, unversioned: Int, type: any Any.Type, steps: [Int: MigrationStep],
    reading: @escaping @Sendable (ByteCoding) -> ByteCoding,
    finish: @escaping @Sendable (any Sendable, ByteCoding, KeyName) throws -> EncodedValue
  ) {
    self.name = name
    self.version = version
    self.unversioned = unversioned
    self.type = type
    self.steps = steps
    self.reading = reading
    self.finish = finish
    mark = SchemaMark(name, version).attributes
  }

  /// Returns the version of a stored value.
  /// - Throws: `StorageError`: `newerFormat` for a later version without a step back, or an unknown mark;
  ///   `decodingFailed` for a value of another schema.
  package func storedVersion(_ attributes: ValueAttributes, of key: KeyName, at location: String) throws -> Int {
    if attributes == mark { return version }
    let mark: SchemaMark?
    do { mark = try SchemaMark(in: attributes) } catch let error as StorageError {
      throw error.locating(at: location, key: key)
    }
    guard let mark else { return unversioned }
    guard mark.name == name else {
      throw StorageError(
        .decodingFailed, "The value belongs to the schema '\(mark.name)', not to '\(name)'.",
        advice: "It is kept. Declare the key with its schema.", location: location, key: key)
    }
    guard mark.version <= version || steps[mark.version] != nil else {
      throw StorageError(
        .newerFormat,
        "The value has version \(mark.version) of '\(name)'; this application knows versions up to \(version).",
        advice: "It is unchanged. Use a newer version of the application, or declare a step back from that version.",
        location: location, key: key)
    }
    return mark.version
  }

  /// - Throws: `migrationNeeded` for a version that has a step; the errors of `storedVersion`.
  package func requirePresent(_ attributes: ValueAttributes, of key: KeyName, at location: String) throws {
    let stored = try storedVersion(attributes, of: key, at: location)
    guard stored != version else { return }
    throw StorageError(
      .migrationNeeded, "The value has version \(stored) of '\(name)', not \(version).",
      advice: "It is unchanged. Read it with a method that can migrate it, such as load or get.", location: location,
      key: key)
  }

  /// Returns the present form of a value of another version, validated and encoded.
  /// - Throws: `StorageError`: `migrationFailed`, or `decodingFailed`; `CancellationError`.
  func migrate(_ entry: StoreEntry, from version: Int, _ coding: ByteCoding) async throws -> EncodedValue {
    func failed(_ reason: String, _ error: (any Error)? = nil) -> StorageError {
      .migrationFailed(
        self, from: version, reason, key: entry.key, location: coding.location, underlying: error)
    }
    guard let first = steps[version] else { throw failed("there is no step from version \(version).") }
    var value: any Sendable
    do { value = try first.decode(EncodedValue(entry), reading(coding), entry.key) } catch let error as StorageError {
      let isMarked = try SchemaMark(in: entry.attributes) != nil
      let origin = isMarked ? "." : ", the version of values without a mark."
      throw StorageError(
        error.code, error.message + " The value counts as version \(version) of '\(name)'" + origin,
        advice: error.advice, location: error.location, key: error.key, underlying: error.underlying)
    }
    var step: MigrationStep? = first
    while let current = step {
      do { value = try await current.body(value) } catch {
        if Task.isCancelled { throw CancellationError() }
        throw failed("\(current.text) failed.", error)
      }
      step = steps[current.target]
    }
    do { return try finish(value, coding, entry.key) } catch let error as StorageError {
      throw error
    } catch {
      throw failed("the new value is not valid.", error)
    }
  }
}
