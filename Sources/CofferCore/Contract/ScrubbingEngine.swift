/// An engine that can remove from its files what they still hold of replaced and removed content, such as free pages
/// and a log.
package protocol ScrubbingEngine: StorageEngine {
  /// Removes what the files of the store hold beside its present content. Commits wait meanwhile.
  /// - Parameter limit: the size of the store in bytes up to which this is done; `nil` for any size.
  /// - Returns: `false` if the store is larger than the limit; nothing was done then.
  /// - Throws: `busy` if others read or write the store for too long; `diskFull`; `damaged`. The content is unchanged.
  func scrub(upTo limit: Int?) async throws -> Bool
}

extension MemoryEngine: ScrubbingEngine {
  package func scrub(upTo limit: Int?) async throws -> Bool { true }
}

extension StorageEngine {
  /// Scrubs the files of this engine or of the first engine behind it that can.
  /// - Throws: `unsupported` if none can; the errors of ``ScrubbingEngine/scrub(upTo:)``.
  package func scrubFiles(upTo limit: Int? = nil) async throws -> Bool {
    guard let engine = firstBehind({ $0 as? any ScrubbingEngine }) else {
      throw StorageError.unsupported(
        "removing what its files hold of replaced content",
        advice: "Copy the values into a new store, and delete this one.",
        location: description)
    }
    return try await engine.scrub(upTo: limit)
  }
}
