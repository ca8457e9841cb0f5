import CofferCore

/// Reads of a value that a newer version of the application has migrated: from its kept old form.
extension TypedStore {
  /// Returns the entry of a key and its kept old form, if that belongs to the entry.
  func oldForm(of key: StoreKey) async throws -> (StoreEntry?, OldForm?) {
    guard let oldKey = KeptForms.key(of: key) else { return (try await engine.entry(key), nil) }
    let entries = try await engine.entries([key, oldKey])
    guard let entry = entries[0] else { return (nil, nil) }
    return (entry, try OldForm(entries[1]?.value, of: key, replacedBy: entry.value, at: engine.description))
  }

  /// Returns the value that a newer version of the application has migrated, from its kept old form, with the revision
  /// of the newer value; `nil` if there is none of this version.
  func previous<P: ValuePlan>(_ plan: P) async throws -> (value: P.Value, revision: StoreRevision)? {
    let (entry, old) = try await oldForm(of: plan.key)
    guard let entry, let old, let value = try plan.decode(old) else { return nil }
    return (value, entry.revision)
  }

  /// Returns the same of a type that may not be `Sendable`.
  func previousValue<T: Decodable>(_ type: T.Type, for key: StoreKey) async throws -> T? {
    try await oldForm(of: key).1.flatMap { try coding.previous(type, from: $0, for: key) }
  }

  /// Returns values of one state, each that is newer from its kept old form.
  func previousValues<T: Decodable>(_ type: T.Type, for keys: [StoreKey]) async throws -> [T?] {
    try zip(keys, try await presentEntries(keys)).map { key, entry in
      try entry.map { try coding.decode(type, from: EncodedValue($0), for: key) }
    }
  }

  /// Returns entries of one state, each that is newer in its kept old form.
  /// - Throws: `migrationNeeded` with the key of an older value.
  func presentEntries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    let kept = keys.map { coding.schema?[$0] == nil ? nil : KeptForms.key(of: $0) }
    let found = try await engine.entries(keys + kept.compactMap { $0 })
    let forms = Dictionary(
      found.dropFirst(keys.count).compactMap { $0.map { ($0.key, $0) } }, uniquingKeysWith: { first, _ in first })
    return try keys.indices.map { index in
      try found[index].map { try present($0, kept: kept[index].flatMap { forms[$0] }) }
    }
  }

  /// Returns the entries of a page, each that is newer in its kept old form.
  func presentPage(_ page: [StoreEntry], of snapshot: any StorageSnapshot) async throws -> [StoreEntry] {
    var present: [StoreEntry] = []
    for entry in page {
      var kept: StoreEntry?
      if let schema = coding.schema?[entry.key], let keptKey = KeptForms.key(of: entry.key),
        (try? schema.isPresent(entry.attributes, of: entry.key, at: coding.location)) == nil
      {
        kept = try await snapshot.entries([keptKey])[0]
      }
      present.append(try self.present(entry, kept: kept))
    }
    return present
  }

  /// Returns an entry, or its kept old form if it is newer.
  func present(_ entry: StoreEntry, kept: StoreEntry?) throws -> StoreEntry {
    guard let schema = coding.schema?[entry.key] else { return entry }
    do {
      try schema.requirePresent(entry.attributes, of: entry.key, at: coding.location)
      return entry
    } catch let error as StorageError where error.code == .newerFormat {
      guard
        let old = try OldForm(kept?.value, of: entry.key, replacedBy: entry.value, at: coding.location),
        try schema.isPresent(old.attributes, of: entry.key, at: coding.location)
      else { throw error }
      return StoreEntry(key: entry.key, value: old.data, revision: entry.revision, attributes: old.attributes)
    }
  }
}

extension ByteCoding {
  /// Returns the value of an old form; `nil` if it has another version than the present one.
  func previous<T: Decodable>(_ type: T.Type, from old: OldForm, for key: StoreKey) throws -> T? {
    guard let schema = schema?[key], type == schema.type, try schema.isPresent(old.attributes, of: key, at: location)
    else { return nil }
    return try plainDecode(type, from: EncodedValue(old.data, old.attributes), for: key)
  }
}
