public import CofferRouter

extension StorageKeys {
  /// Returns the key that controls whether a kind of change is notified.
  public static func notify(_ type: ChangeType) -> SettingKey<Bool> {
    switch type {
    case .priceDropped: notifyPriceDropped
    case .priceIncreased: notifyPriceIncreased
    case .backInStock: notifyBackInStock
    case .outOfStock: notifyOutOfStock
    case .newProduct: notifyNewProduct
    case .productRemoved: notifyProductRemoved
    case .imagesChanged: notifyImagesChanged
    case .productReturned: notifyProductReturned
    case .newVariant: notifyNewVariant
    case .compareAtChanged: notifyCompareAtChanged
    case .currencyChanged: notifyCurrencyChanged
    case .storeClosed: notifyStoreClosed
    case .storeReopened: notifyStoreReopened
    case .wishFulfilled: notifyWishFulfilled
    }
  }

  private static func toggle(_ name: String, _ isOn: Bool, _ what: String) -> SettingKey<Bool> {
    SettingKey(
      name, in: .engine(WatchifySettings.home), owner: "Notifications", about: "Whether \(what) is notified.",
      default: isOn)
  }

  /// Whether a price drop is notified.
  public static let notifyPriceDropped = toggle("notifyPriceDropped", true, "a price drop")
  /// Whether a price increase is notified.
  public static let notifyPriceIncreased = toggle("notifyPriceIncreased", true, "a price increase")
  /// Whether a variant back in stock is notified.
  public static let notifyBackInStock = toggle("notifyBackInStock", true, "a variant back in stock")
  /// Whether a variant out of stock is notified.
  public static let notifyOutOfStock = toggle("notifyOutOfStock", true, "a variant out of stock")
  /// Whether a new product is notified.
  public static let notifyNewProduct = toggle("notifyNewProduct", true, "a new product")
  /// Whether a removed product is notified.
  public static let notifyProductRemoved = toggle("notifyProductRemoved", true, "a removed product")
  /// Whether a change of pictures is notified.
  public static let notifyImagesChanged = toggle("notifyImagesChanged", false, "a change of pictures")
  /// Whether a product that is listed again is notified.
  public static let notifyProductReturned = toggle("notifyProductReturned", true, "a product that is listed again")
  /// Whether a new variant of a product is notified.
  public static let notifyNewVariant = toggle("notifyNewVariant", true, "a new variant of a product")
  /// Whether a changed crossed-out price is notified.
  public static let notifyCompareAtChanged = toggle("notifyCompareAtChanged", false, "a changed crossed-out price")
  /// Whether a change of currency or market is notified.
  public static let notifyCurrencyChanged = toggle("notifyCurrencyChanged", true, "a change of currency or market")
  /// Whether a store that closes behind a password is notified.
  public static let notifyStoreClosed = toggle("notifyStoreClosed", true, "a store that closes behind a password")
  /// Whether a store that opens again is notified.
  public static let notifyStoreReopened = toggle("notifyStoreReopened", true, "a store that opens again")
  /// Whether a wish that comes true is notified.
  public static let notifyWishFulfilled = toggle("notifyWishFulfilled", true, "a wish that comes true")
}
