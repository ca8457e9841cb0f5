import CofferCore
import Foundation

/// The values of a store with hidden names at one revision, in the order of their true names.
struct NameIndex: Sendable {
  /// One stored value. A class, so that copying an index copies references.
  final class Entry: Sendable {
    /// The key under which the value is stored.
    let stored: KeyName
    /// The stored size, for the size of pages; `nil` if it is not disclosed.
    let storedSize: Int?
    /// The summary that callers see.
    let summary: StoreEntry.Summary
    var name: KeyName { summary.key }

    init(_ stored: StoreEntry.Summary, _ summary: StoreEntry.Summary) {
      self.stored = stored.key
      storedSize = stored.size
      self.summary = summary
    }
  }

  var revision: StoreRevision
  let epoch: UInt64
  /// The newest date by the engine's clock at which the store was read: values that had expired are missing.
  var date: Date
  var entries: [Entry]

  /// A stored key that commits have changed.
  struct Change {
    let key: KeyName
    /// The name of the key; `nil` if it is not known.
    let name: KeyName?
    /// The entry at the new revision; `nil` for an absent one.
    let entry: Entry?
  }

  /// The number of changed keys up to which each is replaced by itself.
  private static let fewKeys = 32

  /// Returns the index of another revision.
  consuming func applying(_ changes: [Change], at revision: StoreRevision, _ date: Date) -> NameIndex {
    if changes.count <= Self.fewKeys {
      for change in changes { entries.replace(change.key, named: change.name, with: change.entry) }
    } else {
      entries = entries.replacing(Set(changes.map(\.key)), with: changes.compactMap(\.entry))
    }
    (self.revision, self.date) = (revision, date)
    return self
  }

  /// Returns the position of the first entry of a listing.
  func start(prefix: KeyName?, after: KeyName?) -> Int {
    // The prefix itself is the smallest name that starts with it.
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      let name = entries[middle].name
      let isBefore = prefix.map { name < $0 } ?? false || after.map { name <= $0 } ?? false
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the entries whose names start with a prefix.
  func entries(prefix: KeyName) -> ArraySlice<Entry> {
    entries[start(prefix: prefix, after: nil)...].prefix { $0.name.hasPrefix(prefix) }
  }
}

extension [NameIndex.Entry] {
  /// Replaces the entry of a stored key; `nil` removes it.
  /// - Parameter name: the name of the key; `nil` if it is not known, which takes a search of all entries.
  mutating func replace(_ key: KeyName, named name: KeyName?, with entry: NameIndex.Entry?) {
    if let name {
      let start = self[...].firstIndex(after: name)
      var index = start
      while index < count, self[index].name == name, self[index].stored != key { index += 1 }
      guard index < count, self[index].name == name else {
        if let entry { insert(entry, at: start) }
        return
      }
      // A value that was put again keeps its position, so that nothing is moved.
      if let entry, index == start {
        self[index] = entry
      } else {
        remove(at: index)
        if let entry { insert(entry, at: start) }
      }
    } else if let index = firstIndex(where: { $0.stored == key }) {
      remove(at: index)
    }
  }

  /// Returns the entries with some of them replaced: those of the stored keys `removed` are left out, and `added` are
  /// inserted in order. Complexity: O(*n*), without copying a name.
  func replacing(_ removed: Set<KeyName>, with added: [NameIndex.Entry]) -> [NameIndex.Entry] {
    let added = added.sorted { $0.name < $1.name }
    var result: [NameIndex.Entry] = []
    result.reserveCapacity(count + added.count)
    var next = 0
    for added in added {
      let end = self[next...].firstIndex(after: added.name)
      append(next..<end, except: removed, to: &result)
      next = end
      result.append(added)
    }
    append(next..<count, except: removed, to: &result)
    return result
  }

  private func append(_ range: Range<Int>, except removed: Set<KeyName>, to result: inout [NameIndex.Entry]) {
    for entry in self[range] where !removed.contains(entry.stored) { result.append(entry) }
  }
}

extension ArraySlice<NameIndex.Entry> {
  /// Returns the first index whose name is not before `name`.
  fileprivate func firstIndex(after name: KeyName) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
