import CofferCore
import CofferCrypto

/// What a batch does to the values that a digest covers.
struct ValueChanges: Sendable {
  /// The versions of the keys that the batch puts or removes, as it leaves them.
  private(set) var versions: [StoreKey: ValueVersion?] = [:]
  /// The prefixes that it clears.
  private(set) var prefixes: [StoreKey] = []
  /// Whether it clears the store.
  private(set) var clearsAll = false

  /// - Parameter batch: a batch as it is stored.
  init(_ batch: WriteBatch, under keys: FreshnessKeys) throws {
    for operation in batch.operations {
      switch operation {
      case .put(let key, _, let attributes):
        versions.updateValue(try ValueVersion(of: key, attributes, under: keys), forKey: key)
      case .delete(let key): versions.updateValue(nil, forKey: key)
      case .clear(let prefix?):
        for key in versions.keys where key.hasPrefix(prefix) { versions.updateValue(nil, forKey: key) }
        prefixes.append(prefix)
      case .clear(nil):
        versions = [:]
        prefixes = []
        clearsAll = true
      case .require, .putRecord, .deleteRecord, .requireRecord: break
      }
    }
  }

  /// Whether the batch puts, removes or clears a key.
  func touches(_ key: StoreKey) -> Bool {
    clearsAll || versions[key] != nil || prefixes.contains(where: key.hasPrefix)
  }

  /// Returns the digest after the batch.
  /// - Parameters:
  ///   - digest: the digest before it.
  ///   - replaced: the versions before it of the keys that it puts, removes or clears.
  func applied(to digest: ValueDigest, replacing replaced: [StoreKey: ValueVersion]) -> ValueDigest {
    var next = clearsAll ? ValueDigest() : digest
    if !clearsAll { for version in replaced.values { next.remove(version) } }
    for version in versions.values { next.add(version) }
    return next
  }
}

extension WriteBatch {
  /// Whether the batch puts, removes or clears values.
  var changesValues: Bool {
    operations.contains { operation in
      switch operation {
      case .put, .delete, .clear: true
      case .require, .putRecord, .deleteRecord, .requireRecord: false
      }
    }
  }
}
