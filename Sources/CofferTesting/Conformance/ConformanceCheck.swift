public import CofferCore

extension StorageConformance {
  /// One promise, tested. Its name is stable.
  public struct Check: Sendable {
    /// What is promised, in words.
    public let name: String
    /// The check applies to engines that declare all of these.
    public let requires: StoreCapabilities.Features
    /// The check applies to engines that declare none of these.
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

    /// Why the check says nothing about such an engine; `nil` when it does.
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
    ]
    return all.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

typealias Check = StorageConformance.Check
