import Foundation

/// Collections whose scalar values all have one type that their JSON does not show.
extension PreferenceValue {
  /// The kind under which the collection is stored.
  var collectionKind: PreferenceKind {
    var kinds: Set<PreferenceKind> = []
    collectScalarKinds(&kinds)
    return kinds.count == 1 ? kinds.first ?? .collection : .collection
  }

  private func collectScalarKinds(_ kinds: inout Set<PreferenceKind>) {
    switch self {
    case .array(let values): for value in values { value.collectScalarKinds(&kinds) }
    case .dictionary(let entries): for entry in entries { entry.value.collectScalarKinds(&kinds) }
    case .date: kinds.insert(.dates)
    case .data: kinds.insert(.blobs)
    case .real: kinds.insert(.reals)
    case .string, .integer, .unsigned, .boolean: kinds.insert(.collection)
    }
  }

  /// Returns the collection with each scalar value in the type of a kind; `nil` if one does not represent that type.
  func replacingScalars(with kind: PreferenceKind) -> PreferenceValue? {
    switch self {
    case .array(let values):
      let replaced = values.compactMap { $0.replacingScalars(with: kind) }
      return replaced.count == values.count ? .array(replaced) : nil
    case .dictionary(let entries):
      let replaced = entries.compactMap { entry in
        entry.value.replacingScalars(with: kind).map { PreferenceValue.Entry(entry.name, $0) }
      }
      return replaced.count == entries.count ? .dictionary(replaced) : nil
    default:
      return switch kind {
      case .dates: number.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      case .blobs: string.flatMap { Data(base64Encoded: $0) }.map { .data($0) }
      case .reals: number.map { .real($0) }
      default: nil
      }
    }
  }

  /// The number that JSON represents as a number or, if it is infinite or none, as a text.
  private var number: Double? { real ?? string.flatMap { ["inf", "-inf", "nan"].contains($0) ? Double($0) : nil } }
}
