import CofferCore
import CofferSQLite

extension SlotEngine: ScrubbingEngine {
  /// Scrubs the journal, which holds the system records. A replaced value is not in it.
  package func scrub(upTo limit: Int?) async throws -> Bool {
    if let obstacleToWriting { throw obstacleToWriting }
    return try await core.journal?.scrub(upTo: limit) ?? true
  }
}
