package import Foundation

/// A snapshot without the values that had expired when it began.
package struct PresentSnapshot: StorageSnapshot {
  private let base: any StorageSnapshot
  private let date: Date
  private let confirmsSummaries: Bool

  /// - Parameters:
  ///   - base: the snapshot of all stored values.
  ///   - date: the date of the snapshot, by the clock of the engine.
  ///   - confirmsSummaries: whether the attributes of a summary are proven only by reading its entry.
  package init(_ base: any StorageSnapshot, at date: Date, confirmsSummaries: Bool = false) {
    self.base = base
    self.date = date
    self.confirmsSummaries = confirmsSummaries
  }

  package var revision: StoreRevision { base.revision }

  package func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await base.entries(keys).map { $0?.present(at: date) }
  }

  package func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try await base.summary(of: key), await !isAbsent(summary) else { return nil }
    return summary
  }

  package func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await present(after: after, \.key) {
      try await base.page(prefix: prefix, after: $0, limit: limit)
    } isAbsent: {
      $0.attributes.isExpired(at: date)
    }
  }

  package func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await present(after: after, \.key) {
      try await base.summaries(prefix: prefix, after: $0, limit: limit)
    } isAbsent: {
      await isAbsent($0)
    }
  }

  /// Whether the value of a summary has expired. A value that cannot be read is listed.
  private func isAbsent(_ summary: StoreEntry.Summary) async -> Bool {
    guard summary.attributes.isExpired(at: date) else { return false }
    guard confirmsSummaries else { return true }
    return (try? await base.entries([summary.key]))?.first??.attributes.isExpired(at: date) ?? false
  }

  /// Returns the next page that is not empty without its absent items: only the end of the store is an empty page.
  private func present<Item>(
    after: KeyName?, _ key: KeyPath<Item, KeyName>, read: (KeyName?) async throws -> [Item],
    isAbsent: (Item) async -> Bool
  ) async throws -> [Item] {
    var last = after
    while true {
      let page = try await read(last)
      guard let end = page.last else { return [] }
      var present: [Item] = []
      present.reserveCapacity(page.count)
      for item in page where await !isAbsent(item) { present.append(item) }
      if !present.isEmpty { return present }
      last = end[keyPath: key]
    }
  }
}
