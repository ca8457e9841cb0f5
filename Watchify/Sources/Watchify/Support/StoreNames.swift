import CofferTerminal
import Foundation
import WatchifyKit

extension Session {
  /// The store that somebody means: by its name, its address or the beginning of its id.
  /// - Parameter isWhole: whether beginnings of names and ids will not do, because the command cannot be undone.
  func store(_ text: String, _ command: Command, isWhole: Bool = false) throws -> StoreDTO {
    let wanted = text.lowercased()
    let domain = (try? ShopAddress(text))?.domain
    let exact = stores.filter {
      $0.name.lowercased() == wanted || $0.domain == wanted || $0.domain == domain
        || $0.id.uuidString.lowercased() == wanted
    }
    let found =
      exact.isEmpty && wanted.count >= 2
      ? stores.filter { $0.id.uuidString.lowercased().hasPrefix(wanted) || $0.name.lowercased().hasPrefix(wanted) }
      : exact
    // As many digits of an id as 'list' shows are no slip of the hand.
    let isShownID = wanted.count >= 8 && found.first?.id.uuidString.lowercased().hasPrefix(wanted) == true
    if let store = found.first, found.count == 1, !isWhole || !exact.isEmpty || isShownID { return store }
    let shown = text.oneLine(limit: 60)
    if isWhole, exact.isEmpty, found.count == 1 {
      throw UsageError(
        "'\(shown)' is the beginning of \(Self.list(found, "or")): '\(command.rawValue)' takes a whole name.", command)
    }
    guard found.isEmpty else {
      throw UsageError("'\(shown)' may be \(Self.list(found, "or")).", command)
    }
    guard !stores.isEmpty else {
      throw CommandError(.notFound, "storeNotFound", "There is no store '\(shown)'.", advice: firstSteps)
    }
    throw CommandError(
      .notFound, "storeNotFound", "There is no store '\(shown)'.", advice: "You follow \(Self.list(stores, "and")).")
  }

  /// The stores that the operands name; all of them for none.
  func stores(_ invocation: Invocation) throws -> [StoreDTO] {
    let texts = try invocation.texts()
    return texts.isEmpty ? stores : try texts.map { try store($0, invocation.command) }
  }

  private static func list(_ stores: [StoreDTO], _ word: String) -> String {
    let shown = stores.prefix(12).map {
      "\($0.name.oneLine(limit: 40)) (\($0.domain), id \($0.id.uuidString.prefix(8).lowercased()))"
    }
    let rest = stores.count - shown.count
    let all = shown + (rest > 0 ? ["\(rest) more"] : [])
    guard let last = all.last, all.count > 1 else { return all.first ?? "" }
    return "\(all.dropLast().joined(separator: ", ")) \(word) \(last)"
  }
}

/// What to do first.
let firstSteps = "Follow one with 'watchify add ADDRESS', or try 'watchify demo'."
