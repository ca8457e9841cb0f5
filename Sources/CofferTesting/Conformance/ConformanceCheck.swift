public import CofferCore

extension StorageConformance {
  /// A test of one rule of the storage contract, identified by its name.
  public struct Check: Sendable {
    /// The rule that the check tests, as a lower-case clause.
    public let name: String
    /// The features that an engine must declare for the check to apply.
    public let requires: StoreCapabilities.Features
    /// The features of which an engine must declare none for the check to apply.
    public let lacks: StoreCapabilities.Features

    let maximumValueSize: Int?
    let file: String
    let line: UInt
    let body: @Sendable (Bench) async throws -> Void

    init(
      _ name: String, requires: StoreCapabilities.Features = [], lacks: StoreCapabilities.Features = [],
      maximumValueSize: Int? = nil, file: String = #fileID, line: UInt = #line,
      body: @escaping @Sendable (Bench) async throws -> Void
    ) {
      self.name = name
      self.requires = requires
      self.lacks = lacks
      self.maximumValueSize = maximumValueSize
      self.file = file
      self.line = line
      self.body = body
    }

    /// Returns why the check does not apply to an engine with the given capabilities; `nil` if it applies.
    func reasonToSkip(_ capabilities: StoreCapabilities) -> String? {
      let missing = requires.subtracting(capabilities.features)
      if !missing.isEmpty { return "The engine does not declare \(missing.names)." }
      let declared = lacks.intersection(capabilities.features)
      return declared.isEmpty ? nil : "The engine declares \(declared.names), so there is nothing to refuse."
    }
  }
}

extension StorageConformance.Check: Hashable, CustomStringConvertible {
  public static func == (left: Self, right: Self) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  public var description: String { name }
}

extension StoreCapabilities.Features {
  fileprivate var names: String {
    let all: [(Self, String)] = [
      (.atomicBatches, "atomicBatches"), (.preconditions, "preconditions"), (.snapshots, "snapshots"),
      (.listing, "listing"), (.persistence, "persistence"), (.replay, "replay"),
      (.foreignWriters, "foreignWriters"), (.powerLossSafety, "powerLossSafety"), (.revisions, "revisions"),
      (.attributes, "attributes"), (.systemRecords, "systemRecords"), (.immediateRevisions, "immediateRevisions"),
      (.secrecy, "secrecy"), (.propertyLists, "propertyLists"),
    ]
    return all.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

typealias Check = StorageConformance.Check
