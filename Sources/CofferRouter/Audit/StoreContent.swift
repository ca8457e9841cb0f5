import Coffer
import CofferSQLite
import Foundation

/// The contents of a store: names, sizes and dates, or the reason why they cannot be read.
struct StoreContent {
  private enum Look {
    /// The summaries of all values, in the order of their keys.
    case found([StoreEntry.Summary])
    case empty
    case failed(String)
  }

  private let look: Look
  /// The engine; `nil` for a store that was not opened.
  private var engine: (any StorageEngine)?
  let description: String?
  let encryption: Result<AuditReport.StoreEncryption?, StorageError>

  init(_ open: () async throws -> AuditedStore) async {
    do {
      switch try await open() {
      case .missing: (look, description, encryption) = (.empty, nil, .success(nil))
      case .keyring(let keys, let location):
        let summaries = keys.sorted().map { StoreEntry.Summary(key: $0, size: nil, revision: .zero, date: nil) }
        (look, description, encryption) = (.found(summaries), location, .success(nil))
      case .open(let engine):
        self.engine = engine
        description = engine.description
        encryption = await Self.result { try await AuditReport.StoreEncryption(of: engine) }
        switch await Self.result({ try await engine.summaries().sorted { $0.key < $1.key } }) {
        case .success(let summaries): look = .found(summaries)
        case .failure(let error): look = .failed(error.message)
        }
      }
    } catch {
      let error = StoredError.storage(error)
      (look, description) = (.failed(error.message), error.location.isEmpty ? nil : error.location)
      encryption = .success(nil)
    }
  }

  private static func result<R>(_ body: () async throws -> R) async -> Result<R, StorageError> {
    do { return .success(try await body()) } catch { return .failure(StoredError.storage(error)) }
  }

  func state(of entry: StorageManifest.Entry) -> AuditReport.State {
    switch look {
    case .found(let values):
      guard let key = try? KeyName(entry.name) else { return .absent }
      guard entry.family != nil else {
        return values.members(of: key).first.flatMap { $0.key == key ? .present(size: $0.size, changed: $0.date) : nil }
          ?? .absent
      }
      let summary = StorageRouter.FamilySummary(values.members(of: key))
      return summary.count == 0
        ? .absent : .members(count: summary.count, size: summary.size, changed: summary.changed)
    case .empty: return .absent
    case .failed(let reason): return .unavailable(reason: reason)
    }
  }

  /// Returns the state of a key's migration; `nil` if it has none, or if the store could not be read.
  func migrationState(of entry: StorageManifest.Entry) async -> AuditReport.MigrationState? {
    guard let migration = entry.migration, entry.obstacle == nil, let key = try? KeyName(entry.name) else {
      return nil
    }
    switch look {
    case .failed: return nil
    case .found, .empty: return await AuditReport.MigrationState(of: migration, key, in: engine)
    }
  }

  /// Returns the number of values of a key by their version; `nil` if it has no versions, or if they cannot be read.
  func versions(of entry: StorageManifest.Entry) -> [Int: Int]? {
    guard entry.schema != nil, case .found(let values) = look, let key = try? KeyName(entry.name) else { return nil }
    var counts: [Int: Int] = [:]
    for value in values.members(of: key) where entry.family != nil || value.key == key {
      guard let mark = try? SchemaMark(in: value.attributes) else {
        counts[0, default: 0] += 1
        continue
      }
      counts[mark.version, default: 0] += 1
    }
    return counts
  }

  /// The default items of a keyring by which encrypted stores are opened and compared. Nobody may take them for
  /// leftovers and remove them.
  private static let ofEncryption: Set<KeyName> = ["encryption-key", "encryption-anchor"]

  /// Returns the values that none of the declarations of this store covers, in the order of their keys.
  func undeclared(besides own: [StorageManifest.Entry]) -> [StoreEntry.Summary] {
    guard case .found(let values) = look else { return [] }
    let declared = Set(own.filter { $0.family == nil }.compactMap { try? KeyName($0.name) })
    let isKeychain = description?.hasPrefix("keychain:") == true
    let keys = isKeychain ? declared.union(Self.ofEncryption) : declared
    let families = own.filter { $0.family != nil }.compactMap { try? KeyName($0.name) }
    return values.filter { value in !keys.contains(value.key) && !families.contains { value.key.hasPrefix($0) } }
  }
}

extension [StoreEntry.Summary] {
  /// Returns the elements of this sorted list whose keys start with a prefix.
  fileprivate func members(of prefix: KeyName) -> ArraySlice<StoreEntry.Summary> {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if self[middle].key < prefix { low = middle + 1 } else { high = middle }
    }
    return self[low...].prefix { $0.key.hasPrefix(prefix) }
  }
}
