import Coffer
public import Foundation

/// Converts bytes that an earlier version of a model has stored to the current model.
///
/// ```swift
/// let migrator = DataMigrator<ProfileV3>.Builder(targetType: ProfileV3.self)
///   .register(from: ProfileV1.self, to: ProfileV2.self) { ProfileV2(name: $0.name, joined: nil) }
///   .register(from: ProfileV2.self, to: ProfileV3.self) { try ProfileV3(checking: $0) }
///   .build()
/// let profile = try migrator.value(from: data).value
/// ```
///
/// Stored bytes do not name their type, so the migrator compares each type with them. A type matches *exactly* if it
/// decodes the bytes and encodes each of their fields again; it matches *in part* if it drops some. The target is
/// chosen if it matches exactly; then a registered type that matches exactly; then the target if it matches in part;
/// then a registered type that does. Two registered types on one level are the error `ambiguousMatch`.
///
/// An earlier type that encodes the same fields with the same types as the target cannot be distinguished from it: its
/// bytes are read as the target.
public struct DataMigrator<TargetModel: Codable & Equatable & Sendable>: Sendable {
  private let steps: [DataMigrationStep]
  private let flaw: DataMigrationError?

  fileprivate init(_ steps: [DataMigrationStep]) {
    self.steps = steps
    flaw = Self.flaw(in: steps)
  }

  /// Whether no type is registered, so that bytes are only decoded.
  public var isEmpty: Bool { steps.isEmpty }

  /// Decodes the target from bytes of any registered type. The bytes are not changed.
  /// - Parameters:
  ///   - data: the stored bytes.
  ///   - codec: the coder of all types, for example a `JSONCodec` with the definition's own encoder and decoder.
  /// - Returns: The value, and whether it was converted from an earlier type.
  /// - Throws: ``DataMigrationError``; the error of the target's decoder if no type matches.
  public func value(
    from data: Data, codec: any StoreCodec = JSONCodec()
  ) throws -> (value: TargetModel, wasMigrated: Bool) {
    guard !steps.isEmpty else { return (try codec.decode(TargetModel.self, from: data), false) }
    if let flaw { throw flaw }
    let fields = JSONFields(data)
    let target = Result { try codec.decode(TargetModel.self, from: data) }
    if case .success(let value) = target, fields.isCovered(by: value, codec) { return (value, false) }

    let matches = steps.compactMap { step in step.match(data, fields, codec).map { (step: step, match: $0) } }
    let exact = matches.filter { $0.match.isExact }
    if exact.isEmpty, case .success(let value) = target { return (value, false) }
    let candidates = exact.isEmpty ? matches : exact
    guard let (first, match) = candidates.first else { return (try target.get(), false) }
    guard candidates.count == 1 else {
      throw DataMigrationError.ambiguousMatch(types: candidates.map { $0.step.from.name })
    }
    return (try convert(match.value, by: first), true)
  }

  /// Returns bytes of any registered type as bytes of the target. Bytes of the target are returned as they are.
  /// - Throws: ``DataMigrationError``, and errors of the coder.
  public func migrate(
    data: Data, codec: any StoreCodec = JSONCodec()
  ) throws -> (data: Data, wasMigrated: Bool) {
    let (value, wasMigrated) = try value(from: data, codec: codec)
    return wasMigrated ? (try codec.encode(value), true) : (data, false)
  }

  /// Runs the step of a value's type and those that follow it. The declaration was checked, so the chain ends.
  private func convert(_ value: any Sendable, by first: DataMigrationStep) throws -> TargetModel {
    var (value, next): (any Sendable, DataMigrationStep?) = (value, first)
    while let step = next {
      value = try step.run(value)
      next = steps.first { $0.from == step.to }
    }
    guard let target = value as? TargetModel else {
      throw DataMigrationError.pathNotFound(from: first.from.name, to: String(describing: TargetModel.self))
    }
    return target
  }

  private static func flaw(in steps: [DataMigrationStep]) -> DataMigrationError? {
    let target = ModelType(TargetModel.self)
    for (index, step) in steps.enumerated() {
      if steps[..<index].contains(where: { $0.from == step.from }) { return .duplicateStep(from: step.from.name) }
      var (type, passed) = (step.from, 0)
      while let next = steps.first(where: { $0.from == type }) {
        (type, passed) = (next.to, passed + 1)
        if passed > steps.count { return .cycle(from: step.from.name) }
      }
      if type != target { return .pathNotFound(from: step.from.name, to: target.name) }
    }
    return nil
  }

  /// Collects the conversions of a migrator.
  public final class Builder {
    private var steps: [DataMigrationStep] = []

    /// Creates a builder of a migrator to a model.
    public init(targetType: TargetModel.Type = TargetModel.self) {}

    /// Registers the conversion of an earlier type to the one that follows it. The order does not matter.
    ///
    /// Each type has one conversion, and each chain of them ends at the target; otherwise the migrator throws at its
    /// first use, whatever is stored.
    /// - Parameters:
    ///   - from: the earlier type.
    ///   - to: the type that followed it, which may be the target.
    ///   - converter: the conversion. If it throws, the stored bytes are unchanged and the read throws
    ///     `DataMigrationError.converterFailed`.
    @discardableResult
    public func register<From: Codable & Sendable, To: Codable & Sendable>(
      from: From.Type, to: To.Type, converter: @escaping @Sendable (From) throws -> To
    ) -> Self {
      steps.append(DataMigrationStep(converter))
      return self
    }

    /// Returns the migrator.
    public func build() -> DataMigrator { DataMigrator(steps) }
  }
}

/// An error of a ``DataMigrator``. No stored bytes were changed. The texts name types and never quote a value.
public enum DataMigrationError: Error, Hashable, Sendable {
  /// Several registered types decode the stored bytes equally well.
  case ambiguousMatch(types: [String])
  /// The converter of a type threw an error.
  case converterFailed(from: String, to: String, error: String)
  /// The conversions from a type do not lead to the target.
  case pathNotFound(from: String, to: String)
  /// A type has two conversions.
  case duplicateStep(from: String)
  /// The conversions from a type return to it or to one of their own.
  case cycle(from: String)
}

extension DataMigrationError {
  /// The same failure as an error of a store, which adds its location and the key.
  var storageError: StorageError {
    let (code, message, advice): (StorageError.Code, String, String) =
      switch self {
      case .ambiguousMatch(let types):
        (
          .migrationFailed, "The stored value can be read as each of \(types.joined(separator: ", ")).",
          "Give one of the types a field that distinguishes it, or register only the type that was stored."
        )
      case .converterFailed(let from, let to, let error):
        (
          .migrationFailed, "The value could not be converted from \(from) to \(to): the converter threw \(error).",
          "Correct the converter and read the value again."
        )
      case .pathNotFound(let from, let to):
        (.invalidSchema, "No registered conversions lead from \(from) to \(to).", "Register the missing ones.")
      case .duplicateStep(let from):
        (.invalidSchema, "Two conversions are registered for \(from).", "Register one conversion for each type.")
      case .cycle(let from):
        (.invalidSchema, "The conversions from \(from) form a cycle.", "Remove one of them.")
      }
    return StorageError(code, message, advice: advice + " The stored bytes are unchanged.", location: "")
  }
}
