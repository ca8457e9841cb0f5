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
    let kept = keys.map { KeptForms.key(of: $0) }
    let entries = try await engine.entries(keys + kept.compactMap { $0 })
    let forms = Dictionary(
      entries.dropFirst(keys.count).compactMap { $0.map { ($0.key, $0) } }, uniquingKeysWith: { first, _ in first })
    return try zip(keys.indices, keys).map { index, key in
      guard let entry = entries[index] else { return nil }
      do { return try coding.decode(type, from: EncodedValue(entry), for: key) } catch let error as StorageError
        where error.code == .newerFormat
      {
        let stored = kept[index].flatMap { forms[$0]?.value }
        guard let old = try OldForm(stored, of: key, replacedBy: entry.value, at: engine.description),
          let value = try coding.previous(type, from: old, for: key)
        else { throw error }
        return value
      }
    }
  }
}

extension ByteCoding {
  /// Returns the value of an old form; `nil` if it has another version than the present one.
  func previous<T: Decodable>(_ type: T.Type, from old: OldForm, for key: StoreKey) throws -> T? {
    guard let schema = schema?[key], type == schema.type else { return nil }
    let version = try schema.storedVersion(old.attributes, of: key, at: location)
    guard version == schema.version else { return nil }
    return try plainDecode(type, from: EncodedValue(old.data, old.attributes), for: key)
  }
}
