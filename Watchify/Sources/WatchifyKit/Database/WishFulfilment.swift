import CofferSQLite
import Foundation

/// The way in which a product fulfils a wish.
struct WishFulfilment {
  /// The variant to name; `nil` if all of the product's variants fulfil the wish alike.
  var variant: ProductFacts.Variant?
  /// The lowest price of the variants that fulfil the wish.
  var price: Price
  /// The price to which a percentage refers.
  private var base: Price?
  /// The variant whose history is described.
  private var cheapest: Int64
  private let now: Date

  /// Returns how a product fulfils a wish about it; `nil` if it does not. A price of zero, which may be a mistake of
  /// the shop, changes nothing: it fulfils only a wish about a price that was fulfilled (`was`) before.
  init?(
    of wish: WishRecord, _ product: ProductFacts, was: Bool, goneAfter: Int, at now: Date, in transaction: some Querying
  ) throws {
    let known = try product.variants(in: transaction).filter { $0.missingReads < goneAfter }
    let buyable = known.filter { $0.isAvailable && (wish.variant == nil || $0.id == wish.variant) }
    var bases: [Int64: Price] = [:]
    let matches: [ProductFacts.Variant]
    switch wish.condition {
    case .priceAtMost(let amount):
      guard let limit = Price("\(amount)") else { return nil }
      matches = buyable.filter { $0.price <= limit && (was || $0.price > .zero) }
    case .percentOff(let percent):
      matches = try buyable.filter { variant in
        guard was || variant.price > .zero else { return false }
        guard let base = try product.base(of: variant, since: wish.baseAt, in: transaction) else { return false }
        bases[variant.id] = base
        return base > .zero && variant.price <= base.reduced(byPercent: percent)
      }
    case .backInStock: matches = buyable
    case .newMatch: matches = buyable.isEmpty ? known : buyable
    }
    self.now = now
    guard let first = matches.min(by: { $0.price < $1.price }) else { return nil }
    (price, base, cheapest) = (first.price, bases[first.id], first.id)
    let isAll = matches.count == known.count && matches.allSatisfy { $0.price == first.price }
    let names = wish.variant != nil || (!isAll && known.count > 1)
    let isNew = if case .newMatch = wish.condition { true } else { false }
    variant = names && !isNew ? first : nil
  }

  /// Returns the news without the product's name, such as "$67.90, below your $70.00 · lowest since 12 Aug (90 days)".
  func text(
    of wish: WishRecord, _ product: ProductFacts, currency: String?, in transaction: some Querying
  ) throws -> String {
    let amount = Money.text(price.decimal, currency)
    var text: String
    switch wish.condition {
    case .priceAtMost(let limit):
      let wished = Money.text(limit, currency)
      text = limit == price.decimal ? "\(amount), as you wished" : "\(amount), below your \(wished)"
    case .percentOff(let percent):
      let was = base.map { " \(Money.text($0.decimal, currency))" } ?? ""
      text = "\(amount), \(share ?? percent) % off\(was) (you wished \(percent) %)"
    case .backInStock: text = "back in stock at \(amount)"
    case .newMatch: text = "new at \(amount)"
    }
    if let search = wish.search { text += ", matches “\(search)”" }
    let history = try product.prices(of: cheapest, in: transaction)
    if let lowest = history.lowestText(at: now) { text += " · \(lowest)" }
    return text
  }

  /// The percentage by which the price is below its base, rounded down.
  private var share: Int? {
    guard let base, base > price else { return nil }
    let cut = (base - price).tenThousandths.magnitude.multipliedFullWidth(by: 100)
    return Int(base.tenThousandths.magnitude.dividingFullWidth(cut).quotient)
  }
}
