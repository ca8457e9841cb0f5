import Coffer
import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify add`: follows a store.
func addStore(_ invocation: Invocation) async throws -> ExitStatus {
  guard let address = try invocation.text(at: 0) else { throw Command.mistake("'add' needs an ADDRESS.", .add) }
  let domain = try ShopAddress(address).domain
  let country = try invocation.country()
  let headers = try invocation.headers()
  return try await interruptible {
    try await withSession(invocation, address: domain) { session in
      let progress = ProgressFeed(isShown: !invocation.has(.json), "Syncing \(domain):")
      progress.show("requesting its description")
      defer { progress.end() }
      let id: UUID
      do {
        id = try await session.service.addStore(
          name: invocation.options[.name], domain: address, country: country, headers: headers
        ) { products, page in progress.show("\(counted(products, "product")), page \(page)") }
      } catch let error as SyncFailure {
        throw CommandError(adding: domain, error)
      } catch is CancellationError {
        throw CommandError(.interrupted, "interrupted", "Interrupted: nothing was added.")
      }
      progress.end()
      let variants = try await session.service.variantCount(storeId: id)
      guard let store = try await session.service.stores().first(where: { $0.id == id }) else {
        throw SyncFailure.storeNotFound
      }
      try await tell(store, asked: country, variants, session, asJSON: invocation.has(.json))
      if !headers.isEmpty, store.domain != domain {
        try Output.error.note("It lists its products at \(store.domain); the headers for \(domain) are not sent there.")
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
          ("variants", .number(variants)), ("nextSync", .date(watch.next)), ("isWatched", .flag(watch.isWatched)),
        ]))
  }
  let output = Output.standard
  let market = store.country.map { " (country \($0))" } ?? ""
  let currency = store.currency.map { "prices in \($0)" } ?? "prices in an unstated currency"
  try output.writeText("\(store.name.oneLine(limit: 80)): Shopify, \(currency)\(market)")
  // Only a running watch has a next sync.
  let next = watch.next.map { "; next sync \(Moment.text($0))" } ?? ""
  try output.writeText(
    "Imported \(counted(store.cachedProductCount, "product")), \(counted(variants, "variant")). "
      + "No alerts for what is already there\(next).")
  if let text = leftOut(store) { try output.writeText(text) }
  if let remark = store.lastError { try output.writeText(remark.oneLine()) }
  if let text = marketRemark(store, asked: country) { try output.writeText(text) }
  try output.flush()
  if !watch.isWatched {
    try Output.error.note("Automatic syncing is off: leave 'watchify watch' running, or run 'watchify sync'.")
  }
}

/// Returns a remark if the requested market was not served or no market could be determined.
private func marketRemark(_ store: StoreDTO, asked country: String?) -> String? {
  if let country {
    guard let currency = store.currency, let own = Locale(identifier: "und_\(country)").currency?.identifier,
      own != currency
    else { return nil }
    return "Requested \(country) and received \(currency), not \(own): the shop does not serve that market."
  }
  guard store.country == nil else { return nil }
  return "The shop states no country, and several countries use its currency: prices depend on where the request "
    + "comes from. 'watchify edit STORE --country XX' selects those of one country."
}

/// Returns the number of undecodable entries, such as "1 product and 2 variants could not be read and were left out."
private func leftOut(_ store: StoreDTO) -> String? {
  let parts = [
    store.unreadableProducts > 0 ? counted(store.unreadableProducts, "product") : nil,
    store.unreadableVariants > 0 ? counted(store.unreadableVariants, "variant") : nil,
  ].compactMap { $0 }
  guard !parts.isEmpty else { return nil }
  let isOne = store.unreadableProducts + store.unreadableVariants == 1
  return "\(parts.joined(separator: " and ")) could not be read and \(isOne ? "was" : "were") left out."
}
