import CofferCore
import CofferTesting
import Foundation

extension Defect {
  /// Creates a defect in an engine that stores expired values and omits them from every read, which `bend` modifies. It
  /// also ignores expiry where a precondition is checked.
  private init(
    expiring name: String, failing check: String, _ bend: @escaping @Sendable (inout Wrapper) -> Void = { _ in }
  ) {
    self.init(name, failing: check) { location in
      // For the engine inside, nothing has expired.
      let past = StoreClock { Date(timeIntervalSince1970: 0) }
      var wrapper = Wrapper(base: MemoryEngine(clock: past, maximumValueSize: location.maximumValueSize ?? 1 << 30))
      wrapper.ownClock = .system
      wrapper.onEntries = { base, keys in try await base.entries(keys).map { $0?.present(at: Date()) } }
      wrapper.onSummary = { base, key in
        let summary = try await base.summary(of: key)
        return summary?.attributes.isExpired(at: Date()) == true ? nil : summary
      }
      wrapper.onSnapshot = { PresentSnapshot($1, at: Date()) }
      bend(&wrapper)
      return wrapper
    }
  }

  static let expiring = [
    Defect(expiring: "returns expired values", failing: "an expired value is absent") {
      $0.onEntries = { try await $0.entries($1) }
    },
    Defect(expiring: "finds expired values without reading them", failing: "an expired value is absent") {
      $0.onSummary = { try await $0.summary(of: $1) }
    },
    Defect(expiring: "returns expired values in a snapshot", failing: "an expired value is absent from a snapshot") {
      $0.onSnapshot = { _, snapshot in
        SnapshotWrapper(base: PresentSnapshot(snapshot, at: Date()), onEntries: { try await snapshot.entries($1) })
      }
    },
    Defect(
      expiring: "lists expired values", failing: "listings omit expired values, and do not end with a page of them"
    ) {
      $0.onSnapshot = { $1 }
    },
    Defect(
      expiring: "ends a listing with a page of expired values",
      failing: "listings omit expired values, and do not end with a page of them"
    ) {
      $0.onSnapshot = { _, snapshot in
        SnapshotWrapper(
          base: snapshot,
          onPage: { base, prefix, after, limit in
            try await base.page(prefix: prefix, after: after, limit: limit).compactMap { $0.present(at: Date()) }
          })
      }
    },
    Defect(
      expiring: "compares preconditions with expired values", failing: "for a precondition an expired value is absent"),
    Defect(expiring: "keeps the expiry of a replaced value", failing: "a put replaces the expiry") {
      $0.onCommit = { base, batch, origin in
        var operations: [WriteBatch.Operation] = []
        for operation in batch.operations {
          if case .put(let key, let data, let attributes) = operation, let old = try await base.entry(key) {
            operations.append(.put(key, data, old.attributes.merging(attributes)))
          } else {
            operations.append(operation)
          }
        }
        return try await base.commit(WriteBatch(operations), from: origin)
      }
    },
  ]
}
