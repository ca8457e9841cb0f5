import Coffer
import CofferTerminal
import Foundation
import WatchifyKit

/// `watchify add`: follows a store.
func addStore(_ invocation: Invocation) async throws -> ExitStatus {
  guard let address = try invocation.text(at: 0) else { throw UsageError("'add' needs an ADDRESS.", .add) }
  let domain = try ShopAddress(address).domain
  let country = try invocation.country()
  let headers = try invocation.headers()
  return try await interruptible {
    try await withSession(invocation, address: domain) { session in
      let progress = ProgressFeed(isShown: !invocation.has(.json), "Reading \(domain):")
      progress.show("asking what it is")
      defer { progress.end() }
      let id: UUID
      do {
        id = try await session.service.addStore(
          name: invocation.options[.name], domain: address, country: country, headers: headers
        ) { products, page in progress.show("\(counted(products, "product")), page \(page)") }
      } catch let error as SyncError {
        throw CommandError(adding: domain, error)
      } catch is CancellationError {
        throw CommandError(.interrupted, "interrupted", "Interrupted: nothing was added.")
      }
      progress.end()
      let variants = try await session.service.variantCount(storeId: id)
      guard let store = try await session.service.stores().first(where: { $0.id == id }) else {
        throw SyncError.storeNotFound
      }
      try await tell(store, asked: country, variants, session, asJSON: invocation.has(.json))
      if !headers.isEmpty, store.domain != domain {
        try Output.error.note("It lists its products at \(store.domain), to which the headers for \(domain) do not go.")
      }
      return .ok
    }
  }
}

private func tell(
  _ store: StoreDTO, asked country: String?, _ variants: Int, _ session: Session, asJSON: Bool
) async throws {
  let watch = WatchMark.look(beside: session.file)
  guard !asJSON else {
    return try print(
      .object(
        store.members + [
          ("variants", .number(variants)), ("nextCheck", .date(watch.next)), ("isWatched", .flag(watch.isWatched)),
        ]))
  }
  let output = Output.standard
  let place = store.country.map { " (country \($0))" } ?? ""
  let currency = store.currency.map { "prices in \($0)" } ?? "prices in a currency that it does not name"
  try output.writeText("\(store.name.oneLine(limit: 80)): Shopify, \(currency)\(place)")
  // Only a running watch keeps such a promise.
  let next = watch.next.map { "; next check \(Moment.text($0))" } ?? ""
  try output.writeText(
    "Imported \(counted(store.cachedProductCount, "product")), \(counted(variants, "variant")). "
      + "No alerts for what is already there\(next).")
  if let text = leftOut(store) { try output.writeText(text) }
  if let remark = store.lastError { try output.writeText(remark.oneLine()) }
  if let text = marketRemark(store, asked: country) { try output.writeText(text) }
  try output.flush()
  if !watch.isWatched {
    try Output.error.note("Nobody looks by itself yet: leave 'watchify watch' running, or run 'watchify sync'.")
  }
}

/// What is odd about the market: one that was asked for and not served, or none.
private func marketRemark(_ store: StoreDTO, asked country: String?) -> String? {
  if let country {
    guard let currency = store.currency, let own = Locale(identifier: "und_\(country)").currency?.identifier,
      own != currency
    else { return nil }
    return "Asked for \(country) and got \(currency), not \(own): the shop does not serve that market."
  }
  guard store.country == nil else { return nil }
  return "The shop names no country, and its currency is not that of one alone: its prices are those for where it is "
    + "asked from. 'watchify edit STORE --country XX' asks for those of one country."
}

/// "1 product and 2 variants could not be read and were left out."
private func leftOut(_ store: StoreDTO) -> String? {
  let parts = [
    store.unreadableProducts > 0 ? counted(store.unreadableProducts, "product") : nil,
    store.unreadableVariants > 0 ? counted(store.unreadableVariants, "variant") : nil,
  ].compactMap { $0 }
  guard !parts.isEmpty else { return nil }
  let isOne = store.unreadableProducts + store.unreadableVariants == 1
  return "\(parts.joined(separator: " and ")) could not be read and \(isOne ? "was" : "were") left out."
}
