/// How the page shows the pictures of products. Raw values are stored; never change a released one.
public enum ProductPictures: String, Codable, CaseIterable, Sendable {
  /// No pictures.
  case off
  /// Pictures at `/pictures/STORE/PRODUCT/NUMBER` of the page's server, so that shops do not see who looks.
  case cached
  /// Pictures at the addresses that shops state: their servers see who looks.
  case direct
}
