import CofferCore

/// Stores whose values are all encrypted.
extension GroupCommitter {
  func refusesPlainValues() throws -> Bool {
    if let takesOnlyEnvelopes { return takesOnlyEnvelopes }
    let refuses =
      try rows.recordRevision(of: .onlyEnvelopes) != nil && rows.recordRevision(of: .keyRing) != nil
    takesOnlyEnvelopes = refuses
    return refuses
  }

  /// Refuses a plain value of a transaction in a store whose values are all encrypted.
  func requirePermitted(_ key: KeyName) throws {
    guard try refusesPlainValues() else { return }
    throw StorageError.takesOnlyEnvelopes(key, location: connection.file.description)
  }
}
