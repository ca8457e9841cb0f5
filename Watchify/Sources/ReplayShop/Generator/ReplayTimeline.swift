/// A sequence of changes of a shop.
public struct ReplayTimeline: Sendable {
  /// A change of the feed, or several at once.
  public struct Step: Sendable {
    /// A short description for display.
    public let name: String
    /// Applies the step to a feed.
    public let change: @Sendable (inout ShopFeed) throws -> Void

    /// Creates a step that changes a feed with a closure.
    public init(_ name: String, _ change: @escaping @Sendable (inout ShopFeed) throws -> Void) {
      self.name = name
      self.change = change
    }
  }

  /// The steps, in order.
  public var steps: [Step]

  /// Creates a timeline.
  public init(_ steps: [Step]) { self.steps = steps }

  /// The shop of the demo's timeline: small, with every kind of product.
  public static let demoShop = ShopGenerator(seed: 2_026, products: 48, variants: 1...8)

  /// The timeline of the demo: six changes of the demo's shop, each of another kind.
  public static let demo: ReplayTimeline = {
    let shop = demoShop
    let (dropped, raised, removed) = (shop.id(of: 0), shop.id(of: 7), shop.id(of: 13))
    return ReplayTimeline([
      Step("\(shop.product(0).title): price down by 30 %") { feed in
        let former = try feed.product(dropped).variants.first?.price
        try feed.changePrice(of: dropped, byPercent: -30)
        try feed.setCompareAt(of: dropped, to: former)
      },
      restock(in: shop),
      Step("\(shop.product(shop.products).title): new in the shop") { feed in
        var product = shop.product(shop.products)
        for index in product.variants.indices { product.variants[index].isAvailable = true }
        feed.insert(product)
      },
      Step("\(shop.product(7).title): price up by 4 %") { feed in
        try feed.changePrice(of: raised, byPercent: 4)
      },
      Step("\(shop.product(13).title): gone from the shop") { feed in
        try feed.remove(removed)
      },
      Step("\(shop.product(13).title): back in the shop") { feed in
        feed.insert(shop.product(13))
      },
    ])
  }()

  /// Returns a step that restocks a sold-out variant of the first product with both available and sold-out ones.
  private static func restock(in shop: ShopGenerator) -> Step {
    let others = [0, 7, 13]
    for index in 0..<shop.products where !others.contains(index) {
      let product = shop.product(index)
      guard product.variants.count > 1, product.variants.contains(where: \.isAvailable),
        let variant = product.variants.first(where: { !$0.isAvailable })
      else { continue }
      return Step("\(product.title), \(variant.title): available again") { feed in
        try feed.restock(product.id, variant: variant.id)
      }
    }
    return Step("nothing is sold out") { _ in }
  }
}
