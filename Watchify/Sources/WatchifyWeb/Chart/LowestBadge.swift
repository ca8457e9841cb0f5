import WatchifyKit

/// The words that a price is the lowest of a period.
enum LowestBadge {
  /// Returns words such as "lowest in 90 days"; `nil` without a period.
  static func text(_ lowest: LowestPrice?) -> String? {
    lowest.map { lowest in lowest.days.map { "lowest in \($0) days" } ?? "lowest ever" }
  }
}
