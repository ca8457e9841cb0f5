import CofferTerminal
import Foundation
import WatchifyKit

extension Session {
  /// Returns the store with a name, an address or the beginning of an id.
  /// - Parameter isWhole: whether prefixes of names and short prefixes of ids are rejected, because the command cannot
  ///   be undone.
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
    // As many digits of an id as 'list' shows identify a store on purpose.
    let isShownID = wanted.count >= 8 && found.first?.id.uuidString.lowercased().hasPrefix(wanted) == true
    if let store = found.first, found.count == 1, !isWhole || !exact.isEmpty || isShownID { return store }
    let shown = text.oneLine(limit: 60)
    if isWhole, exact.isEmpty, found.count == 1 {
      throw Command.mistake(
        "'\(shown)' is the beginning of \(Self.list(found, "or")): '\(command.rawValue)' takes a whole name.", command)
    }
    guard found.isEmpty else {
      throw Command.mistake("'\(shown)' may be \(Self.list(found, "or")).", command)
    }
    guard !stores.isEmpty else {
      throw CommandError(.notFound, "storeNotFound", "There is no store '\(shown)'.", advice: firstSteps)
    }
    throw CommandError(
      .notFound, "storeNotFound", "There is no store '\(shown)'.", advice: "You follow \(Self.list(stores, "and")).")
  }

  /// Returns the stores that the operands name; all stores if there are no operands.
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

/// The advice for a user who follows no store.
let firstSteps = "Follow one with 'watchify add ADDRESS', or try 'watchify demo'."
