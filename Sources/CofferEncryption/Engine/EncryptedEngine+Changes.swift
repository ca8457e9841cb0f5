public import CofferCore

extension EncryptedEngine {
  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    guard let commits = base.recentCommits(after: revision) else { return nil }
    let cipher = cipher
    guard cipher.names != nil else { return commits }
    var named: [StoreCommit] = []
    named.reserveCapacity(commits.count)
    for commit in commits {
      // A name that this process has not used lately takes a read.
      guard let known = cipher.named(commit) else { return nil }
      named.append(known)
    }
    return named
  }

  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    let changes = base.changes(since: position)
    guard hidesNames else { return changes }
    return AsyncStream { [self] in
      switch await changes.first(where: { _ in true }) {
      case .commit(let commit): .commit(await named(commit))
      case .reload(let revision): .reload(upTo: revision)
      case nil: nil
      }
    }
  }

  /// Returns a commit with the names of its keys; one that changes everything if they cannot be determined. The name
  /// of a value that another process has written is beside the value; one that was removed has none.
  private func named(_ commit: StoreCommit) async -> StoreCommit {
    for attempt in 0..<2 {
      let cipher = cipher
      if let named = cipher.named(commit) { return named }
      for key in commit.changed.keys where cipher.names?.knownName(of: key) == nil {
        guard let summary = try? await base.summary(of: key), (try? cipher.name(of: key, summary.attributes)) != nil
        else { break }
      }
      if let named = cipher.named(commit) { return named }
      // The name may be sealed under a key that another process has made since.
      if attempt == 0, (try? await ciphers.reload(after: cipher)) === cipher { break }
    }
    return commit.changing(.everything(records: commit.changed.records))
  }
}

extension StoreCipher {
  /// Returns a commit with the names of its keys; `nil` if one of them is not known.
  fileprivate func named(_ commit: StoreCommit) -> StoreCommit? {
    guard let names, !commit.changed.isEverything else { return commit }
    var keys: [KeyName] = []
    keys.reserveCapacity(commit.changed.keys.count)
    for key in commit.changed.keys {
      guard let name = names.knownName(of: key) ?? (key.size == OpaqueNames.size ? nil : key) else { return nil }
      keys.append(name)
    }
    return commit.changing(
      StoreSelection(keys: keys, prefixes: commit.changed.prefixes, records: commit.changed.records))
  }
}

extension StoreCommit {
  func changing(_ changed: StoreSelection) -> StoreCommit {
    StoreCommit(revision: revision, transaction: transaction, origin: origin, changed: changed, date: date)
  }
}
