// The records that the library keeps in stores; those of the encryption begin with "encryption". Their names are part
// of the formats (`docs/formats/sqlite.md`).

extension SystemRecord.Name {
  /// The first of the two records of a key ring. A store without it encrypts nothing, or has lost its ring.
  package static let keyRing = SystemRecord.Name("encryption" as KeyName)
  /// The second record of a key ring.
  package static let keyRingCopy = SystemRecord.Name("encryption.copy" as KeyName)
  /// Both records of a key ring.
  package static let keyRings = [keyRing, keyRingCopy]
  /// The mark of a store whose values are all encrypted, or are being encrypted, written with its key ring. While both
  /// are there, a commit with a plain value is refused, also one through a handle that was opened before.
  package static let onlyEnvelopes = SystemRecord.Name("encryption.only" as KeyName)
  /// What a rollback anchor compares.
  package static let rollback = SystemRecord.Name("encryption.fresh" as KeyName)
  /// The router's overrides of declared sync policies.
  package static let syncPolicies = SystemRecord.Name("router/sync-policies" as KeyName)

  /// The migrations of one key.
  /// - Parameter hash: the first half of the SHA-256 of its name, in hexadecimal.
  package static func migrations(ofKeyWith hash: String) throws -> SystemRecord.Name {
    try SystemRecord.Name("router/migrations/" + hash)
  }
}
