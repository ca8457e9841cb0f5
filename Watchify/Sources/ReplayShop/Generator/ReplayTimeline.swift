/// What happens to a shop, step by step.
public struct ReplayTimeline: Sendable {
  /// One piece of news, or a few that come together.
  public struct Step: Sendable {
    /// What happens, in a few words for people.
    public let name: String
    /// Makes it happen.
    public let change: @Sendable (inout ShopFeed) throws -> Void

    /// A step that changes a feed as you say.
    public init(_ name: String, _ change: @escaping @Sendable (inout ShopFeed) throws -> Void) {
      self.name = name
      self.change = change
    }
  }

  /// What happens, in order.
  public var steps: [Step]

  /// A timeline of these steps.
  public init(_ steps: [Step]) { self.steps = steps }

  /// The shop that the demo's timeline is made for: small enough to look at, with every kind of product.
  public static let demoShop = ShopGenerator(seed: 2_026, products: 48, variants: 1...8)

  /// Six pieces of clear news in the demo's shop, each of a kind of its own.
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

  /// The first product that has one size sold out and others not gets it back.
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
