import Coffer
import Foundation

struct Style1: Codable, Hashable, Sendable { var name: String }
struct Style2: Codable, Hashable, Sendable {
  var name: String
  var size: Int
}
struct Style3: Codable, Hashable, Sendable {
  var title: String
  var sizes: [Int]
}

struct StepError: Error {}

enum Styles {
  static let first = MigrationStep(from: 1, to: 2) { (old: Style1) in Style2(name: old.name, size: 12) }
  static let second = MigrationStep(from: 2, to: 3) { (old: Style2) in Style3(title: old.name, sizes: [old.size]) }

  static let back = MigrationStep(from: 3, to: 2) { (new: Style3) in
    Style2(name: new.title, size: new.sizes.first ?? 0)
  }

  static func store<Value: Codable>(_ engine: any StorageEngine, _ schema: ValueSchema<Value>) throws -> TypedStore {
    var schemas = StoreSchema()
    try schemas.declare("style", schema)
    try schemas.declare(prefix: "styles/", schema)
    return try TypedStore(engine: engine, schema: schemas)
  }

  static func version1(_ engine: any StorageEngine) throws -> TypedStore {
    try store(engine, ValueSchema<Style1>("style", version: 1))
  }

  static func version2(_ engine: any StorageEngine) throws -> TypedStore {
    try store(engine, ValueSchema<Style2>("style", version: 2, steps: [first]))
  }

  /// Version 2 after version 3 was withdrawn.
  static func withdrawn(_ engine: any StorageEngine) throws -> TypedStore {
    try store(engine, ValueSchema<Style2>("style", version: 2, steps: [first, back]))
  }

  static func version3(
    _ engine: any StorageEngine, steps: [MigrationStep] = [first, second],
    validate: (@Sendable (Style3) throws -> Void)? = nil
  ) throws -> TypedStore {
    try store(
      engine, ValueSchema<Style3>("style", version: 3, steps: steps, validate: validate))
  }
}
