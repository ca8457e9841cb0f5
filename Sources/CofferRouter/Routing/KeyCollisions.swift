/// The rules by which declared names may occur more than once.
///
/// A name is unique in its store, and a family claims all names that start with its prefix. Keys of different stores
/// may have the same name, unless one of them is synced: snapshots and overrides of sync policies identify values by
/// their names alone.
extension KeyRegistry.Record {
  /// Whether both declarations claim a name, in whichever stores.
  func sharesNames(with other: KeyRegistry.Record) -> Bool {
    key == other.key || (isFamily && other.key.hasPrefix(key)) || (other.isFamily && key.hasPrefix(other.key))
      || descriptor.name == other.descriptor.name  // two Unicode forms
  }

  /// Whether `other`, which was used before this declaration was registered, is the same declaration.
  func replaces(_ other: KeyRegistry.Record) -> Bool {
    let (before, now) = (other.descriptor, descriptor)
    return other.catalog == nil && catalog != nil && key == other.key && valueType == other.valueType
      && before.domain == now.domain && before.security == now.security && before.isSensitive == now.isSensitive
      && isFamily == other.isFamily
  }

  /// Throws `duplicateKey` if the declarations claim a name and must not.
  func refuseCollision(with old: KeyRegistry.Record) throws {
    guard sharesNames(with: old) else { return }
    let isOneStore = location == old.location
    let isSynced =
      [old, self].allSatisfy { $0.catalog != nil }
      && [old, self].contains { $0.declaredSyncPolicy != .never }
    guard isOneStore || isSynced else { return }
    let problem =
      isOneStore
      ? "Two declarations claim the same name in one store"
      : "Two declarations in different stores claim the same name, and one of them is synced by its name"
    throw StorageError(
      .duplicateKey, "\(problem): \(old.claim), and \(claim).",
      advice: "Give one of them another name\(isOneStore ? "" : ", or sync neither"). "
        + (catalog == nil ? "Nothing was read or written." : "No key of the catalog was registered."),
      key: key)
  }

  private var claim: String {
    let name = descriptor.name.escapingControlCharacters
    let kind = isFamily ? "the family '\(name)' of \(descriptor.valueType)" : "'\(name)' of \(descriptor.valueType)"
    return "\(kind) in \(descriptor.domain) \(catalog.map { "(catalog \($0))" } ?? "(at its first use)")"
  }
}
