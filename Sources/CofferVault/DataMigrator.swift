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
/// then a registered type that does. Two registered types on one level are the error `migrationFailed`.
///
/// An earlier type that encodes the same fields with the same types as the target cannot be distinguished from it: its
/// bytes are read as the target.
public struct DataMigrator<TargetModel: Codable & Equatable & Sendable>: Sendable {
  private let steps: [Step]
  private let flaw: StorageError?

  fileprivate init(_ steps: [Step]) {
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
  /// - Throws: `StorageError`, whose text names types and never quotes a value: `invalidSchema` if the registered
  ///   conversions have a gap, a cycle or a duplicate, `migrationFailed` if one of them throws, or if several types
  ///   decode the bytes equally well. The error of the target's decoder if no type matches.
  public func value(
    from data: Data, codec: any StoreCodec = JSONCodec()
  ) throws -> (value: TargetModel, wasMigrated: Bool) {
    guard !steps.isEmpty else { return (try codec.decode(TargetModel.self, from: data), false) }
    if let flaw { throw flaw }
    let fields = JSONFields(data)
    let target = Result { try codec.decode(TargetModel.self, from: data) }
    if case .success(let value) = target, fields.areKept(by: value, codec) { return (value, false) }

    let matches = steps.compactMap { step in step.match(data, fields, codec).map { (step: step, match: $0) } }
    let exact = matches.filter(\.match.isExact)
    if exact.isEmpty, case .success(let value) = target { return (value, false) }
    let candidates = exact.isEmpty ? matches : exact
    guard let (first, match) = candidates.first else { return (try target.get(), false) }
    guard candidates.count == 1 else {
      throw StorageError(
        .migrationFailed,
        "The stored value can be read as each of \(candidates.map { "\($0.step.from)" }.joined(separator: ", ")).",
        advice: "Give one of the types a field that distinguishes it, or register only the type that was stored. "
          + "The stored bytes are unchanged.")
    }
    return (try convert(match.value, by: first), true)
  }

  /// Returns bytes of any registered type as bytes of the target. Bytes of the target are returned as they are.
  /// - Throws: As ``value(from:codec:)``, and errors of the coder.
  public func migrate(
    data: Data, codec: any StoreCodec = JSONCodec()
  ) throws -> (data: Data, wasMigrated: Bool) {
    let (value, wasMigrated) = try value(from: data, codec: codec)
    return wasMigrated ? (try codec.encode(value), true) : (data, false)
  }

  /// Runs the step of a value's type and those that follow it. The declaration was checked, so the chain ends.
  private func convert(_ value: any Sendable, by first: Step) throws -> TargetModel {
    var (value, next): (any Sendable, Step?) = (value, first)
    while let step = next {
      value = try step.run(value)
      next = steps.first { $0.from == step.to }
    }
    guard let target = value as? TargetModel else { throw Self.invalid("no conversions lead from \(first.from).") }
    return target
  }

  private static func flaw(in steps: [Step]) -> StorageError? {
    for (index, step) in steps.enumerated() {
      if steps[..<index].contains(where: { $0.from == step.from }) {
        return invalid("two conversions are registered for \(step.from).")
      }
      var (type, passed) = (step.from, 0)
      while let next = steps.first(where: { $0.from == type }) {
        (type, passed) = (next.to, passed + 1)
        if passed > steps.count { return invalid("the conversions from \(step.from) form a cycle.") }
      }
      if type != TargetModel.self { return invalid("no conversions lead from \(step.from) to \(TargetModel.self).") }
    }
    return nil
  }

  private static func invalid(_ reason: String) -> StorageError {
    .invalidSchema(String(describing: TargetModel.self), reason)
  }

  /// One registered conversion, without its types.
  fileprivate struct Step: Sendable {
    let from: any Any.Type
    let to: any Any.Type
    /// Returns a value of the earlier type as one of the later type.
    let run: @Sendable (any Sendable) throws -> any Sendable
    /// Returns the bytes as a value of the earlier type, and whether it has all of their fields; `nil` if they do not
    /// decode.
    let match: @Sendable (Data, JSONFields, any StoreCodec) -> (value: any Sendable, isExact: Bool)?

    init<From: Codable & Sendable, To: Codable & Sendable>(_ converter: @escaping @Sendable (From) throws -> To) {
      (from, to) = (From.self, To.self)
      run = { value in
        guard let value = value as? From else { throw DataMigrator.invalid("no conversions lead to \(From.self).") }
        do { return try converter(value) } catch {
          // An error's own text may quote the value.
          throw StorageError(
            .migrationFailed,
            "The value could not be converted from \(From.self) to \(To.self): the converter threw "
              + "\(type(of: error)).",
            advice: "Correct the converter and read the value again. The stored bytes are unchanged.")
        }
      }
      match = { data, fields, codec in
        (try? codec.decode(From.self, from: data)).map { ($0, fields.areKept(by: $0, codec)) }
      }
    }
  }

  /// Collects the conversions of a migrator.
  public final class Builder {
    private var steps: [Step] = []

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
    ///     `migrationFailed`.
    @discardableResult
    public func register<From: Codable & Sendable, To: Codable & Sendable>(
      from: From.Type, to: To.Type, converter: @escaping @Sendable (From) throws -> To
    ) -> Self {
      steps.append(Step(converter))
      return self
    }

    /// Returns the migrator.
    public func build() -> DataMigrator { DataMigrator(steps) }
  }
}

/// The fields of a JSON document that are not `null`.
private struct JSONFields {
  /// `nil` if the bytes are not strict JSON, such as JSON5, whose fields cannot be compared.
  private let document: Any?

  init(_ data: Data) { document = try? JSONSerialization.jsonObject(with: data, options: [.fragmentsAllowed]) }

  /// Returns whether a value that was decoded from the document still has all its fields.
  func areKept(by value: some Encodable, _ codec: any StoreCodec) -> Bool {
    guard let document, let encoded = try? codec.encode(value) else { return false }
    return JSONFields(encoded).document.map { Self.paths(of: document).isSubset(of: Self.paths(of: $0)) } ?? false
  }

  /// Returns the paths of all fields that are not null. The elements of an array share theirs.
  private static func paths(of document: Any) -> Set<[UInt8]> {
    var paths: Set<[UInt8]> = []
    func collect(_ node: Any, _ path: [UInt8]) {
      if let members = node as? [AnyHashable: Any] {
        for (name, value) in members where !(value is NSNull) {
          let path = path + Array("/\(name)".utf8)
          paths.insert(path)
          collect(value, path)
        }
      } else if let elements = node as? [Any] {
        for element in elements { collect(element, path + [0x2A]) }
      }
    }
    collect(document, [])
    return paths
  }
}
