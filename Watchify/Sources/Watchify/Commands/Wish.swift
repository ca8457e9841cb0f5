import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify wish`: makes, lists, changes and removes wishes.
func handleWishes(_ invocation: Invocation) async throws -> ExitStatus {
  var words = try invocation.texts()
  var operation = words.first.flatMap { WishOperation(rawValue: $0.lowercased()) }
  if operation == nil {
    // Without an operation: a condition makes a wish, none lists them.
    operation = try invocation.condition() == nil ? .list : .add
  } else {
    words.removeFirst()
  }
  return try await withSession(invocation) { session in
    switch operation ?? .list {
    case .add: try await addWish(words, invocation, session)
    case .list: try await listWishes(words, invocation, session)
    case .show: try await showWish(words, invocation, session)
    case .edit: try await editWish(words, invocation, session)
    case .remove: try await removeWishes(words, invocation, session)
    }
    return .ok
  }
}

// MARK: Operations

private func addWish(_ words: [String], _ invocation: Invocation, _ session: Session) async throws {
  guard let condition = try invocation.condition() else {
    throw Command.mistake("'wish add' needs one of --below, --off, --in-stock and --new.", .wish)
  }
  guard words.count <= 1 else { throw Command.mistake("'wish add' takes one SUBJECT.", .wish) }
  let scope = try await scope(words.first, invocation, session)
  let wish = try await session.service.addWish(
    scope, condition, expiresAt: try invocation.expiration() ?? nil, currency: invocation.options[.currency])
  try tell(wish, "Wish \(wish.shortID)", invocation)
}

private func editWish(_ words: [String], _ invocation: Invocation, _ session: Session) async throws {
  guard let word = words.first, words.count == 1 else {
    throw Command.mistake("'wish edit' needs the id of a wish.", .wish)
  }
  let condition = try invocation.condition()
  let expiration = try invocation.expiration()
  let currency = invocation.options[.currency]
  guard condition != nil || expiration != nil || currency != nil else {
    throw Command.mistake(
      "'wish edit' takes --until, --currency, or one of --below, --off, --in-stock and --new.", .wish)
  }
  guard invocation.options[.search] == nil, invocation.options[.variant] == nil else {
    throw Command.mistake("'wish edit' cannot change what a wish is about: make another wish.", .wish)
  }
  let old = try await wish(word, session)
  let wish = try await session.service.editWish(
    id: old.id, condition: condition ?? old.condition, expiresAt: expiration ?? old.expiresAt, currency: currency)
  try tell(wish, "Wish \(wish.shortID) is now", invocation)
}

/// Prints a new or changed wish.
private func tell(_ wish: WishDTO, _ beginning: String, _ invocation: Invocation) throws {
  guard !invocation.has(.json) else { return try print(.object(wish.members)) }
  try printText("\(beginning): \(wish.sentence(at: Date())).")
  if wish.isTrue {
    try printText("It is true already, so nothing is notified now: only when it has been false and comes true again.")
  }
}

private func removeWishes(_ words: [String], _ invocation: Invocation, _ session: Session) async throws {
  guard !words.isEmpty else { throw Command.mistake("'wish remove' needs the id of a wish.", .wish) }
  // All ids are checked before anything is removed.
  var wishes: [WishDTO] = []
  for word in words { wishes.append(try await wish(word, session)) }
  for wish in wishes { try await session.service.removeWish(id: wish.id) }
  if invocation.has(.json) {
    try print(.object([("removed", .list(wishes.map { .text($0.id.uuidString) }))]))
  } else {
    for wish in wishes { try printText("Removed the wish: \(wish.subject), \(wish.conditionText).") }
  }
}

private func listWishes(_ words: [String], _ invocation: Invocation, _ session: Session) async throws {
  var wishes: [WishDTO]
  if let word = words.first {
    guard words.count == 1 else { throw Command.mistake("'wish list' takes one SUBJECT.", .wish) }
    let (store, detail) = try await subject(word, session)
    wishes = try await session.service.wishes(storeId: store.id, productId: detail?.product.shopifyId)
  } else {
    wishes = try await session.service.wishes()
  }
  if invocation.has(.json) {
    return try print(.object([("wishes", .list(wishes.map { .object($0.members) }))]))
  }
  guard !wishes.isEmpty else {
    return try printText("There are no wishes. Make one with 'watchify wish STORE/PRODUCT --below PRICE'.")
  }
  let now = Date()
  var columns = Columns(
    .left, .text, .text, .text, .left, .text, heading: ["ID", "WISH", "FOR", "STATE", "UNTIL", "STORE"])
  for wish in wishes {
    let isOver = wish.isExpired(at: now)
    let isTrue = wish.isTrue
    columns.add([
      wish.shortID, wish.subject, wish.conditionText, wish.state(at: now),
      wish.expiresAt.map { Moment.day($0.addingTimeInterval(-1), now: now) } ?? "",
      (wish.storeName ?? "all stores").oneLine(limit: 40),
    ]) { isTrue ? $0.green($1) : isOver ? $0.dim($1) : $1 }
  }
  let output = Output.standard
  try output.write(columns)
  try output.flush()
}

private func showWish(_ words: [String], _ invocation: Invocation, _ session: Session) async throws {
  guard let word = words.first, words.count == 1 else {
    throw Command.mistake("'wish show' needs the id of a wish.", .wish)
  }
  let wish = try await wish(word, session)
  let matches = try await session.service.wish(matches: wish.id, limit: 200)
  let output = Output.standard
  if invocation.has(.json) {
    let list = matches.map { match in
      JSON.object(
        [("storeId", .text(match.id.storeId.uuidString)), ("store", .text(match.listed.storeName))]
          + match.listed.product.members
          + [("isFulfilled", .flag(match.isFulfilled))])
    }
    return try print(.object(wish.members + [("products", .list(list))]))
  }
  try output.writeText("Wish \(wish.shortID): \(wish.sentence(at: Date()))", style: output.style.bold)
  var columns = Columns(.left, .text, .right, .left, .left, .left)
  for match in matches {
    let isFulfilled = match.isFulfilled
    columns.add([
      isFulfilled ? "*" : " ", match.listed.product.title.oneLine(limit: longestTitle),
      Money.text(match.listed.product.cachedPrice, match.listed.product.currency),
      match.listed.product.cachedIsAvailable ? "in stock" : "sold out", match.listed.product.lowest?.text() ?? "",
      match.listed.storeName.oneLine(limit: 40),
    ]) { isFulfilled ? $0.green($1) : $1 }
  }
  try output.write(columns)
  if matches.isEmpty { try output.writeText("Nothing that is listed now is meant by it.") }
  try output.flush()
}

// MARK: Arguments

extension Invocation {
  /// Returns the condition that the options describe; `nil` if there is none.
  fileprivate func condition() throws -> WishCondition? {
    let given = [Option.below, .off, .inStock, .new].filter { has($0) }
    guard given.count < 2 else {
      throw Command.mistake("\(given.map(\.name).joined(separator: " and ")) exclude each other.", command)
    }
    switch given.first {
    case .below?:
      guard let text = options[.below], let price = Price(entered: text) else {
        throw Command.mistake("--below takes an amount such as 70 or 69.90.", command)
      }
      return .priceAtMost(price.decimal)
    case .off?:
      guard let text = options[.off], let percent = Int(text.hasSuffix("%") ? String(text.dropLast()) : text) else {
        throw Command.mistake("--off takes a percentage such as 20.", command)
      }
      return .percentOff(percent)
    case .inStock?: return .backInStock
    case .new?: return .newMatch
    default: return nil
    }
  }

  /// Returns the value of `--until`: a date, or `nil` for "never"; `nil` as a whole if it is not given.
  fileprivate func expiration() throws -> Date?? {
    guard let text = options[.until] else { return nil }
    return text.lowercased() == "never" ? .some(nil) : .some(try end())
  }
}

/// Returns what a new wish is about.
private func scope(_ word: String?, _ invocation: Invocation, _ session: Session) async throws -> WishScope {
  if let text = invocation.options[.search] {
    guard invocation.options[.variant] == nil else {
      throw Command.mistake("--variant belongs to a product, not to --search.", .wish)
    }
    return .search(storeId: try word.map { try session.store($0, .wish).id }, text: text)
  }
  guard let word else {
    throw Command.mistake("'wish add' needs a STORE/PRODUCT or --search.", .wish)
  }
  let (store, detail) = try await subject(word, session)
  guard let detail else {
    throw Command.mistake("'\(word.oneLine(limit: 60))' is a store: add /PRODUCT, or --search WORDS.", .wish)
  }
  guard let text = invocation.options[.variant] else {
    return .product(storeId: store.id, productId: detail.product.shopifyId)
  }
  let chosen = try variant(text, detail, for: .wish)
  return .variant(storeId: store.id, productId: detail.product.shopifyId, variantId: chosen.id)
}

/// Returns the store and the product that a word names: "STORE", "STORE/PRODUCT" or a link to a product.
private func subject(
  _ word: String, _ session: Session
) async throws -> (store: StoreDTO, product: ProductDetailDTO?) {
  if let products = word.range(of: "/products/") {
    let store = try session.store(String(word[..<products.lowerBound]), .wish)
    return (store, try await product(word, store, session, for: .wish))
  }
  let start = word.range(of: "://")?.upperBound ?? word.startIndex
  guard let slash = word[start...].firstIndex(of: "/"), word.index(after: slash) < word.endIndex else {
    return (try session.store(word, .wish), nil)
  }
  let store = try session.store(String(word[..<slash]), .wish)
  return (store, try await product(String(word[word.index(after: slash)...]), store, session, for: .wish))
}

/// Returns the wish whose id begins with a word.
func wish(_ word: String, _ session: Session) async throws -> WishDTO {
  let wanted = word.lowercased()
  let found = try await session.service.wishes().filter { $0.id.uuidString.lowercased().hasPrefix(wanted) }
  guard let wish = found.first, wanted.count >= 2 else {
    throw CommandError(
      .notFound, "wishNotFound", "There is no wish '\(word.oneLine(limit: 40))'.",
      advice: "See 'watchify wish list'. Nothing was changed.")
  }
  guard found.count == 1 else {
    throw Command.mistake("'\(word.oneLine(limit: 40))' is ambiguous: several ids begin with it.", .wish)
  }
  return wish
}
