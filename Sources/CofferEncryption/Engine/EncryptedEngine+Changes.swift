public import CofferCore
import CofferCrypto

extension EncryptedEngine {
  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    guard let commits = base.recentCommits(after: revision) else { return nil }
    let cipher = cipher
    guard cipher.changesCommits else { return commits }
    var named: [StoreCommit] = []
    named.reserveCapacity(commits.count)
    for commit in commits {
      // Without the key of a name, it is not available without reading the ring again.
      guard let known = try? cipher.named(commit) else { return nil }
      named.append(known)
    }
    return named
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    let changes = base.changes(since: position)
    guard cipher.changesCommits else { return changes }
    return AsyncStream { [self] in
      switch await changes.first(where: { _ in true }) {
      case .commit(let commit): .commit(await named(commit))
      case .reload(let revision): .reload(upTo: revision)
      case nil: nil
      }
    }
  }

  /// Returns a commit with the names of its keys; one that changes everything if they cannot be determined.
  private func named(_ commit: StoreCommit) async -> StoreCommit {
    let cipher = cipher
    if let named = try? cipher.named(commit) { return named }
    let next = try? await ciphers.reload(after: cipher)
    return (next ?? cipher).commit(commit)
  }
}

extension StoreCipher {
  /// Whether commits of the store differ from those that callers see.
  var changesCommits: Bool { names != nil }

  /// Returns the commit of a batch with the names of its keys, which mostly are those of the batch.
  func commit(_ commit: StoreCommit, of batch: WriteBatch) -> StoreCommit {
    guard names != nil else { return commit }
    // Clearing a prefix, hiding and showing names change further stored keys.
    let isExact = !isTransitional && !batch.operations.contains { if case .clear(_?) = $0 { true } else { false } }
    return isExact ? commit.changing(batch.selection) : self.commit(commit)
  }

  /// Returns a commit with the names of its keys; one that changes everything if they cannot be determined.
  func commit(_ commit: StoreCommit) -> StoreCommit {
    (try? named(commit)) ?? commit.changing(.everything(records: NameRecord.split(commit.changed.records).others))
  }

  /// Returns a commit with the names of its keys.
  /// - Throws: any error if one does not open.
  func named(_ commit: StoreCommit) throws -> StoreCommit {
    guard let names else { return commit }
    let changed = commit.changed
    let (parts, others) = NameRecord.split(changed.records)
    guard !changed.isEverything else {
      return others.count == changed.records.count ? commit : commit.changing(.everything(records: others))
    }
    var known: [StoreKey: StoreKey] = [:]
    var prefixes: [StoreKey] = []
    for part in parts {
      let record = try names.name(in: part)
      switch record.kind {
      case .key: known[try names.key(of: record.name)] = record.name
      case .prefix: prefixes.append(record.name)
      }
    }
    var keys: [StoreKey] = []
    keys.reserveCapacity(changed.keys.count)
    for key in changed.keys {
      if let name = known[key] {
        keys.append(name)
      } else if key.size != OpaqueNames.size, known.values.contains(key) {
        continue  // The same value, while names are hidden or shown.
      } else if let name = names.knownName(of: key), prefixes.isEmpty {
        keys.append(name)  // The store itself removed an expired value.
      } else if isTransitional, key.size != OpaqueNames.size {
        if !prefixes.contains(where: key.hasPrefix) { keys.append(key) }
      } else if prefixes.isEmpty {
        return commit.changing(.everything(records: others))
      }
      // Otherwise one of the keys of a cleared prefix.
    }
    return commit.changing(StoreSelection(keys: keys, prefixes: prefixes + changed.prefixes, records: others))
  }
}

extension StoreCommit {
  fileprivate func changing(_ changed: StoreSelection) -> StoreCommit {
    StoreCommit(revision: revision, transaction: transaction, origin: origin, changed: changed, date: date)
  }
}
