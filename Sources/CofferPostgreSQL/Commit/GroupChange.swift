import CofferCore
import Foundation

/// What a group of batches changes: their operations reduced to one per row, since one statement writes all rows and
/// must not write any twice.
struct GroupChange {
  /// The last operation on a row.
  enum RowChange {
    case put(value: Data, attributes: ValueAttributes, checksum: Int64, number: Int)
    case delete
  }

  /// The requests that change something, in the order of their revisions.
  private(set) var requests: [CommitRequest] = []
  /// The cleared prefixes, applied before the rows; `nil` for everything.
  private(set) var clears: [KeyName?] = []
  private(set) var rows: [RowName: RowChange] = [:]

  /// Adds the operations of a request.
  mutating func add(_ request: CommitRequest) {
    guard request.isChange else { return }
    let number = requests.count
    requests.append(request)
    rows.reserveCapacity(rows.count + request.operations.count)
    for (operation, checksum) in zip(request.operations, request.checksums) {
      switch operation {
      case .put(let key, let value, let attributes):
        rows[RowName(isRecord: false, key: key)] = .put(
          value: value, attributes: attributes, checksum: checksum, number: number)
      case .delete(let key): rows[RowName(isRecord: false, key: key)] = .delete
      case .putRecord(let name, let content):
        rows[RowName(isRecord: true, key: name.key)] = .put(
          value: content, attributes: .none, checksum: checksum, number: number)
      case .deleteRecord(let name): rows[RowName(isRecord: true, key: name.key)] = .delete
      case .clear(let prefix): clear(prefix)
      case .require, .requireRecord: break
      }
    }
  }

  /// Whether the group so far marks the store as one whose values are all encrypted.
  var marksEncryption: Bool {
    if case .put = rows[RowName(isRecord: true, key: SystemRecord.Name.onlyEnvelopes.key)] { true } else { false }
  }

  private mutating func clear(_ prefix: KeyName?) {
    clears.append(prefix)
    rows = rows.filter { name, _ in name.isRecord || !(prefix.map(name.key.hasPrefix) ?? true) }
  }

  /// What the group has done to a row so far; `nil` if nothing.
  func change(of name: RowName) -> RowChange? {
    if let change = rows[name] { return change }
    let isCleared = !name.isRecord && clears.contains { $0.map(name.key.hasPrefix) ?? true }
    return isCleared ? .delete : nil
  }
}
