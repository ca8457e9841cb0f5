/// The vocabulary of an invented shop for hiking and yoga. All texts are original.
enum ShopWords {
  struct Kind {
    let noun: String
    let type: String
    /// The usual price, in whole units of the currency.
    let price: Int
    let grams: Int
    let purpose: String
  }

  static let shop = "Tarn & Lotus"

  static let lines = [
    "Tarn", "Lotus", "Harrow", "Brae", "Fellside", "Sunward", "Mossgill", "Larkrise", "Northing", "Quiet Hour",
    "Stillwater", "Ridgeback", "Dawn", "Cairn", "Heron", "Juniper", "Saltmarsh", "Kestrel", "Ember", "Lowland",
    "Rook", "Willowbank", "Slate", "Thistle", "Windrow", "Hollow", "Marram", "Skylark", "Gorse", "Fernway",
    "Pebble", "Otter", "Linden", "Rowan", "Sedge", "Plover", "Beacon", "Corrie", "Drift", "Alder",
  ]

  static let makes = ["", "Light", "Merino", "Recycled", "Organic", "Travel", "Studio", "Trail", "Winter", "Everyday"]

  static let kinds = [
    Kind(noun: "Cork Mat", type: "Mats", price: 89, grams: 2_100, purpose: "standing poses on any floor"),
    Kind(noun: "Folding Mat", type: "Mats", price: 54, grams: 1_200, purpose: "practice away from home"),
    Kind(noun: "Bolster", type: "Props", price: 62, grams: 1_800, purpose: "long, slow holds"),
    Kind(noun: "Block", type: "Props", price: 18, grams: 420, purpose: "hands that do not reach the floor yet"),
    Kind(noun: "Strap", type: "Props", price: 14, grams: 160, purpose: "stretches past your fingertips"),
    Kind(noun: "Blanket", type: "Props", price: 72, grams: 1_100, purpose: "rest at the end, and camp fires"),
    Kind(noun: "Leggings", type: "Clothing", price: 84, grams: 240, purpose: "moving in all directions"),
    Kind(noun: "Tank Top", type: "Clothing", price: 42, grams: 120, purpose: "warm rooms & warmer days"),
    Kind(noun: "Hoodie", type: "Clothing", price: 96, grams: 520, purpose: "the walk home"),
    Kind(noun: "Rain Jacket", type: "Clothing", price: 189, grams: 340, purpose: "weather that changes its mind"),
    Kind(noun: "Fleece", type: "Clothing", price: 118, grams: 410, purpose: "ridges before breakfast"),
    Kind(noun: "Hiking Socks", type: "Clothing", price: 22, grams: 80, purpose: "the third day of a long walk"),
    Kind(noun: "Trail Shoes", type: "Footwear", price: 149, grams: 620, purpose: "wet rock and dry paths"),
    Kind(noun: "Day Pack 22 L", type: "Bags", price: 129, grams: 780, purpose: "lunch, layers and a mat"),
    Kind(noun: "Mat Bag", type: "Bags", price: 48, grams: 380, purpose: "carrying a mat and your keys"),
    Kind(noun: "Steel Bottle 0.7 L", type: "Camp", price: 34, grams: 310, purpose: "tea that is still hot at the top"),
    Kind(noun: "Enamel Mug", type: "Camp", price: 16, grams: 150, purpose: "the first coffee outside"),
    Kind(noun: "Head Torch", type: "Camp", price: 59, grams: 95, purpose: "paths that take longer than planned"),
    Kind(noun: "Hammock", type: "Camp", price: 79, grams: 560, purpose: "afternoons between two trees"),
    Kind(noun: "Meditation Cushion", type: "Props", price: 58, grams: 1_500, purpose: "sitting still"),
  ]

  static let colors = [
    "Moss", "Slate", "Clay", "Fog", "Night", "Heather", "Ochre", "Rust", "Pine", "Chalk", "Plum", "Sea", "Sand",
    "Ink", "Berry", "Stone", "Sky", "Bark",
  ]

  /// Returns six sizes of a kind of product, the common ones in the middle.
  static func sizes(of kind: Kind) -> [String] {
    switch kind.type {
    case "Clothing": ["XS", "S", "M", "L", "XL", "XXL"]
    case "Footwear": ["37", "38", "39", "40", "41", "42"]
    case "Bags", "Camp": ["Mini", "Small", "Regular", "Large", "Family", "Group"]
    default: ["Child", "Short", "Regular", "Long", "Extra Long", "Double"]
    }
  }

  static let tags = ["bestseller", "vegan", "made-to-last", "gift", "summer", "repairable", "new-season", "outlet"]

  /// Returns the CSS colour of an image of a product in a colour.
  static func paint(_ color: String) -> String {
    let paints = [
      "6b7f4e", "5c6670", "b0715a", "c4c9cc", "232a3b", "8b7aa0", "c08b2d", "9c4a2f", "33573f", "eeeae0", "6c3a5c",
      "3f7d8c", "d2b98b", "2d3560", "8e2f4f", "8a857b", "86b3d1", "5d4632",
    ]
    return colors.firstIndex(of: color).map { paints[$0] } ?? paints[0]
  }
}
